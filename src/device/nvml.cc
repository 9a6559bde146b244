#include "device/nvml.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace kw::device {
namespace {

struct Handle;
constexpr int kSuccess = 0, kTooSmall = 7;
constexpr int kSmClock = 1, kMemoryClock = 2;

struct Library {
  int (*init)() = nullptr;
  int (*by_place)(const char* place, Handle** handle) = nullptr;
  int (*clock)(Handle* handle, int domain, unsigned* mhz) = nullptr;
  int (*power)(Handle* handle, unsigned* milliwatts) = nullptr;
  int (*temperature)(Handle* handle, int sensor, unsigned* celsius) = nullptr;
  int (*slowed_by)(Handle* handle, unsigned long long* reasons) = nullptr;
  int (*energy)(Handle* handle, unsigned long long* millijoules) = nullptr;
  int (*processes)(Handle* handle, unsigned* count, void* list) = nullptr;
};

const Library* library() {
  static const Library* const loaded = []() -> const Library* {
    static Library out;
    void* const file = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) return nullptr;
    const auto find = [&](auto& function, const char* name) { function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(file, name)); };
    find(out.init, "nvmlInit_v2");
    find(out.by_place, "nvmlDeviceGetHandleByPciBusId_v2");
    find(out.clock, "nvmlDeviceGetClockInfo");
    find(out.power, "nvmlDeviceGetPowerUsage");
    find(out.temperature, "nvmlDeviceGetTemperature");
    find(out.slowed_by, "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(out.energy, "nvmlDeviceGetTotalEnergyConsumption");
    find(out.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
    return out.init != nullptr && out.by_place != nullptr && out.init() == kSuccess ? &out : nullptr;
  }();
  return loaded;
}

// 0: not known.
double energy_of(const Library& nvml, Handle* gpu) {
  unsigned long long millijoules = 0;
  return nvml.energy != nullptr && nvml.energy(gpu, &millijoules) == kSuccess ? 1e-3 * static_cast<double>(millijoules) : 0;
}

}  // namespace

void EnergyMeter::look() {
  const Clock::time_point begin = Clock::now();
  if (begin < next_) return;
  const Library* const nvml = library();
  Handle* gpu = nullptr;
  if (nvml == nullptr || nvml->by_place(place_.c_str(), &gpu) != kSuccess) return;
  const double now_j = energy_of(*nvml, gpu);
  const Clock::time_point end = Clock::now();
  next_ = end + std::max<Clock::duration>(std::chrono::milliseconds(1), 4 * (end - begin));
  if (now_j <= 0 || now_j == last_j_) return;
  // The first reading falls somewhere between two updates.
  if (last_j_ > 0 && ++seen_ == 1) first_ = end, first_j_ = now_j;
  last_j_ = now_j;
  if (seen_ < 2) return;
  power_.seconds = std::chrono::duration<double>(end - first_).count();
  power_.watts = (now_j - first_j_) / power_.seconds;
  power_.updates = seen_ - 1;
}

Conditions nvml_conditions(const std::string& bus_place) {
  Conditions out;
  const Library* const nvml = library();
  Handle* gpu = nullptr;
  if (nvml == nullptr || nvml->by_place(bus_place.c_str(), &gpu) != kSuccess) return out;
  unsigned value = 0;
  if (nvml->clock != nullptr && nvml->clock(gpu, kSmClock, &value) == kSuccess) out.sm_mhz = value;
  if (nvml->clock != nullptr && nvml->clock(gpu, kMemoryClock, &value) == kSuccess) out.memory_mhz = value;
  if (nvml->power != nullptr && nvml->power(gpu, &value) == kSuccess) out.power_w = 1e-3 * value;
  if (nvml->temperature != nullptr && nvml->temperature(gpu, 0, &value) == kSuccess) out.temperature_c = value;
  unsigned long long wide = 0;
  if (nvml->slowed_by != nullptr && nvml->slowed_by(gpu, &wide) == kSuccess) {
    // nvmlClocksEventReasons; an idle GPU's (1) and what a person set (2, 0x100) are no slowing down under work.
    static constexpr std::pair<unsigned, const char*> kReasons[] = {{0x4, "power cap"}, {0x8, "hardware slowdown"}, {0x10, "sync boost"},
                                                                    {0x20, "thermal"}, {0x40, "hardware thermal"}, {0x80, "power brake"}};
    for (const auto& [bit, name] : kReasons)
      if ((wide & bit) != 0) out.slowed_by.emplace_back(name);
  }
  // Counting asks for no list; this process is one of them.
  unsigned count = 0;
  if (nvml->processes != nullptr) {
    const int status = nvml->processes(gpu, &count, nullptr);
    if (status == kSuccess || status == kTooSmall) out.other_processes = std::max(0, static_cast<int>(count) - 1);
  }
  return out;
}

}  // namespace kw::device
