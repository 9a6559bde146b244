// Writes the golden corpus of one-operand instructions (unary.golden) on standard output: runs every form of
// unary_form.h over its sweep on the GPU of this machine through the driver. Runs the emulator too, and says on standard error
// where it differs; the corpus is what the GPU gave.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "approximation.h"
#include "gpu.h"
#include "run_emulated.h"
#include "unary_golden.h"

namespace {

using namespace kw::golden;

constexpr const char* kHead =
    "# Results of instructions over sweeps of operands on an NVIDIA H200 (sm_90), as kw_make_unary_golden wrote them: every form of cvt\n"
    "# that ptxas takes for sm_90, and the other one-operand instructions. unary_form.h has the forms, sweep.h the sweeps,\n"
    "# unary_golden.h the format. The test unary_golden runs the same on the emulator:\n"
    "#   exact forms      the hash of all results must be the same\n"
    "#   approximations   the emulator's worst error must be within the ISA's bound, as hardware's is (\"worst\"), and results\n"
    "#                    for NaN, infinities, zeros and operands outside the domain (\"exceptions\") must be the same bits\n"
    "# \"unstated\": the ISA names no bound (rcp and rsqrt of f64), and the limit is what hardware does. Beyond its ranges the ISA says\n"
    "# nothing about sin and cos, so nothing outside them is in a sweep.\n";

uint64_t element(const std::vector<uint8_t>& bytes, size_t size, size_t index) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + index * size, std::min<size_t>(size, 8));
  return value;
}

void say_differences(const UnaryForm& form, const std::vector<uint8_t>& input, const std::vector<uint8_t>& gpu,
                     const std::vector<uint8_t>& emulator) {
  const size_t from = form.from_bits / 8 * (form.pair ? 2 : 1), to = form.to_bits / 8, count = executions(form, input);
  size_t differ = 0;
  std::string first;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t a = element(gpu, to, i), b = element(emulator, to, i);
    if (a == b) continue;
    // The first few, and then ever fewer: differences come in bunches.
    ++differ;
    if ((differ <= 8 || (differ & (differ - 1)) == 0) && first.size() < 1000)
      first += fmt::format(" {:x}: {:x} not {:x};", element(input, from, i), a, b);
  }
  if (differ != 0) std::fprintf(stderr, "%s %s: %zu of %zu differ (operand: GPU, emulator):%s\n", form.name.c_str(), form.sweep.c_str(), differ, count, first.c_str());
}

}  // namespace

// With a folder as argument, the results of approximate forms are written there, one file a form.
int main(int argc, char** argv) {
  Gpu gpu;
  std::fputs(kHead, stdout);
  int refused = 0;
  for (const UnaryForm& form : all_unary_forms()) {
    const auto input = input_bytes(form);
    const size_t count = executions(form, input), output_bytes = count * (form.to_bits / 8);
    const auto blocks = static_cast<unsigned>(count / kBlock);
    const std::string text = kernel_text(form);
    const auto output = gpu.run(text, input, output_bytes, blocks, kBlock);
    if (output.empty()) {
      std::fprintf(stderr, "not made: %s\n", form.name.c_str());
      ++refused;
      continue;
    }
    std::printf("%s\n", text_of(line_of(form, input, output)).c_str());
    const auto emulated = run_emulated(text, input, output_bytes, blocks, kBlock);
    if (emulated) say_differences(form, input, output, *emulated);
    else std::fprintf(stderr, "%s: the emulator: %s\n", form.name.c_str(), kw::format_error(emulated.error()).c_str());
    if (argc > 1 && bound_of(form))
      std::ofstream(fmt::format("{}/{}.{}", argv[1], form.name, form.sweep), std::ios::binary)
          .write(reinterpret_cast<const char*>(output.data()), static_cast<std::streamsize>(output.size()));
  }
  return refused == 0 ? 0 : 1;
}
