// The device that programs see: arch's facts about the backend's target in the toolkit's structures, and how many
// blocks of a kernel fit an SM. Memory size and product name are the emulated device's own.
#pragma once

#include <cuda_runtime_api.h>

#include "arch/target.h"
#include "plan/runtime/backend.h"

namespace kw::runtime {

const arch::Target& target_of(Backend& backend);

cudaDeviceProp properties(const arch::Target& target);

// Registers of a kernel are ptxas's choice, which is not known here: what .maxnreg says, or what lets
// .minnctapersm blocks of .maxntid threads fit, or 64 at most. Occupancy answers rest on this estimate.
int estimated_registers(const arch::Target& target, const Kernel& kernel);
int blocks_per_sm(const arch::Target& target, const Kernel& kernel, int threads, uint64_t dynamic_shared);

}  // namespace kw::runtime
