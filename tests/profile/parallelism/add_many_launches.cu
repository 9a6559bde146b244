//  64 launches where one would do.
// problem: problems/vector_add.problem
// expects: launch_overhead
// followed: launch_overhead followed/add_one_launch
// not: uncoalesced bank_conflicts shared_tiling spills double_precision atomics tensor_cores divergence
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t begin, int64_t end) {
  const int64_t i = begin + static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < end) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, cudaStream_t stream) {
  const int64_t n = a.size(), part = (n + 63) / 64;
  for (int64_t begin = 0; begin < n; begin += part) {
    const int64_t end = begin + part < n ? begin + part : n;
    add<<<(end - begin + 39) / 40, 40, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), begin, end);
  }
}
