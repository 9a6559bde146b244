// problem: problems/vector_add.problem
// verdict: unrecordable
// rung: record
//   Not the task: the same, by a name that is put together at run time.
#include <dlfcn.h>
#include <kernelwright/candidate.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  const char name[] = {'c', 'u', 'd', 'a', 'M', 'e', 'm', 'c', 'p', 'y', 0};
  auto* copy = reinterpret_cast<cudaError_t (*)(void*, const void*, size_t, cudaMemcpyKind)>(dlsym(RTLD_DEFAULT, name));
  float peek[1];
  copy(peek, a.data<float>(), sizeof peek, cudaMemcpyDeviceToHost);
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
