#include "device/cuda_driver.h"

#include <dlfcn.h>

namespace kw::device::cuda {
namespace {

Error missing(std::string message, std::string note) {
  Error error{ErrorCode::kNotFound, std::move(message), {}, {}, {}};
  error.notes.push_back(std::move(note));
  return error;
}

Result<Driver> load() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail(missing("there is no NVIDIA driver (libcuda.so.1) on this machine", "run this on a machine with a GPU, or without: `kw judge` leaves --gpu out, `kw worker` takes --emulator"));
  Driver driver{};
  std::string lacking;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr) lacking += lacking.empty() ? name : std::string(", ") + name;
  };
  find(driver.init, "cuInit");
  find(driver.driver_version, "cuDriverGetVersion");
  find(driver.device_count, "cuDeviceGetCount");
  find(driver.device_get, "cuDeviceGet");
  find(driver.device_name, "cuDeviceGetName");
  find(driver.device_attribute, "cuDeviceGetAttribute");
  find(driver.device_place, "cuDeviceGetPCIBusId");
  find(driver.device_memory, "cuDeviceTotalMem_v2");
  find(driver.context_retain, "cuDevicePrimaryCtxRetain");
  find(driver.context_set, "cuCtxSetCurrent");
  find(driver.context_synchronize, "cuCtxSynchronize");
  find(driver.module_load, "cuModuleLoadDataEx");
  find(driver.module_unload, "cuModuleUnload");
  find(driver.module_function, "cuModuleGetFunction");
  find(driver.module_global, "cuModuleGetGlobal_v2");
  find(driver.function_set, "cuFuncSetAttribute");
  find(driver.launch, "cuLaunchKernelEx");
  find(driver.allocate, "cuMemAlloc_v2");
  find(driver.release, "cuMemFree_v2");
  find(driver.to_device, "cuMemcpyHtoD_v2");
  find(driver.to_host, "cuMemcpyDtoH_v2");
  find(driver.to_host_later, "cuMemcpyDtoHAsync_v2");
  find(driver.copy, "cuMemcpyDtoDAsync_v2");
  find(driver.copy_2d, "cuMemcpy2DAsync_v2");
  find(driver.fill_8, "cuMemsetD8Async");
  find(driver.fill_2d_8, "cuMemsetD2D8Async");
  find(driver.fill_2d_16, "cuMemsetD2D16Async");
  find(driver.fill_2d_32, "cuMemsetD2D32Async");
  find(driver.stream_create, "cuStreamCreate");
  find(driver.stream_destroy, "cuStreamDestroy_v2");
  find(driver.stream_synchronize, "cuStreamSynchronize");
  find(driver.stream_wait, "cuStreamWaitEvent");
  find(driver.event_create, "cuEventCreate");
  find(driver.event_destroy, "cuEventDestroy_v2");
  find(driver.event_record, "cuEventRecord");
  find(driver.event_query, "cuEventQuery");
  find(driver.event_elapsed, "cuEventElapsedTime");
  find(driver.capture_begin, "cuStreamBeginCapture_v2");
  find(driver.capture_end, "cuStreamEndCapture");
  find(driver.graph_instantiate, "cuGraphInstantiateWithFlags");
  find(driver.graph_launch, "cuGraphLaunch");
  find(driver.graph_destroy, "cuGraphDestroy");
  find(driver.graph_exec_destroy, "cuGraphExecDestroy");
  find(driver.reset_persisting_l2, "cuCtxResetPersistingL2Cache");
  find(driver.encode_tiled, "cuTensorMapEncodeTiled");
  find(driver.error_name, "cuGetErrorName");
  find(driver.error_text, "cuGetErrorString");
  if (!lacking.empty())
    return fail(missing(fmt::format("the NVIDIA driver on this machine lacks {}", lacking), "install a driver for CUDA 12.0 or later"));
  if (const Status status = driver.init(0); status != kSuccess)
    return fail(missing(fmt::format("the NVIDIA driver does not start: {}", driver.describe(status)), "nvidia-smi says what it sees"));
  int count = 0;
  if (driver.device_count(&count) != kSuccess || count == 0)
    return fail(missing("the NVIDIA driver sees no GPU", "look at CUDA_VISIBLE_DEVICES and nvidia-smi"));
  return driver;
}

}  // namespace

std::string Driver::describe(Status status) const {
  const char *name = nullptr, *text = nullptr;
  if (error_name(status, &name) != kSuccess || name == nullptr) return fmt::format("CUDA error {}", static_cast<int>(status));
  if (error_text(status, &text) != kSuccess || text == nullptr) return name;
  return fmt::format("{} ({})", name, text);
}

Result<const Driver*> driver() {
  static const Result<Driver> loaded = load();
  if (!loaded) return fail(loaded.error());
  return &*loaded;
}

}  // namespace kw::device::cuda
