// Device on an NVIDIA GPU: the plan that ran on the emulator, launched by the driver with the same grids, blocks and
// parameter bytes. The driver compiles the plan's PTX for the GPU that is here.
#include <chrono>
#include <thread>

#include "device/gpu_plan.h"
#include "device/nvml.h"

namespace kw::device {
namespace {

class Gpu final : public Device {
 public:
  Gpu(const cuda::Driver& driver, int device, cuda::Context* context, GpuInfo info)
      : driver_(driver), device_(device), context_(context), info_(std::move(info)) {}
  Capabilities capabilities() const override {
    Capabilities can;
    can.name = fmt::format("{} ({})", info_.name, info_.target);
    can.times = true;
    int memory_khz = 0, bus_bits = 0;
    driver_.device_attribute(&memory_khz, cuda::kMemoryKhz, device_);
    driver_.device_attribute(&bus_bits, cuda::kMemoryBusBits, device_);
    can.dram_bytes_per_s = 2e3 * memory_khz * bus_bits / 8;   // two transfers a clock
    return can;
  }
  Conditions conditions() override { return nvml_conditions(bus_place(driver_, device_)); }
  Power idle_power(double seconds) override {
    using Clock = std::chrono::steady_clock;
    EnergyMeter meter(bus_place(driver_, device_));
    for (const auto begin = Clock::now(); std::chrono::duration<double>(Clock::now() - begin).count() < seconds;) {
      meter.look();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return meter.power();
  }
  Result<std::unique_ptr<LoadedPlan>> load(plan::Plan plan, const LoadOptions& options) override {
    if (const auto status = driver_.context_set(context_); status != cuda::kSuccess) return fail(of_driver(driver_, status, "the GPU's context"));
    if (tools_ == nullptr) {
      KW_TRY(tools_, GpuTools::make(driver_, device_));
    }
    auto loaded = std::make_unique<GpuPlan>(driver_, tools_, std::move(plan));
    KW_TRY_VOID(loaded->prepare(options));
    return std::unique_ptr<LoadedPlan>(std::move(loaded));
  }

 private:
  const cuda::Driver& driver_;
  int device_;
  cuda::Context* context_;
  std::shared_ptr<const GpuTools> tools_;   // once a plan is loaded
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
  return std::unique_ptr<Device>(std::make_unique<Gpu>(*driver, device, context, gpus[static_cast<size_t>(ordinal)]));
}

}  // namespace kw::device
