// Device on the PTX emulator.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "device/device.h"
#include "device/placed_plan.h"
#include "device/variables.h"

namespace kw::device {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class EmulatedPlan final : public LoadedPlan {
 public:
  static Result<std::unique_ptr<LoadedPlan>> load(plan::Plan plan, const LoadOptions& options, uint64_t memory_bytes,
                                                    ModuleCache& modules) {
    auto loaded = std::unique_ptr<EmulatedPlan>(new EmulatedPlan);
    PlacedPlan& placed = loaded->placed_;
    KW_TRY_VOID(placed.place(std::move(plan), options, memory_bytes, 256, modules));
    for (size_t i = 0; i < placed.plan.buffers.size(); ++i) KW_TRY_VOID(loaded->poison(i));
    for (size_t i = 0; i < placed.programs.size(); ++i) KW_TRY_VOID(loaded->variables_.add(placed.plan.modules[i].ptx, *placed.programs[i]));
    return std::unique_ptr<LoadedPlan>(std::move(loaded));
  }

  const plan::Plan& plan() const override { return placed_.plan; }

  Status write(std::string_view buffer, std::span<const uint8_t> bytes) override {
    KW_TRY(const size_t index, find_buffer(placed_.plan, buffer, bytes.size()));
    return placed_.memory->write(placed_.addresses[index], bytes.data(), bytes.size());
  }

  Status read(std::string_view buffer, std::span<uint8_t> bytes) const override {
    KW_TRY(const size_t index, find_buffer(placed_.plan, buffer, bytes.size()));
    return placed_.memory->read(placed_.addresses[index], bytes.data(), bytes.size());
  }

  Result<std::optional<uint64_t>> first_unwritten(std::string_view buffer) const override {
    KW_TRY(const size_t index, find_buffer(placed_.plan, buffer));
    const uint64_t bytes = placed_.plan.buffers[index].bytes;
    if (placed_.memory->all_initialised(placed_.addresses[index], bytes)) return std::nullopt;
    uint64_t written = 0, more = bytes;   // the first `written` bytes are, the first `more` are not
    while (more - written > 1) {
      const uint64_t middle = written + (more - written) / 2;
      (placed_.memory->all_initialised(placed_.addresses[index], middle) ? written : more) = middle;
    }
    return written;
  }

  Status reset() override {
    KW_TRY_VOID(poison_all());
    for (const auto& program : placed_.programs) KW_TRY_VOID(program->reset_variables());
    return {};
  }

  Result<CallReport> call(const CallOptions& options) override { return call_by_running(*this, options); }

  Result<RunReport> run(const RunOptions& options) override {
    KW_TRY_VOID(options.keep_variables ? poison_all() : reset());
    if (options.keep_variables && options.forbid_stale_variables) KW_TRY_VOID(variables_.mark_stale(*placed_.memory));
    const Clock::time_point begin = Clock::now();
    RunReport report;
    report.completed = true;
    std::map<uint32_t, StepReport> launches;
    std::map<uint32_t, std::string> outputs;
    uint64_t findings = 0;
    StepOrder beside(placed_.plan);
    for (const uint32_t index : order_of(placed_.plan, options.schedule_seed)) {
      const double spent = seconds_since(begin);
      if (options.deadline_s > 0 && spent >= options.deadline_s) {
        report.completed = false;   // no step is to blame: all of them together take too long
        break;
      }
      const plan::Step& step = placed_.plan.steps[index];
      const auto* launch = std::get_if<plan::Launch>(&step.action);
      emu::Footprint* const footprint = options.check_races ? beside.footprint_of(index) : nullptr;
      const std::vector<emu::Concurrent> concurrent = options.check_races ? beside.beside(index) : std::vector<emu::Concurrent>();
      if (launch == nullptr) {
        if (auto status = placed_.move_bytes(step); !status) {
          status.error().message = fmt::format("step {}: {}", index, status.error().message);
          return tl::unexpected(std::move(status.error()));
        }
        if (footprint != nullptr) {
          KW_TRY(const auto touched, placed_.touched_by(step));
          if (auto race = beside.move(index, touched, *placed_.memory)) launches[index] = {index, true, {std::move(*race)}, {}, 0};
        }
        beside.has_run(index);
        continue;
      }
      emu::Options emulator;
      emulator.check_races = options.check_races;
      emulator.check_uninitialised = options.check_uninitialised && placed_.memory->tracks_initialised();
      emulator.count = options.count;
      emulator.count_sites = options.count_sites;
      emulator.threads = options.threads;
      emulator.schedule_seed = options.schedule_seed;
      emulator.async_completion = options.late_completion ? emu::Options::Completion::kLate : emu::Options::Completion::kEager;
      emulator.max_warp_instructions = options.max_warp_instructions;
      emulator.deadline_s = options.deadline_s > 0 ? options.deadline_s - spent : 0;
      emulator.footprint = footprint;
      emulator.concurrent = concurrent;
      emulator.max_findings = options.max_findings > findings ? options.max_findings - findings : 1;
      auto done = emu::run(placed_.launch_of(*launch), emulator);
      if (!done) {
        done.error().message = fmt::format("step {}, kernel {}: {}", index, launch->kernel, done.error().message);
        return tl::unexpected(std::move(done.error()));
      }
      StepReport& entry = launches[index];
      entry.step = index;
      entry.completed = done->completed;
      entry.findings = std::move(done->findings);
      entry.counters = done->counters;
      entry.sites = std::move(done->sites);
      entry.warp_instructions = done->warp_instructions;
      findings += entry.findings.size();
      report.total.add(done->counters);
      beside.has_run(index);
      outputs[index] = std::move(done->output);
      if (!entry.completed) {
        report.completed = false;   // later steps would compute from half a result
        break;
      }
    }
    for (auto& [index, entry] : launches) report.steps.push_back(std::move(entry));
    for (auto& [index, text] : outputs) report.output += text;
    report.wall_s = seconds_since(begin);
    return report;
  }

 private:
  EmulatedPlan() = default;

  Status poison_all() {
    for (size_t i = 0; i < placed_.plan.buffers.size(); ++i) {
      if (is_poisoned(placed_.plan.buffers[i])) KW_TRY_VOID(poison(i));
    }
    return {};
  }

  Status poison(size_t index) {
    const uint8_t pattern = 0xff;
    if (placed_.plan.buffers[index].bytes == 0) return {};
    KW_TRY_VOID(placed_.memory->fill(placed_.addresses[index], &pattern, 1, placed_.plan.buffers[index].bytes));
    placed_.memory->mark_uninitialised(placed_.addresses[index], placed_.plan.buffers[index].bytes);
    return {};
  }

  PlacedPlan placed_;
  Variables variables_;
};

class Emulator final : public Device {
 public:
  explicit Emulator(const EmulatorOptions& options) : options_(options) {}
  Capabilities capabilities() const override {
    Capabilities can;
    can.name = kEmulatorName;
    can.findings = can.counters = true;
    return can;
  }
  Result<std::unique_ptr<LoadedPlan>> load(plan::Plan plan, const LoadOptions& options) override {
    return EmulatedPlan::load(std::move(plan), options, options_.memory_bytes, modules_);
  }

 private:
  EmulatorOptions options_;
  ModuleCache modules_;
};

}  // namespace

bool RunReport::clean() const { return completed && first_with_finding() == nullptr; }

const StepReport* RunReport::first_with_finding() const {
  const auto it = std::find_if(steps.begin(), steps.end(), [](const StepReport& step) { return !step.findings.empty(); });
  return it == steps.end() ? nullptr : &*it;
}

std::unique_ptr<Device> make_emulator(const EmulatorOptions& options) { return std::make_unique<Emulator>(options); }

}  // namespace kw::device
