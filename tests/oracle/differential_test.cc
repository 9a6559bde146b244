// The emulator against the scalar interpreter on random kernels: no difference, whatever the number of host
// threads or the order of warps. KW_FUZZ_SECONDS=600 runs longer than the default few seconds; KW_FUZZ_SEED starts elsewhere.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "emu/emulator.h"
#include "oracle/random_ptx.h"
#include "oracle/scalar_interpreter.h"
#include "oracle/scalar_values.h"
#include "ptx/parser.h"
#include "ptx/verifier.h"

namespace kw::oracle {
namespace {

double seconds_wanted() {
  const char* text = std::getenv("KW_FUZZ_SECONDS");
  return text == nullptr ? 4.0 : std::atof(text);
}

bool both_nan(const Slot& slot, uint64_t a, uint64_t b) {
  switch (slot.kind) {
    case 'h': return is_nan(real_of_half(static_cast<uint16_t>(a))) && is_nan(real_of_half(static_cast<uint16_t>(b)));
    case 'f': return std::isnan(bit_copy<float>(static_cast<uint32_t>(a))) && std::isnan(bit_copy<float>(static_cast<uint32_t>(b)));
    case 'd': return std::isnan(bit_copy<double>(a)) && std::isnan(bit_copy<double>(b));
    default: return false;
  }
}

std::string first_difference(const RandomKernel& kernel, const std::vector<uint8_t>& expected, const std::vector<uint8_t>& got) {
  for (uint32_t t = 0; t < kernel.threads; ++t) {
    for (const Slot& slot : kernel.slots) {
      const size_t at = size_t{t} * kernel.stride + slot.offset;
      uint64_t a = 0, b = 0;
      std::memcpy(&a, expected.data() + at, slot.bytes);
      std::memcpy(&b, got.data() + at, slot.bytes);
      if (a != b && !both_nan(slot, a, b)) return fmt::format("thread {} {}: oracle {:#x}, emulator {:#x}", t, slot.name, a, b);
    }
  }
  return "";
}

Result<std::vector<uint8_t>> emulate(const std::shared_ptr<const ptx::Module>& module, const RandomKernel& kernel, uint64_t schedule) {
  KW_TRY(auto memory, emu::Memory::create(uint64_t{1} << 30, false));
  KW_TRY(auto address, memory->allocate(kernel.buffer.size(), "buffer"));
  KW_TRY_VOID(memory->write(address, kernel.buffer.data(), kernel.buffer.size()));
  KW_TRY(auto program, emu::Program::load(module, *memory));
  emu::Launch launch;
  launch.program = program.get();
  launch.kernel = "k";
  launch.block = {kernel.threads, 1, 1};
  launch.params.resize(8);
  std::memcpy(launch.params.data(), &address, 8);
  emu::Options options;
  options.threads = 1;
  options.schedule_seed = schedule;
  KW_TRY(auto report, emu::run(launch, options));
  if (!report.completed) return fail(ErrorCode::kInvalid, "emulator: {}", report.findings.empty() ? "stopped" : report.findings[0].message);
  std::vector<uint8_t> out(kernel.buffer.size());
  KW_TRY_VOID(memory->read(address, out.data(), out.size()));
  return out;
}

// What differs for this text, or empty: also when it is not a valid kernel, or one of the two refuses it.
std::string difference_of(const RandomKernel& kernel, uint64_t schedule) {
  auto parsed = ptx::parse(kernel.ptx, "random.ptx");
  if (!parsed || !ptx::verify(*parsed).empty()) return "";
  auto module = std::make_shared<const ptx::Module>(std::move(*parsed));
  std::vector<uint8_t> expected = kernel.buffer;
  if (!run_scalar(*module, kernel.threads, expected)) return "";
  auto got = emulate(module, kernel, schedule);
  return got ? first_difference(kernel, expected, *got) : "";
}

// Lines that must stay for the kernel to mean anything: initial values, exchanges, their barriers.
bool is_scaffold(const std::string& line) {
  for (const char* word : {"ld.global", "ld.param", "%me", "bar.sync", "%x", "setp.lt.s32 %p"}) {
    if (line.find(word) != std::string::npos) return true;
  }
  return false;
}

// The kernel with every other line removed that the difference does not need.
RandomKernel minimised(RandomKernel kernel, uint64_t schedule) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t begin = 0; begin < kernel.ptx.size();) {
      const size_t end = kernel.ptx.find('\n', begin) + 1;
      RandomKernel trial = kernel;
      trial.ptx.erase(begin, end - begin);
      if (is_scaffold(kernel.ptx.substr(begin, end - begin)) || difference_of(trial, schedule).empty()) {
        begin = end;
      } else {
        kernel = std::move(trial);
        smaller = true;
      }
    }
  }
  return kernel;
}

TEST(Differential, RandomKernelsGiveTheSameRegisters) {
  const char* start = std::getenv("KW_FUZZ_SEED");
  const uint64_t first = start == nullptr ? 1 : std::strtoull(start, nullptr, 10);
  const auto begin = std::chrono::steady_clock::now();
  uint64_t seed = first;
  for (; std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds_wanted(); ++seed) {
    const RandomKernel kernel = random_kernel(seed);
    auto parsed = ptx::parse(kernel.ptx, "random.ptx");
    ASSERT_TRUE(parsed.has_value()) << "seed " << seed << "\n" << format_error(parsed.error()) << kernel.ptx;
    const auto invalid = ptx::verify(*parsed);
    ASSERT_TRUE(invalid.empty()) << "seed " << seed << "\n" << format_error(invalid.front());
    auto module = std::make_shared<const ptx::Module>(std::move(*parsed));
    std::vector<uint8_t> expected = kernel.buffer;
    auto status = run_scalar(*module, kernel.threads, expected);
    ASSERT_TRUE(status.has_value()) << "seed " << seed << "\n" << format_error(status.error()) << kernel.ptx;
    for (uint64_t schedule : {uint64_t{0}, seed + 1}) {
      auto got = emulate(module, kernel, schedule);
      ASSERT_TRUE(got.has_value()) << "seed " << seed << "\n" << format_error(got.error()) << kernel.ptx;
      if (first_difference(kernel, expected, *got).empty()) continue;
      const RandomKernel small = minimised(kernel, schedule);
      FAIL() << "seed " << seed << ", schedule " << schedule << ": " << difference_of(small, schedule) << "\n" << small.ptx;
    }
  }
  EXPECT_GT(seed - first, 20u);
  RecordProperty("kernels", static_cast<int>(seed - first));
}

}  // namespace
}  // namespace kw::oracle
