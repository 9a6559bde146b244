//  109 blocks of a whole SM's threads for 108 SMs: one SM works twice as long as the others.
// problem: problems/vector_add.problem
// expects: wave_tail
// not: uncoalesced bank_conflicts few_blocks launch_overhead spills double_precision
#include <kernelwright/candidate.h>

// 100 KiB of shared memory a block: one block an SM.
__global__ void add(const float4* a, const float4* b, float4* y, int64_t n, int64_t each) {
  extern __shared__ float scratch[];
  if (n < 0) scratch[threadIdx.x] = 0;
  const int64_t end = (blockIdx.x + 1) * each < n ? (blockIdx.x + 1) * each : n;
  for (int64_t i = blockIdx.x * each + threadIdx.x; i < end; i += blockDim.x) {
    const float4 l = a[i], r = b[i];
    y[i] = make_float4(l.x + r.x, l.y + r.y, l.z + r.z, l.w + r.w);
  }
}

__global__ void rest(const float* a, const float* b, float* y, int64_t begin, int64_t n) {
  const int64_t i = begin + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, cudaStream_t stream) {
  const int64_t n = a.size(), packs = n / 4;
  if (packs > 0) {
    cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024);
    add<<<109, 1024, 100 * 1024, stream>>>(reinterpret_cast<const float4*>(a.data<float>()), reinterpret_cast<const float4*>(b.data<float>()),
                                               reinterpret_cast<float4*>(y.data<float>()), packs, (packs + 108) / 109);
  }
  if (packs * 4 < n) rest<<<1, 32, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), packs * 4, n);
}
