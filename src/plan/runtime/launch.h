// From the arguments of a launch call to a LaunchRequest: finds the kernel, copies the parameters by the
// PTX's layout, holds the launch against the target and the kernel's attributes.
#pragma once

#include "plan/runtime/state.h"

namespace kw::runtime {

struct LaunchConfiguration {
  dim3 grid, block, cluster{0, 0, 0};   // cluster 0: not stated
  size_t dynamic_shared_bytes = 0;
  cudaStream_t stream = nullptr;
  bool cooperative = false, programmatic_order = false;
  int shared_carveout_percent = -1;
};

// Everything but the effect; `request` has the launch's stream.
cudaError_t prepare_launch(Call& call, const void* function, const LaunchConfiguration& configuration, void** arguments, LaunchRequest* request);
cudaError_t launch(Call& call, const void* function, const LaunchConfiguration& configuration, void** arguments);

// Why nothing of the kernel's module can be used; empty when it can.
std::string problem_of(const Kernel& kernel);

}  // namespace kw::runtime
