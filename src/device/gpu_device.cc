// Device on an NVIDIA GPU: the plan that ran on the emulator, launched by the driver with the same grids, blocks and
// parameter bytes. The driver compiles the plan's PTX for the GPU that is here.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "device/cuda_driver.h"
#include "device/device.h"
#include "device/replay.h"
#include "plan/ptx_outline.h"
#include "plan/tensor_map.h"

namespace kw::device {
namespace {

using Clock = std::chrono::steady_clock;
using cuda::DevicePointer;

// Before and after every buffer, so that a store beside it is seen when it is not far off.
constexpr uint64_t kGuardBytes = 4096;
constexpr uint8_t kGuardByte = 0xa5;
constexpr uint8_t kPoison = 0xff;
constexpr size_t kLogBytes = 16 << 10;

Error of_driver(const cuda::Driver& driver, cuda::Status status, const std::string& what) {
  return Error{status == cuda::kOutOfMemory ? ErrorCode::kLimit : ErrorCode::kIo, fmt::format("{}: {}", what, driver.describe(status)), {}, {}, {}};
}

// What a kernel did that ended the launch; nothing for what is ours.
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

class GpuPlan final : public LoadedPlan {
 public:
  GpuPlan(const cuda::Driver& driver, plan::Plan plan) : driver_(driver), plan_(std::move(plan)) {}
  ~GpuPlan() override {
    for (const Block& block : blocks_) driver_.release(block.base);
    for (cuda::Module* module : modules_) driver_.module_unload(module);
  }

  Status prepare(const LoadOptions& options) {
    KW_TRY_VOID(plan::check(plan_));
    uint64_t random = options.layout_seed;
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const uint64_t shift = options.layout_seed == 0 ? 0 : (next_random(random) % 64 + 1) * 256;
      Block block{0, 0, shift + plan_.buffers[i].bytes + 2 * kGuardBytes, {}};
      KW_TRY_VOID(ours(driver_.allocate(&block.base, block.bytes), fmt::format("{} bytes for {}", block.bytes, plan_.buffers[i].name)));
      block.address = block.base + shift + kGuardBytes;
      blocks_.push_back(std::move(block));
      KW_TRY_VOID(ours(driver_.fill_2d_8(blocks_[i].base, 0, kGuardByte, blocks_[i].bytes, 1), "the guard bands"));
      KW_TRY_VOID(fill(blocks_[i].address, kPoison, plan_.buffers[i].bytes));
    }
    for (size_t i = 0; i < plan_.modules.size(); ++i) KW_TRY_VOID(load_module(i));
    for (const plan::Step& step : plan_.steps)
      if (const auto* launch = std::get_if<plan::Launch>(&step.action)) KW_TRY_VOID(function_of(*launch));
    return {};
  }

  const plan::Plan& plan() const override { return plan_; }

  Status write(std::string_view buffer, std::span<const uint8_t> bytes) override {
    KW_TRY(const size_t index, find_buffer(plan_, buffer, bytes.size()));
    if (plan_.buffers[index].role == plan::Role::kInput) blocks_[index].written.assign(bytes.begin(), bytes.end());
    return bytes.empty() ? Status() : ours(driver_.to_device(blocks_[index].address, bytes.data(), bytes.size()), "a copy to the GPU");
  }

  Status read(std::string_view buffer, std::span<uint8_t> bytes) const override {
    KW_TRY(const size_t index, find_buffer(plan_, buffer, bytes.size()));
    return bytes.empty() ? Status() : ours(driver_.to_host(bytes.data(), blocks_[index].address, bytes.size()), "a copy from the GPU");
  }

  Result<std::optional<uint64_t>> first_unwritten(std::string_view buffer) const override {
    KW_TRY(const size_t index, find_buffer(plan_, buffer));
    (void)index;
    return std::nullopt;
  }

  Status reset() override {
    KW_TRY_VOID(poison_all());
    for (const Variable& variable : variables_)
      KW_TRY_VOID(ours(driver_.to_device(variable.address, variable.initial.data(), variable.initial.size()), "a module variable"));
    return {};
  }

  Result<RunReport> run(const RunOptions& options) override {
    KW_TRY_VOID(options.keep_variables ? poison_all() : reset());
    const Clock::time_point begin = Clock::now();
    RunReport report;
    report.completed = true;
    for (const uint32_t index : order_of(plan_, options.schedule_seed)) {
      const plan::Step& step = plan_.steps[index];
      const auto* launch = std::get_if<plan::Launch>(&step.action);
      if (launch == nullptr) {
        if (auto status = move_bytes(step); !status) {
          status.error().message = fmt::format("step {}: {}", index, status.error().message);
          return tl::unexpected(std::move(status.error()));
        }
        continue;
      }
      StepReport entry;
      entry.step = index;
      KW_TRY(cuda::Status status, start(*launch));
      if (status == cuda::kSuccess) status = driver_.context_synchronize();
      entry.completed = status == cuda::kSuccess;
      if (!entry.completed) {
        const auto kind = kind_of(status);
        if (!kind) return fail(of_driver(driver_, status, fmt::format("step {}, kernel {}", index, launch->kernel)));
        entry.findings.push_back(finding(*kind, launch->kernel, driver_.describe(status), true));
        report.completed = false;
        report.steps.push_back(std::move(entry));
        break;
      }
      report.steps.push_back(std::move(entry));
    }
    report.wall_s = std::chrono::duration<double>(Clock::now() - begin).count();
    if (report.completed) KW_TRY_VOID(look_around(report));
    std::sort(report.steps.begin(), report.steps.end(), [](const StepReport& a, const StepReport& b) { return a.step < b.step; });
    return report;
  }

 private:
  struct Block {
    DevicePointer base = 0, address = 0;
    uint64_t bytes = 0;               // guards and shift included
    std::vector<uint8_t> written;     // what an input holds
  };
  struct Variable {
    DevicePointer address = 0;
    std::vector<uint8_t> initial;
  };

  Status ours(cuda::Status status, const std::string& what) const {
    return status == cuda::kSuccess ? Status() : fail(of_driver(driver_, status, what));
  }

  Status load_module(size_t index) {
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
    for (const plan::VariableOutline& variable : plan::outline(ptx).variables) {
      DevicePointer address = 0;
      size_t bytes = 0;
      if (driver_.module_global(&address, &bytes, module, variable.name.c_str()) != cuda::kSuccess || bytes == 0) continue;
      Variable known{address, std::vector<uint8_t>(bytes)};
      KW_TRY_VOID(ours(driver_.to_host(known.initial.data(), address, bytes), fmt::format("module variable {}", variable.name)));
      variables_.push_back(std::move(known));
    }
    return {};
  }

  Result<cuda::Function*> function_of(const plan::Launch& launch) const {
    cuda::Function* function = nullptr;
    KW_TRY_VOID(ours(driver_.module_function(&function, modules_[launch.module], launch.kernel.c_str()), "kernel " + launch.kernel));
    return function;
  }

  Status fill(DevicePointer to, uint8_t value, uint64_t bytes) const {
    return bytes == 0 ? Status() : ours(driver_.fill_2d_8(to, 0, value, bytes, 1), "poison");
  }

  Status poison_all() {
    for (size_t i = 0; i < plan_.buffers.size(); ++i)
      if (is_poisoned(plan_.buffers[i])) KW_TRY_VOID(fill(blocks_[i].address, kPoison, plan_.buffers[i].bytes));
    return {};
  }

  Result<uint64_t> resolve(const plan::Address& address) const {
    if (address.in_buffer()) return blocks_[address.buffer].address + static_cast<uint64_t>(address.offset);
    DevicePointer variable = 0;
    size_t bytes = 0;
    KW_TRY_VOID(ours(driver_.module_global(&variable, &bytes, modules_[address.module], address.variable.c_str()), "variable " + address.variable));
    return variable + static_cast<uint64_t>(address.offset);
  }
  Resolve resolver() const {
    return [this](const plan::Address& address) { return resolve(address); };
  }

  // The driver's own tensor map in place of the plan's, whose layout is ours (plan/tensor_map.h).
  Status encode_tensor_map(uint8_t* bytes) const {
    const auto map = plan::decode_tensor_map({bytes, plan::kTensorMapBytes});
    if (!map) return fail(ErrorCode::kInvalid, "a tensor map of the plan does not decode");
    alignas(64) uint8_t encoded[plan::kTensorMapBytes];
    KW_TRY_VOID(ours(driver_.encode_tiled(encoded, map->type, map->rank, reinterpret_cast<void*>(map->address), map->extent.data(), map->stride.data(),
                                          map->box.data(), map->element_stride.data(), map->interleave, map->swizzle, map->promotion, map->fill),
                     "a tensor map"));
    std::memcpy(bytes, encoded, sizeof encoded);
    return {};
  }

  Result<cuda::Status> start(const plan::Launch& launch) const {
    KW_TRY(cuda::Function* const function, function_of(launch));
    std::vector<uint8_t> params = launch.params;
    KW_TRY_VOID(relocate(params, launch.relocations, resolver()));
    for (const uint32_t offset : launch.tensor_maps) KW_TRY_VOID(encode_tensor_map(params.data() + offset));
    if (launch.dynamic_shared_bytes > (48u << 10))
      KW_TRY_VOID(ours(driver_.function_set(function, cuda::kMaxDynamicShared, static_cast<int>(launch.dynamic_shared_bytes)), "dynamic shared memory"));
    KW_TRY_VOID(ours(driver_.function_set(function, cuda::kSharedCarveout, launch.shared_carveout_percent), "the shared memory carve-out"));
    if (launch.nonportable_cluster) KW_TRY_VOID(ours(driver_.function_set(function, cuda::kNonportableCluster, 1), "a non-portable cluster"));
    std::vector<cuda::LaunchAttribute> attributes;
    const auto add = [&](cuda::LaunchAttribute::Id id, std::array<uint32_t, 3> value) {
      cuda::LaunchAttribute attribute{id, 0, {}};
      std::copy(value.begin(), value.end(), attribute.value.begin());
      attributes.push_back(attribute);
    };
    if (launch.cooperative) add(cuda::LaunchAttribute::kCooperative, {1, 0, 0});
    if (launch.cluster != std::array<uint32_t, 3>{1, 1, 1}) add(cuda::LaunchAttribute::kClusterDimension, launch.cluster);
    if (launch.programmatic_order) add(cuda::LaunchAttribute::kProgrammaticOrder, {1, 0, 0});
    const auto& g = launch.grid;
    const auto& b = launch.block;
    const cuda::LaunchConfig config{{g[0], g[1], g[2]}, {b[0], b[1], b[2]}, launch.dynamic_shared_bytes, nullptr, attributes.data(),
                                    static_cast<uint32_t>(attributes.size())};
    size_t bytes = params.size();
    void* extra[] = {cuda::kParamPointer, params.data(), cuda::kParamSize, &bytes, cuda::kParamEnd};
    return driver_.launch(&config, function, nullptr, extra);
  }

  Status move_bytes(const plan::Step& step) const {
    if (const auto* fill = std::get_if<plan::Fill>(&step.action)) {
      if (fill->row_bytes == 0 || fill->rows == 0) return {};
      KW_TRY(const uint64_t to, resolve(fill->to));
      uint32_t value = 0;
      std::memcpy(&value, fill->pattern.data(), fill->pattern.size());
      const size_t width = fill->row_bytes / fill->pattern.size();
      const size_t pitch = fill->rows == 1 ? fill->row_bytes : fill->pitch;
      switch (fill->pattern.size()) {
        case 1: return ours(driver_.fill_2d_8(to, pitch, static_cast<uint8_t>(value), width, fill->rows), "a fill");
        case 2: return ours(driver_.fill_2d_16(to, pitch, static_cast<uint16_t>(value), width, fill->rows), "a fill");
        default: return ours(driver_.fill_2d_32(to, pitch, value, width, fill->rows), "a fill");
      }
    }
    if (const auto* copy = std::get_if<plan::Copy>(&step.action)) {
      if (copy->row_bytes == 0 || copy->rows == 0) return {};
      cuda::Copy2d what;
      KW_TRY(what.to, resolve(copy->to));
      KW_TRY(what.from, resolve(copy->from));
      what.to_pitch = copy->rows == 1 ? copy->row_bytes : copy->to_pitch;
      what.from_pitch = copy->rows == 1 ? copy->row_bytes : copy->from_pitch;
      what.width_bytes = copy->row_bytes;
      what.height = copy->rows;
      return ours(driver_.copy_2d(&what), "a copy");
    }
    const auto& write = std::get<plan::Write>(step.action);
    std::vector<uint8_t> data = write.data;
    KW_TRY_VOID(relocate(data, write.relocations, resolver()));
    KW_TRY(const uint64_t to, resolve(write.to));
    return data.empty() ? Status() : ours(driver_.to_device(to, data.data(), data.size()), "a write");
  }

  static emu::Finding finding(emu::Finding::Kind kind, const std::string& kernel, const std::string& message, bool fatal) {
    emu::Finding out;
    out.kind = kind;
    out.fatal = fatal;
    out.message = message;
    out.party.kernel = kernel;
    return out;
  }

  // Guard bands that are no longer whole, inputs that have changed. Which launch did it is not known: the last is named.
  Status look_around(RunReport& report) const {
    if (report.steps.empty()) return {};
    StepReport& last = report.steps.back();
    const std::string& kernel = std::get<plan::Launch>(plan_.steps[last.step].action).kernel;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = blocks_[i];
      const plan::Buffer& buffer = plan_.buffers[i];
      for (const bool after : {false, true}) {
        const DevicePointer from = after ? block.address + buffer.bytes : block.base;
        std::vector<uint8_t> guard(after ? block.base + block.bytes - from : block.address - block.base);
        KW_TRY_VOID(ours(driver_.to_host(guard.data(), from, guard.size()), "a guard band"));
        const auto damaged = std::find_if(guard.begin(), guard.end(), [](uint8_t byte) { return byte != kGuardByte; });
        if (damaged == guard.end()) continue;
        emu::Finding out = finding(emu::Finding::Kind::kOutOfBounds, kernel, fmt::format("something was written {} buffer {}", after ? "after" : "before", buffer.name), false);
        out.object = buffer.name;
        out.object_offset = static_cast<int64_t>(from + static_cast<uint64_t>(damaged - guard.begin())) - static_cast<int64_t>(block.address);
        last.findings.push_back(std::move(out));
      }
      if (buffer.role != plan::Role::kInput || block.written.empty()) continue;
      std::vector<uint8_t> now(block.written.size());
      KW_TRY_VOID(ours(driver_.to_host(now.data(), block.address, now.size()), "an input"));
      const auto changed = std::mismatch(now.begin(), now.end(), block.written.begin());
      if (changed.first == now.end()) continue;
      emu::Finding out = finding(emu::Finding::Kind::kWriteToReadOnly, kernel, fmt::format("input {} was written", buffer.name), false);
      out.object = buffer.name;
      out.object_offset = changed.first - now.begin();
      last.findings.push_back(std::move(out));
    }
    return {};
  }

  const cuda::Driver& driver_;
  plan::Plan plan_;
  std::vector<Block> blocks_;               // by buffer
  std::vector<cuda::Module*> modules_;
  std::vector<Variable> variables_;
};

class Gpu final : public Device {
 public:
  Gpu(const cuda::Driver& driver, cuda::Context* context, GpuInfo info) : driver_(driver), context_(context), info_(std::move(info)) {}
  Capabilities capabilities() const override {
    Capabilities can;
    can.name = fmt::format("{} ({})", info_.name, info_.target);
    can.times = true;
    return can;
  }
  Result<std::unique_ptr<LoadedPlan>> load(plan::Plan plan, const LoadOptions& options) override {
    if (const auto status = driver_.context_set(context_); status != cuda::kSuccess) return fail(of_driver(driver_, status, "the GPU's context"));
    auto loaded = std::make_unique<GpuPlan>(driver_, std::move(plan));
    KW_TRY_VOID(loaded->prepare(options));
    return std::unique_ptr<LoadedPlan>(std::move(loaded));
  }

 private:
  const cuda::Driver& driver_;
  cuda::Context* context_;
  GpuInfo info_;
};

}  // namespace

Result<std::vector<GpuInfo>> list_gpus() {
  KW_TRY(const cuda::Driver* const driver, cuda::driver());
  int count = 0, version = 0;
  driver->device_count(&count);
  driver->driver_version(&version);
  std::vector<GpuInfo> gpus;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0, major = 0, minor = 0;
    char name[256] = "";
    if (const auto status = driver->device_get(&device, ordinal); status != cuda::kSuccess) return fail(of_driver(*driver, status, fmt::format("GPU {}", ordinal)));
    GpuInfo gpu;
    driver->device_name(name, sizeof name, device);
    driver->device_attribute(&major, cuda::kCapabilityMajor, device);
    driver->device_attribute(&minor, cuda::kCapabilityMinor, device);
    driver->device_attribute(&gpu.multiprocessors, cuda::kMultiprocessors, device);
    size_t memory = 0;
    driver->device_memory(&memory, device);
    gpu.name = name;
    gpu.target = fmt::format("sm_{}{}", major, minor);
    gpu.memory_bytes = memory;
    gpu.driver_version = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Result<std::unique_ptr<Device>> make_gpu(int ordinal) {
  KW_TRY(const cuda::Driver* const driver, cuda::driver());
  KW_TRY(const std::vector<GpuInfo> gpus, list_gpus());
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= gpus.size()) return fail(ErrorCode::kNotFound, "there is no GPU {}: this machine has {}", ordinal, gpus.size());
  int device = 0;
  cuda::Context* context = nullptr;
  cuda::Status status = driver->device_get(&device, ordinal);
  if (status == cuda::kSuccess) status = driver->context_retain(&context, device);
  if (status != cuda::kSuccess) return fail(of_driver(*driver, status, fmt::format("GPU {}", ordinal)));
  return std::unique_ptr<Device>(std::make_unique<Gpu>(*driver, context, gpus[static_cast<size_t>(ordinal)]));
}

}  // namespace kw::device
