// From the arguments of a copy or a fill to a request, and from a request to its effect: on its stream, or as a
// node of the graph that the stream is captured into.
#pragma once

#include "plan/runtime/state.h"

namespace kw::runtime {

struct Rows {
  uint64_t row_bytes = 0, rows = 1, to_pitch = 0, from_pitch = 0;
  bool empty() const { return row_bytes == 0 || rows == 0; }
};

// The request without its stream. The addresses decide the direction; `kind` must not contradict them.
cudaError_t copy_request(Call& call, void* to, const void* from, const Rows& rows, cudaMemcpyKind kind, CopyRequest* out);
cudaError_t fill_request(Call& call, void* to, int value, const Rows& rows, FillRequest* out);

// The request's stream must be set.
cudaError_t submit(Call& call, LaunchRequest request);
cudaError_t submit(Call& call, CopyRequest request);
cudaError_t submit(Call& call, FillRequest request);
cudaError_t submit(Call& call, Stream& stream, const HostCall& request);

}  // namespace kw::runtime
