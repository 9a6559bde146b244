// Device on the PTX emulator.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/check.h"
#include "device/device.h"
#include "device/replay.h"
#include "device/step_order.h"
#include "device/variables.h"
#include "ptx/parser.h"

namespace kw::device {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Modules as parsed, by their text: a judge loads one plan many times.
class ModuleCache {
 public:
  Result<std::shared_ptr<const ptx::Module>> get(const std::string& text, const std::string& name) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto it = modules_.find(text); it != modules_.end()) return it->second;
    }
    KW_TRY(ptx::Module parsed, ptx::parse(text, name));
    auto module = std::make_shared<const ptx::Module>(std::move(parsed));
    const std::lock_guard lock(mutex_);
    if (modules_.size() >= kMost) modules_.clear();
    return modules_.emplace(text, std::move(module)).first->second;
  }

 private:
  static constexpr size_t kMost = 16;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const ptx::Module>> modules_;
};

class EmulatedPlan final : public LoadedPlan {
 public:
  static Result<std::unique_ptr<LoadedPlan>> load(plan::Plan plan, const LoadOptions& options, uint64_t memory_bytes,
                                                    ModuleCache& modules) {
    auto loaded = std::unique_ptr<EmulatedPlan>(new EmulatedPlan);
    loaded->plan_ = std::move(plan);
    KW_TRY_VOID(plan::check(loaded->plan_));
    KW_TRY_VOID(loaded->prepare(options, memory_bytes, modules));
    return std::unique_ptr<LoadedPlan>(std::move(loaded));
  }

  const plan::Plan& plan() const override { return plan_; }

  Status write(std::string_view buffer, std::span<const uint8_t> bytes) override {
    KW_TRY(const size_t index, find_buffer(plan_, buffer, bytes.size()));
    return memory_->write(addresses_[index], bytes.data(), bytes.size());
  }

  Status read(std::string_view buffer, std::span<uint8_t> bytes) const override {
    KW_TRY(const size_t index, find_buffer(plan_, buffer, bytes.size()));
    return memory_->read(addresses_[index], bytes.data(), bytes.size());
  }

  Result<std::optional<uint64_t>> first_unwritten(std::string_view buffer) const override {
    KW_TRY(const size_t index, find_buffer(plan_, buffer));
    const uint64_t bytes = plan_.buffers[index].bytes;
    if (memory_->all_initialised(addresses_[index], bytes)) return std::nullopt;
    uint64_t written = 0, more = bytes;   // the first `written` bytes are, the first `more` are not
    while (more - written > 1) {
      const uint64_t middle = written + (more - written) / 2;
      (memory_->all_initialised(addresses_[index], middle) ? written : more) = middle;
    }
    return written;
  }

  Status reset() override {
    KW_TRY_VOID(poison_all());
    for (const auto& program : programs_) KW_TRY_VOID(program->reset_variables());
    return {};
  }

  Result<CallReport> call(const CallOptions& options) override { return call_by_running(*this, options); }

  Result<RunReport> run(const RunOptions& options) override {
    KW_TRY_VOID(options.keep_variables ? poison_all() : reset());
    if (options.keep_variables && options.forbid_stale_variables) KW_TRY_VOID(variables_.mark_stale(*memory_));
    const Clock::time_point begin = Clock::now();
    RunReport report;
    report.completed = true;
    std::map<uint32_t, StepReport> launches;
    std::map<uint32_t, std::string> outputs;
    uint64_t findings = 0;
    StepOrder beside(plan_);
    for (const uint32_t index : order_of(plan_, options.schedule_seed)) {
      const double spent = seconds_since(begin);
      if (options.deadline_s > 0 && spent >= options.deadline_s) {
        report.completed = false;   // no step is to blame: all of them together take too long
        break;
      }
      const plan::Step& step = plan_.steps[index];
      const auto* launch = std::get_if<plan::Launch>(&step.action);
      emu::Footprint* const footprint = options.check_races ? beside.footprint_of(index) : nullptr;
      const std::vector<emu::Concurrent> concurrent = options.check_races ? beside.beside(index) : std::vector<emu::Concurrent>();
      if (launch == nullptr) {
        if (auto status = move_bytes(step); !status) {
          status.error().message = fmt::format("step {}: {}", index, status.error().message);
          return tl::unexpected(std::move(status.error()));
        }
        if (footprint != nullptr) {
          KW_TRY(const auto touched, touched_by(step));
          if (auto race = beside.move(index, touched, *memory_)) launches[index] = {index, true, {std::move(*race)}, {}, 0};
        }
        beside.has_run(index);
        continue;
      }
      emu::Options emulator;
      emulator.check_races = options.check_races;
      emulator.check_uninitialised = options.check_uninitialised && memory_->tracks_initialised();
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
      auto done = emu::run(launch_of(*launch), emulator);
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

  Status prepare(const LoadOptions& options, uint64_t memory_bytes, ModuleCache& modules) {
    uint64_t total = 0;
    for (const plan::Buffer& buffer : plan_.buffers) total += buffer.bytes;
    if (total > memory_bytes)
      return fail(ErrorCode::kLimit, "the plan's buffers have {} bytes; the emulated device has {}: use a smaller workload", total, memory_bytes);
    KW_TRY(memory_, emu::Memory::create(memory_bytes + (uint64_t{1} << 30), options.track_initialised));
    uint64_t random = options.layout_seed;
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const plan::Buffer& buffer = plan_.buffers[i];
      if (options.layout_seed != 0) {
        KW_TRY(const uint64_t spacer, memory_->allocate((next_random(random) % 64 + 1) * 256, "spacer"));
        (void)spacer;
      }
      KW_TRY(const uint64_t address, memory_->allocate(buffer.bytes, buffer.name, 256, buffer.role == plan::Role::kInput));
      addresses_.push_back(address);
      KW_TRY_VOID(poison(i));
    }
    for (size_t i = 0; i < plan_.modules.size(); ++i) {
      KW_TRY(auto parsed, modules.get(plan_.modules[i].ptx, fmt::format("module {} of the plan", i)));
      KW_TRY(auto program, emu::Program::load(std::move(parsed), *memory_));
      KW_TRY_VOID(variables_.add(plan_.modules[i].ptx, *program));
      programs_.push_back(std::move(program));
    }
    // What the scan of the plan cannot know, the parsed modules do.
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const auto* launch = std::get_if<plan::Launch>(&plan_.steps[i].action);
      if (launch == nullptr) continue;
      KW_TRY(const emu::KernelInfo kernel, programs_[launch->module]->kernel(launch->kernel));
      if (kernel.param_bytes != launch->params.size())
        return fail(ErrorCode::kInvalid, "step {}: {} takes {} bytes of parameters, not {}", i, launch->kernel, kernel.param_bytes, launch->params.size());
    }
    return {};
  }

  Status poison_all() {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      if (is_poisoned(plan_.buffers[i])) KW_TRY_VOID(poison(i));
    }
    return {};
  }

  Status poison(size_t index) {
    const uint8_t pattern = 0xff;
    if (plan_.buffers[index].bytes == 0) return {};
    KW_TRY_VOID(memory_->fill(addresses_[index], &pattern, 1, plan_.buffers[index].bytes));
    memory_->mark_uninitialised(addresses_[index], plan_.buffers[index].bytes);
    return {};
  }

  Result<uint64_t> resolve(const plan::Address& address) const {
    if (address.in_buffer()) return addresses_[address.buffer] + static_cast<uint64_t>(address.offset);
    KW_TRY(const emu::Program::Symbol symbol, programs_[address.module]->symbol(address.variable));
    return symbol.address + static_cast<uint64_t>(address.offset);
  }

  Resolve resolver() const {
    return [this](const plan::Address& address) { return resolve(address); };
  }

  emu::Launch launch_of(const plan::Launch& launch) const {
    emu::Launch out;
    out.program = programs_[launch.module].get();
    out.kernel = launch.kernel;
    out.grid = launch.grid;
    out.block = launch.block;
    out.cluster = launch.cluster;
    out.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    out.cooperative = launch.cooperative;
    out.params = launch.params;
    // The plan was checked: every target exists.
    const Status relocated = relocate(out.params, launch.relocations, resolver());
    KW_CHECK(relocated.has_value());
    return out;
  }

  Status move_bytes(const plan::Step& step) {
    if (const auto* fill = std::get_if<plan::Fill>(&step.action)) {
      KW_TRY(const uint64_t to, resolve(fill->to));
      for (uint64_t row = 0; row < fill->rows && fill->row_bytes != 0; ++row)
        KW_TRY_VOID(memory_->fill(to + row * fill->pitch, fill->pattern.data(), fill->pattern.size(), fill->row_bytes / fill->pattern.size()));
      return {};
    }
    if (const auto* copy = std::get_if<plan::Copy>(&step.action)) {
      KW_TRY(const uint64_t to, resolve(copy->to));
      KW_TRY(const uint64_t from, resolve(copy->from));
      for (uint64_t row = 0; row < copy->rows && copy->row_bytes != 0; ++row)
        KW_TRY_VOID(memory_->copy(to + row * copy->to_pitch, from + row * copy->from_pitch, copy->row_bytes));
      return {};
    }
    const auto& write = std::get<plan::Write>(step.action);
    std::vector<uint8_t> data = write.data;
    KW_TRY_VOID(relocate(data, write.relocations, resolver()));
    KW_TRY(const uint64_t to, resolve(write.to));
    return data.empty() ? Status() : memory_->write(to, data.data(), data.size());
  }

  // What a step that is no launch touches.
  Result<std::vector<StepOrder::Touched>> touched_by(const plan::Step& step) const {
    std::vector<StepOrder::Touched> out;
    const auto touch = [&](const plan::Address& address, uint64_t bytes, uint64_t rows, uint64_t pitch, emu::Footprint::Use use) -> Status {
      KW_TRY(const uint64_t begin, resolve(address));
      for (uint64_t row = 0; row < rows; ++row) out.push_back({begin + row * pitch, begin + row * pitch + bytes, use});
      return {};
    };
    using enum emu::Footprint::Use;
    if (const auto* fill = std::get_if<plan::Fill>(&step.action)) {
      KW_TRY_VOID(touch(fill->to, fill->row_bytes, fill->rows, fill->pitch, kWrite));
    } else if (const auto* copy = std::get_if<plan::Copy>(&step.action)) {
      KW_TRY_VOID(touch(copy->from, copy->row_bytes, copy->rows, copy->from_pitch, kRead));
      KW_TRY_VOID(touch(copy->to, copy->row_bytes, copy->rows, copy->to_pitch, kWrite));
    } else if (const auto* write = std::get_if<plan::Write>(&step.action)) {
      KW_TRY_VOID(touch(write->to, write->data.size(), 1, 0, kWrite));
    }
    return out;
  }

  plan::Plan plan_;
  std::unique_ptr<emu::Memory> memory_;   // before programs_, which refer to it
  std::vector<std::unique_ptr<emu::Program>> programs_;
  std::vector<uint64_t> addresses_;       // by buffer
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
