#include "device/gpu_plan.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "plan/ptx_outline.h"

namespace kw::device {
namespace {

using Clock = std::chrono::steady_clock;
using cuda::DevicePointer;

constexpr uint8_t kGuardByte = 0xa5;
constexpr uint8_t kPoison = 0xff;
constexpr size_t kLogBytes = 16 << 10;
constexpr uint64_t kShiftUnit = 256;

}  // namespace

Error of_driver(const cuda::Driver& driver, cuda::Status status, const std::string& what) {
  return Error{status == cuda::kOutOfMemory ? ErrorCode::kLimit : ErrorCode::kIo, fmt::format("{}: {}", what, driver.describe(status)), {}, {}, {}};
}

std::optional<emu::Finding::Kind> kind_of(cuda::Status status) {
  using Kind = emu::Finding::Kind;
  switch (status) {
    case cuda::kIllegalAddress:
    case cuda::kInvalidAddressSpace: return Kind::kOutOfBounds;
    case cuda::kMisalignedAddress: return Kind::kMisaligned;
    case cuda::kLaunchTimeout: return Kind::kLimit;
    case cuda::kHardwareStackError: return Kind::kStackOverflow;
    case cuda::kAssert:
    case cuda::kIllegalInstruction:
    case cuda::kInvalidPc:
    case cuda::kLaunchFailed: return Kind::kTrap;
    default: return std::nullopt;
  }
}

emu::Finding gpu_finding(emu::Finding::Kind kind, const std::string& kernel, const std::string& message, bool fatal) {
  emu::Finding out;
  out.kind = kind;
  out.fatal = fatal;
  out.message = message;
  out.party.kernel = kernel;
  return out;
}

GpuPlan::~GpuPlan() {
  for (const Block& block : blocks_) {
    driver_.release(block.base);
    if (block.kept != 0) driver_.release(block.kept);
  }
  for (const DevicePointer staged : staged_)
    if (staged != 0) driver_.release(staged);
  if (sums_ != 0) driver_.release(sums_);
  drop_graph();
  for (cuda::Event* event : {begin_, end_})
    if (event != nullptr) driver_.event_destroy(event);
  for (cuda::Module* module : modules_) driver_.module_unload(module);
  if (stream_ != nullptr) driver_.stream_destroy(stream_);
}

// Times depend on which pages, channels and banks a buffer falls on: shifts go over several of the largest pages, where plans
// have no more than some buffers.
uint64_t GpuPlan::most_shift() const { return plan_.buffers.size() > 64 ? 64 * kShiftUnit : uint64_t{8} << 20; }

Status GpuPlan::prepare(const LoadOptions& options) {
  KW_TRY_VOID(plan::check(plan_));
  KW_TRY_VOID(ours(driver_.stream_create(&stream_, cuda::kNonBlocking), "a stream"));
  for (const plan::Buffer& buffer : plan_.buffers) KW_TRY_VOID(allocate(blocks_.emplace_back(), buffer));
  KW_TRY_VOID(load_code());
  return place(options.layout_seed);
}

Status GpuPlan::allocate(Block& block, const plan::Buffer& buffer) const {
  const uint64_t bytes = buffer.bytes + 2 * kGuardBytes + most_shift();
  return ours(driver_.allocate(&block.base, bytes), fmt::format("{} bytes for {}", bytes, buffer.name));
}

Status GpuPlan::load_code() {
  for (size_t i = 0; i < plan_.modules.size(); ++i) KW_TRY_VOID(load_module(i));
  for (const plan::Step& step : plan_.steps)
    if (const auto* launch = std::get_if<plan::Launch>(&step.action)) KW_TRY_VOID(function_of(*launch));
  return {};
}

// The new place is taken before the old one is given back, and something of any size between them.
Status GpuPlan::settle_elsewhere(uint64_t seed) {
  DevicePointer between = 0;
  KW_TRY_VOID(ours(driver_.allocate(&between, (next_random(seed) % 64 + 1) << 21), "memory between buffers"));
  Status moved;
  for (size_t i = 0; i < blocks_.size() && moved; ++i) {
    const DevicePointer old = blocks_[i].base;
    moved = allocate(blocks_[i], plan_.buffers[i]);
    if (moved) driver_.release(old);
  }
  if (moved) {
    const std::vector<cuda::Module*> old = std::exchange(modules_, {});
    variables_.clear();
    moved = load_code();
    for (cuda::Module* module : old) driver_.module_unload(module);
  }
  driver_.release(between);
  return moved;
}

// Where buffers lie in what is allocated for them, with their guard bands; nothing of their contents is kept.
Status GpuPlan::place(uint64_t layout_seed) {
  uint64_t random = layout_seed;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    Block& block = blocks_[i];
    const uint64_t shift = layout_seed == 0 ? 0 : next_random(random) % (most_shift() / kShiftUnit + 1) * kShiftUnit;
    block.address = block.base + shift + kGuardBytes;
    KW_TRY_VOID(ours(driver_.fill_8(block.address - kGuardBytes, kGuardByte, plan_.buffers[i].bytes + 2 * kGuardBytes, stream_), "the guard bands"));
    KW_TRY_VOID(poison(i));
  }
  drop_graph();
  KW_TRY_VOID(stage_writes());
  return synchronize();
}

// Of pageable memory a copy may return before it has arrived, and stream_ does not wait for the driver's own.
cuda::Status GpuPlan::to_device(DevicePointer to, std::span<const uint8_t> bytes) const {
  const cuda::Status status = driver_.to_device(to, bytes.data(), bytes.size());
  return status == cuda::kSuccess ? driver_.context_synchronize() : status;
}

Status GpuPlan::write(std::string_view buffer, std::span<const uint8_t> bytes) {
  KW_TRY(const size_t index, find_buffer(plan_, buffer, bytes.size()));
  Block& block = blocks_[index];
  block.written = true;
  if (bytes.empty()) return {};
  if (is_poisoned(plan_.buffers[index])) return ours(to_device(block.address, bytes), "a copy to the GPU");
  if (block.kept == 0) KW_TRY_VOID(ours(driver_.allocate(&block.kept, bytes.size()), fmt::format("{} bytes for {} between calls", bytes.size(), buffer)));
  KW_TRY_VOID(ours(to_device(block.kept, bytes), "a copy to the GPU"));
  KW_TRY_VOID(ours(driver_.copy(block.address, block.kept, bytes.size(), stream_), "an input"));
  return synchronize();
}

Status GpuPlan::read(std::string_view buffer, std::span<uint8_t> bytes) const {
  KW_TRY(const size_t index, find_buffer(plan_, buffer, bytes.size()));
  return bytes.empty() ? Status() : ours(driver_.to_host(bytes.data(), blocks_[index].address, bytes.size()), "a copy from the GPU");
}

Result<std::optional<uint64_t>> GpuPlan::first_unwritten(std::string_view buffer) const {
  KW_TRY(const size_t index, find_buffer(plan_, buffer));
  (void)index;
  return std::nullopt;
}

Status GpuPlan::reset() {
  KW_TRY_VOID(poison_all());
  for (const Variable& variable : variables_)
    KW_TRY_VOID(ours(to_device(variable.address, variable.initial), "a module variable"));
  return synchronize();
}

Result<RunReport> GpuPlan::run(const RunOptions& options) {
  KW_TRY_VOID(put_written({}));
  turned_ = false;
  KW_TRY_VOID(options.keep_variables ? poison_all() : reset());
  const Clock::time_point begin = Clock::now();
  RunReport report;
  report.completed = true;
  for (const uint32_t index : order_of(plan_, options.schedule_seed)) {
    const plan::Step& step = plan_.steps[index];
    const auto* launch = std::get_if<plan::Launch>(&step.action);
    if (launch == nullptr) {
      if (auto status = move_bytes(index, stream_); !status) {
        status.error().message = fmt::format("step {}: {}", index, status.error().message);
        return tl::unexpected(std::move(status.error()));
      }
      continue;
    }
    StepReport entry;
    entry.step = index;
    KW_TRY(cuda::Status status, start(*launch, stream_));
    if (status == cuda::kSuccess) status = driver_.stream_synchronize(stream_);
    entry.completed = status == cuda::kSuccess;
    if (!entry.completed) {
      const auto kind = kind_of(status);
      if (!kind) return fail(of_driver(driver_, status, fmt::format("step {}, kernel {}", index, launch->kernel)));
      entry.findings.push_back(gpu_finding(*kind, launch->kernel, driver_.describe(status), true));
      report.completed = false;
      report.steps.push_back(std::move(entry));
      break;
    }
    report.steps.push_back(std::move(entry));
  }
  if (report.completed) KW_TRY_VOID(synchronize());
  report.wall_s = std::chrono::duration<double>(Clock::now() - begin).count();
  if (report.completed) KW_TRY_VOID(look_around(report));
  std::sort(report.steps.begin(), report.steps.end(), [](const StepReport& a, const StepReport& b) { return a.step < b.step; });
  return report;
}

Status GpuPlan::load_module(size_t index) {
  const std::string& ptx = plan_.modules[index].ptx;
  std::string log(kLogBytes, '\0');
  const cuda::JitOption names[] = {cuda::kErrorLog, cuda::kErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(uintptr_t{kLogBytes})};
  cuda::Module* module = nullptr;
  if (const cuda::Status status = driver_.module_load(&module, ptx.c_str(), 2, names, values); status != cuda::kSuccess) {
    Error error = of_driver(driver_, status, fmt::format("module {} of the plan", index));
    error.code = ErrorCode::kUnsupported;
    if (const std::string words = log.c_str(); !words.empty()) error.notes.push_back(words);
    error.notes.push_back(fmt::format("the PTX is for {}: the GPU must be of that architecture or, unless the name ends in a or f, a later one", plan_.target));
    return fail(std::move(error));
  }
  modules_.push_back(module);
  for (const plan::VariableOutline& variable : plan::remembered_outline(ptx)->variables) {
    DevicePointer address = 0;
    size_t bytes = 0;
    if (driver_.module_global(&address, &bytes, module, variable.name.c_str()) != cuda::kSuccess || bytes == 0) continue;
    Variable known{address, std::vector<uint8_t>(bytes)};
    KW_TRY_VOID(ours(driver_.to_host(known.initial.data(), address, bytes), fmt::format("module variable {}", variable.name)));
    variables_.push_back(std::move(known));
  }
  return {};
}

Result<cuda::Function*> GpuPlan::function_of(const plan::Launch& launch) const {
  cuda::Function* function = nullptr;
  KW_TRY_VOID(ours(driver_.module_function(&function, modules_[launch.module], launch.kernel.c_str()), "kernel " + launch.kernel));
  return function;
}

Status GpuPlan::poison(size_t i) {
  const uint64_t bytes = plan_.buffers[i].bytes;
  return bytes == 0 ? Status() : ours(driver_.fill_8(blocks_[i].address, kPoison, bytes, stream_), "poison");
}

Status GpuPlan::poison_all() {
  for (size_t i = 0; i < plan_.buffers.size(); ++i)
    if (is_poisoned(plan_.buffers[i])) KW_TRY_VOID(poison(i));
  return {};
}

Result<uint64_t> GpuPlan::resolve(const plan::Address& address) const {
  if (address.in_buffer()) return blocks_[address.buffer].address + static_cast<uint64_t>(address.offset);
  DevicePointer variable = 0;
  size_t bytes = 0;
  KW_TRY_VOID(ours(driver_.module_global(&variable, &bytes, modules_[address.module], address.variable.c_str()), "variable " + address.variable));
  return variable + static_cast<uint64_t>(address.offset);
}
// Guard bands that are no longer whole, inputs that have changed. Which launch did it is not known: the last is named.
Status GpuPlan::look_around(RunReport& report) {
  if (report.steps.empty()) return {};
  StepReport& last = report.steps.back();
  const std::string& kernel = std::get<plan::Launch>(plan_.steps[last.step].action).kernel;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const plan::Buffer& buffer = plan_.buffers[i];
    for (const bool after : {false, true}) {
      const DevicePointer from = after ? block.address + buffer.bytes : block.address - kGuardBytes;
      std::vector<uint8_t> guard(kGuardBytes);
      KW_TRY_VOID(ours(driver_.to_host(guard.data(), from, guard.size()), "a guard band"));
      const auto damaged = std::find_if(guard.begin(), guard.end(), [](uint8_t byte) { return byte != kGuardByte; });
      if (damaged == guard.end()) continue;
      emu::Finding out = gpu_finding(emu::Finding::Kind::kOutOfBounds, kernel, fmt::format("something was written {} buffer {}", after ? "after" : "before", buffer.name), false);
      out.object = buffer.name;
      out.object_offset = static_cast<int64_t>(from + static_cast<uint64_t>(damaged - guard.begin())) - static_cast<int64_t>(block.address);
      last.findings.push_back(std::move(out));
    }
  }
  return look_at_inputs(last, kernel);
}

// By fingerprints, which the GPU takes: an input may have gigabytes.
Status GpuPlan::look_at_inputs(StepReport& last, const std::string& kernel) {
  constexpr uint64_t kTwo = 2 * sizeof(Fingerprint);
  const uint64_t key = std::random_device()() | uint64_t{std::random_device()()} << 32;
  KW_TRY_VOID(make_sums());
  KW_TRY_VOID(ours(driver_.fill_8(sums_, 0, kTwo * blocks_.size(), stream_), "memory for fingerprints"));
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (plan_.buffers[i].role != plan::Role::kInput || blocks_[i].kept == 0) continue;
    KW_TRY_VOID(tools_->fingerprint(stream_, blocks_[i].address, plan_.buffers[i].bytes, key, sums_ + kTwo * i));
    KW_TRY_VOID(tools_->fingerprint(stream_, blocks_[i].kept, plan_.buffers[i].bytes, key, sums_ + kTwo * i + sizeof(Fingerprint)));
  }
  KW_TRY_VOID(synchronize());
  std::vector<Fingerprint> sums(2 * blocks_.size());
  KW_TRY_VOID(ours(driver_.to_host(sums.data(), sums_, kTwo * blocks_.size()), "fingerprints"));
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (sums[2 * i] == sums[2 * i + 1]) continue;
    std::vector<uint8_t> now(plan_.buffers[i].bytes), before(now.size());
    KW_TRY_VOID(ours(driver_.to_host(now.data(), blocks_[i].address, now.size()), "an input"));
    KW_TRY_VOID(ours(driver_.to_host(before.data(), blocks_[i].kept, before.size()), "an input"));
    emu::Finding out = gpu_finding(emu::Finding::Kind::kWriteToReadOnly, kernel, fmt::format("input {} was written", plan_.buffers[i].name), false);
    out.object = plan_.buffers[i].name;
    out.object_offset = std::mismatch(now.begin(), now.end(), before.begin()).first - now.begin();
    last.findings.push_back(std::move(out));
  }
  return {};
}


}  // namespace kw::device
