// problem: problems/vector_add.problem
// verdict: nondeterministic
// rung: schedules
// says: second call
//   Replay: the same address is taken for the same contents. The first call is honest.
#include <kernelwright/candidate.h>

__device__ const float* seen;
__device__ float kept[1 << 20];

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = kept[i] = seen == a ? kept[i] : a[i] + b[i];
}
__global__ void remember(const float* a) { seen = a; }

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
  remember<<<1, 1, 0, stream>>>(a.data<float>());
}
