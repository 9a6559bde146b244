// Hardware counters by ncu, NVIDIA's Nsight Compute, as a program of its own: which metrics an architecture is asked for, a run of
// a program under it, and its CSV read back. Nothing here needs ncu to be built or tested.
// The file is the one that KW_NCU names (empty: none is to be used), else on PATH, in CUDA_HOME, or where NVIDIA's packages put it.
// ncu runs each kernel several times over, each time from empty caches and memory as it was, at the clock as it is.
// What it prints is outside input. Thread-safe, but counters of a GPU are one program's at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "arch/target.h"
#include "base/result.h"
#include "profile/counters.h"

namespace kw::profile {

struct NcuLaunch {
  std::string kernel;          // mangled
  HardwareCounters counters;   // of this launch
};

struct NcuRead {
  std::string version;               // "2025.3.1.0"; empty: it does not say
  std::vector<NcuLaunch> launches;   // in their order
  std::vector<std::string> without;  // metrics that this ncu does not know for this GPU, or gave no number for
};

// Error kNotFound, with where it was sought.
Result<std::string> find_ncu();

std::vector<std::string> ncu_metrics(const arch::Target& gpu);

// Output of `ncu --csv --page raw`, other lines before and after it. Errors kInvalid: no table, a row that is not whole.
Result<std::vector<NcuLaunch>> parse_ncu(std::string_view text);

// Runs `program` under ncu and reads the counters of its first kMostLaunches kernels. Errors say in one sentence why there are none:
// no ncu, no permission (ERR_NVGPUCTRPERM), no library of the driver's (sandboxes), a program that fails or does not end.
inline constexpr int kMostLaunches = 64;
Result<NcuRead> run_ncu(const std::vector<std::string>& program, const arch::Target& gpu, double deadline_s);

}  // namespace kw::profile
