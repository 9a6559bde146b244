//  A change of layout by taking every index apart; written in order, read a channel apart.
// problem: problems/nhwc_to_nchw.problem
// expects: address_arithmetic uncoalesced
// not: bank_conflicts spills launch_overhead few_blocks tensor_cores double_precision atomics barriers local_array imbalance
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void permute(const __half* x, __half* y, int64_t h, int64_t w, int64_t c, int64_t all) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= all) return;
  const int64_t column = i % w, row = i / w % h, channel = i / (w * h) % c, image = i / (w * h * c);
  y[i] = x[((image * h + row) * w + column) * c + channel];
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  if (y.size() > 0) permute<<<(y.size() + 255) / 256, 256, 0, stream>>>(x.data<__half>(), y.data<__half>(), x.shape(1), x.shape(2), x.shape(3), y.size());
}
