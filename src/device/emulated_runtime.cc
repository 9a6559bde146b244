// The emulating backend of the CUDA runtime: whole programs, host code and all, with kernels on the emulator.
// Every call acts at once, so streams and events have nothing to order. What a kernel does wrong is printed to
// stderr when it happens, counted in the status file, and seen by the program as the CUDA error it would be.
//
// Environment (set by toolchain::run_emulated): KW_EMU_CHECK "race,uninit", KW_EMU_COUNT 1, KW_EMU_THREADS,
// KW_EMU_SEED, KW_EMU_TARGET, KW_EMU_STATUS (file that gets the number of findings), KW_EMU_JSON (report).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "arch/target.h"
#include "base/demangle.h"
#include "base/file.h"
#include "device/counter_text.h"
#include "emu/emulator.h"
#include "emu/finding_text.h"
#include "plan/runtime/state.h"
#include "ptx/parser.h"

namespace kw::runtime {
namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Totals {
  uint64_t findings = 0, launches = 0, warp_instructions = 0;
  emu::Counters counters;
  nlohmann::ordered_json listed = nlohmann::ordered_json::array();
};

Totals& totals() {
  static auto* all = new Totals;
  return *all;
}

void write_status() {
  const std::string path = setting("KW_EMU_STATUS");
  if (path.empty()) return;
  if (std::FILE* file = std::fopen(path.c_str(), "wb")) {
    std::fprintf(file, "%llu\n", static_cast<unsigned long long>(totals().findings));
    std::fclose(file);
  }
}

// Says that the emulated runtime is what the program loaded, even when it never calls it.
__attribute__((constructor)) void at_load() { write_status(); }

__attribute__((destructor)) void at_exit() {
  const Totals& all = totals();
  if (setting("KW_EMU_COUNT") == "1" && all.launches != 0)
    std::fprintf(stderr, "kw emu: %llu launch%s, %llu warp instructions\n%s", static_cast<unsigned long long>(all.launches),
                 all.launches == 1 ? "" : "es", static_cast<unsigned long long>(all.warp_instructions), device::text_of(all.counters).c_str());
  if (all.findings != 0)
    std::fprintf(stderr, "kw emu: %llu finding%s\n", static_cast<unsigned long long>(all.findings), all.findings == 1 ? "" : "s");
  const std::string path = setting("KW_EMU_JSON");
  if (path.empty()) return;
  nlohmann::ordered_json report;
  report["launches"] = all.launches;
  report["warp_instructions"] = all.warp_instructions;
  report["findings"] = all.listed;
  if (std::FILE* file = std::fopen(path.c_str(), "wb")) {
    const std::string text = report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
}

// Of one launch, to stderr.
void print(const std::vector<emu::Finding>& findings) {
  constexpr size_t kShown = 10;
  emu::Reader reader;
  reader.indent = "  ";
  reader.source = [](const std::string& file) {
    auto text = read_file(file, 4 << 20);
    return text ? std::move(*text) : std::string();
  };
  const std::vector<emu::FindingGroup> groups = emu::group(findings, reader);
  for (size_t i = 0; i < std::min(groups.size(), kShown); ++i) std::fprintf(stderr, "kw emu:\n%s", emu::text_of(groups[i], reader).c_str());
  if (groups.size() > kShown) std::fprintf(stderr, "kw emu: findings at %zu further places of this launch\n", groups.size() - kShown);
}

cudaError_t error_of(const emu::Finding& finding) {
  using Kind = emu::Finding::Kind;
  switch (finding.kind) {
    case Kind::kOutOfBounds:
    case Kind::kStackOverflow:
    case Kind::kWriteToReadOnly: return cudaErrorIllegalAddress;
    case Kind::kMisaligned: return cudaErrorMisalignedAddress;
    case Kind::kTrap: return finding.message.find("assert") != std::string::npos ? cudaErrorAssert : cudaErrorLaunchFailure;
    case Kind::kDeadlock:
    case Kind::kLimit: return cudaErrorLaunchTimeout;
    case Kind::kInvalidOperand:
    case Kind::kUnsupported: return cudaErrorIllegalInstruction;
    default: return cudaErrorLaunchFailure;
  }
}

class EmulatedRuntime final : public Backend {
 public:
  EmulatedRuntime() {
    const std::string check = setting("KW_EMU_CHECK");
    options_.check_races = check.find("race") != std::string::npos;
    options_.check_uninitialised = check.find("uninit") != std::string::npos;
    options_.count = setting("KW_EMU_COUNT") == "1";
    options_.threads = std::atoi(setting("KW_EMU_THREADS").c_str());
    options_.schedule_seed = std::strtoull(setting("KW_EMU_SEED").c_str(), nullptr, 10);
    target_ = setting("KW_EMU_TARGET");
    if (target_.empty()) target_ = State::get().first_target();
    if (target_.empty()) target_ = "sm_80";
    auto memory = emu::Memory::create(uint64_t{64} << 30, options_.check_uninitialised);
    if (!memory) memory = emu::Memory::create(uint64_t{8} << 30, options_.check_uninitialised);
    if (!memory) {
      std::fprintf(stderr, "kw emu: %s\n", format_error(memory.error()).c_str());
      std::exit(2);
    }
    memory_ = std::move(*memory);
  }

  const std::string& target() const override { return target_; }

  cudaError_t allocate(uint64_t bytes, MemoryKind kind, void** address) override {
    if (fault_ != cudaSuccess) return fault_;
    if (bytes > kDeviceBytes || memory_->bytes_in_use() > kDeviceBytes - bytes) return cudaErrorMemoryAllocation;
    const char* call = Call::current();
    auto begin = memory_->allocate(bytes, fmt::format("{} {} ({} bytes)", call, allocations_++, bytes));
    if (!begin) return cudaErrorMemoryAllocation;
    kinds_[*begin] = kind;
    // The program writes such memory directly, which nobody sees.
    if (kind != MemoryKind::kDevice) memory_->mark_initialised(*begin, bytes);
    *address = reinterpret_cast<void*>(*begin);
    return cudaSuccess;
  }

  cudaError_t release(void* address) override {
    const auto begin = reinterpret_cast<uint64_t>(address);
    if (kinds_.erase(begin) == 0 || !memory_->free(begin)) return cudaErrorInvalidValue;
    return fault_;
  }

  Located locate(const void* address) override {
    Located located;
    const auto value = reinterpret_cast<uint64_t>(address);
    if (value < memory_->base() || value >= memory_->base() + memory_->capacity()) return located;
    located.device = true;   // also where nothing is allocated: never host memory
    if (const emu::Allocation* allocation = memory_->find(value)) {
      located.begin = reinterpret_cast<void*>(allocation->begin);
      located.bytes = allocation->end - allocation->begin;
      if (const auto kind = kinds_.find(allocation->begin); kind != kinds_.end()) located.kind = kind->second;
    }
    return located;
  }

  uint64_t bytes_in_use() const override { return memory_->bytes_in_use(); }

  cudaError_t launch(const LaunchRequest& request) override {
    if (fault_ != cudaSuccess) return fault_;
    auto program = program_of(*request.kernel->module);
    if (!program) return problem(program.error(), cudaErrorInvalidPtx);
    emu::Launch launch;
    launch.program = *program;
    launch.kernel = request.kernel->name;
    launch.grid = request.grid;
    launch.block = request.block;
    launch.cluster = request.cluster;
    launch.dynamic_shared_bytes = request.dynamic_shared_bytes;
    launch.cooperative = request.cooperative;
    launch.params = request.params;
    auto report = emu::run(launch, options_);
    if (!report) return problem(report.error(), cudaErrorNotSupported);
    std::fflush(stdout);
    std::fwrite(report->output.data(), 1, report->output.size(), stdout);
    std::fflush(stdout);
    Totals& all = totals();
    ++all.launches;
    all.warp_instructions += report->warp_instructions;
    all.counters.add(report->counters);
    time_ms_ += modelled_ms(report->warp_instructions);
    print(report->findings);
    for (const emu::Finding& finding : report->findings) {
      ++all.findings;
      nlohmann::ordered_json json;
      json["kind"] = name_of(finding.kind);
      json["kernel"] = finding.party.kernel;
      json["kernel_name"] = readable_name(finding.party.kernel);
      json["message"] = finding.message;
      json["ptx_line"] = finding.party.ptx_line;
      json["source_file"] = finding.party.source_file;
      json["source_line"] = finding.party.source_line;
      json["count"] = finding.count;
      if (all.listed.size() < 1000) all.listed.push_back(std::move(json));
      if (finding.fatal) fault_ = error_of(finding);
    }
    if (!report->findings.empty()) write_status();
    if (!report->completed && fault_ == cudaSuccess) fault_ = cudaErrorLaunchFailure;
    return cudaSuccess;   // like any launch: what went wrong shows at the next wait
  }

  cudaError_t copy(const CopyRequest& request) override {
    if (fault_ != cudaSuccess) return fault_;
    using Direction = CopyRequest::Direction;
    for (uint64_t row = 0; row < request.rows; ++row) {
      uint8_t* to = request.to + row * request.to_pitch;
      const uint8_t* from = request.from + row * request.from_pitch;
      Status status;
      switch (request.direction) {
        case Direction::kHostToHost: std::memmove(to, from, request.row_bytes); break;
        case Direction::kHostToDevice: status = memory_->write(reinterpret_cast<uint64_t>(to), from, request.row_bytes); break;
        case Direction::kDeviceToHost: status = memory_->read(reinterpret_cast<uint64_t>(from), to, request.row_bytes); break;
        case Direction::kDeviceToDevice:
          status = memory_->copy(reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from), request.row_bytes);
          break;
      }
      if (!status) return problem(status.error(), cudaErrorInvalidValue, false);
    }
    return cudaSuccess;
  }

  cudaError_t fill(const FillRequest& request) override {
    if (fault_ != cudaSuccess) return fault_;
    for (uint64_t row = 0; row < request.rows; ++row) {
      const Status status = memory_->fill(reinterpret_cast<uint64_t>(request.to) + row * request.pitch, &request.value, 1, request.row_bytes);
      if (!status) return problem(status.error(), cudaErrorInvalidValue, false);
    }
    return cudaSuccess;
  }

  cudaError_t address_of(Variable& variable, void** address) override {
    auto program = program_of(*variable.module);
    if (!program) return problem(program.error(), cudaErrorInvalidPtx);
    auto symbol = (*program)->symbol(variable.name);
    if (!symbol) return problem(symbol.error(), cudaErrorInvalidSymbol, false);
    *address = reinterpret_cast<void*>(symbol->address);
    return cudaSuccess;
  }

  void modules_registered(std::vector<Variable*> managed) override {
    for (Variable* variable : managed) {
      void* address = nullptr;
      if (address_of(*variable, &address) != cudaSuccess) continue;
      *variable->managed_pointer = address;
      memory_->mark_initialised(reinterpret_cast<uint64_t>(address), variable->bytes);
    }
  }

  void event_recorded(Event& event, Stream&) override { event.time_ms = time_ms_; }
  void stream_waits(Stream&, Event&) override {}
  void host_waits(Stream&) override {}
  void host_waits(Event&) override {}
  void host_waits_for_all() override {}
  cudaError_t fault() const override { return fault_; }
  bool runs_host_functions() const override { return true; }

  cudaError_t refuse_launch(cudaError_t error, const std::string& message) override {
    std::fprintf(stderr, "kw emu: %s: %s\n", Call::current(), message.c_str());
    return error;
  }

  cudaError_t unsupported(const char* call, const std::string& why) override {
    if (named_.insert(call).second) std::fprintf(stderr, "kw emu: %s is not supported: %s\n", call, why.c_str());
    return cudaErrorNotSupported;
  }

 private:
  static constexpr uint64_t kDeviceBytes = uint64_t{16} << 30;

  Result<const emu::Program*> program_of(const ModuleImage& image) {
    if (!image.problem.empty()) return fail(ErrorCode::kUnsupported, "{}", image.problem);
    auto& program = programs_[&image];
    if (program == nullptr) {
      KW_TRY(ptx::Module parsed, ptx::parse(image.ptx, fmt::format("module {} of the program", image.index)));
      KW_TRY(program, emu::Program::load(std::make_shared<const ptx::Module>(std::move(parsed)), *memory_));
    }
    return program.get();
  }

  // Something that the emulator cannot do, or that the program asked for wrongly, in words.
  cudaError_t problem(const Error& error, cudaError_t code, bool counts = true) {
    std::fprintf(stderr, "kw emu: %s: %s\n", Call::current(), format_error(error).c_str());
    if (counts) {
      ++totals().findings;
      write_status();
    }
    return code;
  }

  // A time for cudaEventElapsedTime that repeats exactly: every scheduler of the target's reference part issues one
  // warp instruction a clock. It orders programs' output; it measures nothing.
  double modelled_ms(uint64_t warp_instructions) const {
    const auto target = arch::find_target(target_);
    const double slots = target ? std::max((*target)->part.sm_count, 1) * 4.0 : 4.0;
    const double mhz = target && (*target)->part.boost_mhz > 0 ? (*target)->part.boost_mhz : 1000.0;
    return 0.002 + static_cast<double>(warp_instructions) / slots / mhz * 1e-3;
  }

  std::string target_;
  emu::Options options_;
  std::unique_ptr<emu::Memory> memory_;
  std::map<const ModuleImage*, std::unique_ptr<emu::Program>> programs_;
  std::map<uint64_t, MemoryKind> kinds_;
  std::set<std::string> named_;
  uint64_t allocations_ = 0;
  double time_ms_ = 0;
  cudaError_t fault_ = cudaSuccess;
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<EmulatedRuntime>(); }

}  // namespace kw::runtime
