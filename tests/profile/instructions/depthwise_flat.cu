//  A depthwise 3 × 3 convolution, every tap's address in 64 bits from all indices.
// problem: problems/depthwise_conv2d.problem
// expects: address_arithmetic
// not: uncoalesced bank_conflicts spills launch_overhead few_blocks tensor_cores double_precision atomics barriers local_array partial_warps
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void conv(const __half* x, const __half* taps, __half* y, int64_t h, int64_t w, int64_t c, int64_t all) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= all) return;
  const int64_t channel = i % c, column = i / c % w, row = i / (c * w) % h, image = i / (c * w * h);
  float sum = 0;
#pragma unroll 1
  for (int64_t tap = 0; tap < 9; ++tap) {
    const int64_t from_row = row + tap / 3 - 1, from_column = column + tap % 3 - 1;
    if (from_row < 0 || from_row >= h || from_column < 0 || from_column >= w) continue;
    sum += __half2float(x[((image * h + from_row) * w + from_column) * c + channel]) * __half2float(taps[tap * c + channel]);
  }
  y[i] = __float2half(sum);
}

KW_ENTRY(kw::In x, kw::In w, kw::Out y, cudaStream_t stream) {
  if (y.size() > 0) {
    conv<<<(y.size() + 255) / 256, 256, 0, stream>>>(x.data<__half>(), w.data<__half>(), y.data<__half>(), x.shape(1), x.shape(2), x.shape(3), y.size());
  }
}
