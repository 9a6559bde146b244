//  An element a thread in blocks of 40, and its place by five divisions.
// problem: problems/avg_pool2d.problem
// expects: integer_division address_arithmetic partial_warps
// followed: integer_division sound/avg_pool2d
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks tensor_cores double_precision atomics barriers shared_tiling local_array imbalance
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void pool(const __half* x, __half* y, int64_t h, int64_t w, int64_t c, int64_t all) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= all) return;
  const int64_t channel = i % c, column = i / c % w, row = i / (c * w) % h, image = i / (c * w * h);
  float sum = 0;
  for (int r = 0; r < 2; ++r) {
    for (int s = 0; s < 2; ++s) sum += __half2float(x[((image * 2 * h + 2 * row + r) * 2 * w + 2 * column + s) * c + channel]);
  }
  y[i] = __float2half(0.25f * sum);
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  if (y.size() > 0) pool<<<(y.size() + 39) / 40, 40, 0, stream>>>(x.data<__half>(), y.data<__half>(), y.shape(1), y.shape(2), y.shape(3), y.size());
}
