#include "plan/runtime/launch.h"

#include <algorithm>
#include <cstring>

#include "base/demangle.h"
#include "plan/runtime/device_facts.h"
#include "plan/runtime/request.h"

namespace kw::runtime {
namespace {

std::array<uint32_t, 3> array_of(const dim3& d) { return {d.x, d.y, d.z}; }

std::string text(const std::array<uint32_t, 3>& d) { return fmt::format("{}x{}x{}", d[0], d[1], d[2]); }

}  // namespace

std::string problem_of(const Kernel& kernel) {
  if (!kernel.module->problem.empty()) return kernel.module->problem;
  if (kernel.entry == nullptr) return fmt::format("the device code has no kernel '{}'", readable_name(kernel.name));
  return "";
}

cudaError_t prepare_launch(Call& call, const void* function, const LaunchConfiguration& configuration, void** arguments, LaunchRequest* out) {
  Backend& backend = call.backend();
  const auto refuse = [&](cudaError_t error, const std::string& message) {
    return call.done(backend.refuse_launch(error, message));
  };
  Kernel* kernel = call.state().find_kernel(function);
  if (kernel == nullptr)
    return refuse(cudaErrorInvalidDeviceFunction, "the function that is launched is not a __global__ function of this program");
  if (const std::string problem = problem_of(*kernel); !problem.empty()) return refuse(cudaErrorNoKernelImageForDevice, problem);

  LaunchRequest& request = *out;
  request.kernel = kernel;
  request.grid = array_of(configuration.grid);
  request.block = array_of(configuration.block);
  const bool stated = configuration.cluster.x != 0 || configuration.cluster.y != 0 || configuration.cluster.z != 0;
  request.cluster = stated ? array_of(configuration.cluster) : kernel->required_cluster;
  for (uint32_t& extent : request.cluster) extent = std::max(extent, 1u);
  request.cooperative = configuration.cooperative;
  request.programmatic_order = configuration.programmatic_order;
  request.shared_carveout_percent =
      configuration.shared_carveout_percent >= 0 ? configuration.shared_carveout_percent : kernel->shared_carveout_percent;
  request.stream = call.state().find_stream(configuration.stream);
  if (request.stream == nullptr) return refuse(cudaErrorInvalidResourceHandle, "the stream of the launch does not exist");

  const arch::Limits& limits = target_of(backend).limits;
  const auto without_opt_in = static_cast<uint64_t>(limits.shared_per_block_bytes);
  const std::array<uint32_t, 3> most_blocks{static_cast<uint32_t>(limits.grid_x), static_cast<uint32_t>(limits.grid_y), static_cast<uint32_t>(limits.grid_z)};
  const std::array<uint32_t, 3> most_threads{static_cast<uint32_t>(limits.block_x), static_cast<uint32_t>(limits.block_y), static_cast<uint32_t>(limits.block_z)};
  const uint64_t allowed = kernel->max_dynamic_shared_bytes >= 0
                               ? static_cast<uint64_t>(kernel->max_dynamic_shared_bytes)
                               : without_opt_in - std::min(without_opt_in, kernel->entry->static_shared_bytes);
  // More than any attribute can allow: then the attribute, if set, was refused too, and is not the remedy.
  const auto most = static_cast<uint64_t>(limits.shared_per_block_optin_bytes) -
                    std::min(static_cast<uint64_t>(limits.shared_per_block_optin_bytes), kernel->entry->static_shared_bytes);
  if (configuration.dynamic_shared_bytes > most)
    return refuse(cudaErrorInvalidValue, fmt::format("the launch of {} asks for {} bytes of dynamic shared memory; {} has at most {} for a block{}",
                                                     readable_name(kernel->name), configuration.dynamic_shared_bytes, target_of(backend).name, most,
                                                     kernel->entry->static_shared_bytes == 0 ? "" : " besides its static ones"));
  if (configuration.dynamic_shared_bytes > allowed)
    return refuse(cudaErrorInvalidValue,
                  fmt::format("the launch of {} asks for {} bytes of dynamic shared memory; {} are allowed{}", readable_name(kernel->name),
                              configuration.dynamic_shared_bytes, allowed,
                              kernel->max_dynamic_shared_bytes >= 0
                                  ? " by its attribute cudaFuncAttributeMaxDynamicSharedMemorySize"
                                  : " without cudaFuncSetAttribute(…, cudaFuncAttributeMaxDynamicSharedMemorySize, …)"));
  request.dynamic_shared_bytes = static_cast<uint32_t>(configuration.dynamic_shared_bytes);

  uint64_t threads = 1, cluster = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (request.grid[i] == 0 || request.block[i] == 0 || request.grid[i] > most_blocks[i] || request.block[i] > most_threads[i])
      return refuse(cudaErrorInvalidConfiguration, fmt::format("the launch of {} has grid {} and block {}; each must be from 1 to {} and {}",
                                                               readable_name(kernel->name), text(request.grid), text(request.block),
                                                               text(most_blocks), text(most_threads)));
    threads *= request.block[i];
    cluster *= std::min(request.cluster[i], 4096u);
    if (request.grid[i] % request.cluster[i] != 0)
      return refuse(cudaErrorInvalidClusterSize, fmt::format("the launch of {} has grid {}, not a multiple of the cluster {}", readable_name(kernel->name),
                                                             text(request.grid), text(request.cluster)));
  }
  if (threads > static_cast<uint64_t>(limits.threads_per_block))
    return refuse(cudaErrorInvalidConfiguration, fmt::format("the launch of {} has {} threads in a block; {} are allowed", readable_name(kernel->name),
                                                             threads, limits.threads_per_block));
  if (kernel->entry->max_threads != 0 && threads > kernel->entry->max_threads)
    return refuse(cudaErrorInvalidValue, fmt::format("the launch of {} has {} threads in a block; __launch_bounds__ promised at most {}",
                                                     readable_name(kernel->name), threads, kernel->entry->max_threads));
  const auto clusters = static_cast<uint64_t>( kernel->nonportable_cluster ? limits.cluster_blocks_nonportable : limits.cluster_blocks);
  if (cluster > 1 && cluster > clusters)
    return refuse(cudaErrorInvalidClusterSize, fmt::format("the launch of {} has clusters of {} blocks; the target allows {}", readable_name(kernel->name),
                                                           cluster, clusters));

  request.params.resize(kernel->entry->param_bytes);
  for (size_t i = 0; i < kernel->entry->params.size(); ++i) {
    const plan::ParamLayout& param = kernel->entry->params[i];
    if (arguments == nullptr || arguments[i] == nullptr)
      return refuse(cudaErrorInvalidValue, fmt::format("the launch of {} gives no argument {}", readable_name(kernel->name), i));
    std::memcpy(request.params.data() + param.offset, arguments[i], param.bytes);
  }
  return cudaSuccess;
}

cudaError_t launch(Call& call, const void* function, const LaunchConfiguration& configuration, void** arguments) {
  LaunchRequest request;
  if (const cudaError_t error = prepare_launch(call, function, configuration, arguments, &request); error != cudaSuccess) return error;
  return submit(call, std::move(request));
}

}  // namespace kw::runtime

using kw::runtime::Call;
using kw::runtime::call_configurations;
using kw::runtime::launch;
using kw::runtime::LaunchConfiguration;

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st* stream) {
  auto& stack = call_configurations();
  if (stack.size() > 1000) return 1;
  stack.push_back({grid, block, shared_bytes, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  auto& stack = call_configurations();
  if (stack.empty()) return cudaErrorMissingConfiguration;
  *grid = stack.back().grid;
  *block = stack.back().block;
  *shared_bytes = stack.back().shared_bytes;
  *static_cast<cudaStream_t*>(stream) = stack.back().stream;
  stack.pop_back();
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* function) {
  Call call("__cudaGetKernel");
  // Not the program's call: a kernel that is not there is reported when it is launched.
  *handle = reinterpret_cast<cudaKernel_t>(const_cast<void*>(static_cast<const void*>(call.state().find_kernel(function))));
  return *handle == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream) {
  Call call("kernel<<<…>>>");
  LaunchConfiguration configuration{grid, block};
  configuration.dynamic_shared_bytes = shared_bytes;
  configuration.stream = stream;
  return launch(call, kernel, configuration, arguments);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                    cudaStream_t stream) {
  return __cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream == nullptr ? cudaStreamPerThread : stream);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream) {
  Call call("cudaLaunchKernel");
  LaunchConfiguration configuration{grid, block};
  configuration.dynamic_shared_bytes = shared_bytes;
  configuration.stream = stream;
  return launch(call, function, configuration, arguments);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                        cudaStream_t stream) {
  Call call("cudaLaunchCooperativeKernel");
  LaunchConfiguration configuration{grid, block};
  configuration.dynamic_shared_bytes = shared_bytes;
  configuration.stream = stream;
  configuration.cooperative = true;
  return launch(call, function, configuration, arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  Call call("cudaLaunchKernelExC");
  if (config == nullptr) return call.done(cudaErrorInvalidValue);
  LaunchConfiguration configuration{config->gridDim, config->blockDim};
  configuration.dynamic_shared_bytes = config->dynamicSmemBytes;
  configuration.stream = config->stream;
  for (unsigned i = 0; config->attrs != nullptr && i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    switch (attribute.id) {
      case cudaLaunchAttributeClusterDimension:
        configuration.cluster = dim3(attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z);
        break;
      case cudaLaunchAttributeCooperative: configuration.cooperative = attribute.val.cooperative != 0; break;
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        configuration.programmatic_order = attribute.val.programmaticStreamSerializationAllowed != 0;
        break;
      case cudaLaunchAttributePreferredSharedMemoryCarveout:
        configuration.shared_carveout_percent = static_cast<int>(attribute.val.sharedMemCarveout);
        break;
      case cudaLaunchAttributeProgrammaticEvent:
      case cudaLaunchAttributeLaunchCompletionEvent:
        return call.unsupported("a launch attribute that records an event inside a kernel");
      default: break;  // priorities, cache and scheduling preferences: no effect on what is computed
    }
  }
  return launch(call, function, configuration, arguments);
}

}  // extern "C"
