// What the GPU says of when its kernels ran: the activity records of NVIDIA's CUPTI (libcupti), loaded when it is first asked for.
// A clock beside a stream's events: each record has the start and the end of one kernel, copy or fill, in ns.
// Declares what is used of it, with constants' values and records' layout as cupti_activity.h of CUDA 12 and 13 states them
// (https://docs.nvidia.com/cupti). The file is the one that KW_CUPTI names (empty: none is to be used), else the loader's, else
// that of a CUDA toolkit. Internal to device; used by one thread, once a context is current.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "device/device.h"

namespace kw::device {

// Graphs made from here on are traced node by node. kNotFound where there is no libcupti, kIo where it refuses.
Status start_trace();

struct Traced {
  double seconds = 0;             // from the first node's start to the last one's end
  std::vector<TracedStep> nodes;  // kernels, copies and fills of graphs; what is launched otherwise does not count
};
// The device must have ended its work. Afterwards nothing is traced.
Result<Traced> stop_trace();

}  // namespace kw::device
