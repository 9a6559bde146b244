// problem: problems/vector_add.problem
// target: sm_90a
// verdict: correct
//   The second kernel begins early, loads what nobody writes, and waits for the first before it reads what that writes.
#include <kernelwright/candidate.h>

__global__ void prepare(const float* a, float* t, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  cudaTriggerProgrammaticLaunchCompletion();
  if (i < n) t[i] = a[i];
}
__global__ void add(const float* t, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  const float term = i < n ? b[i] : 0;  // an input: nobody writes it
  if (threadIdx.x == 0) cudaGridDependencySynchronize();
  __syncthreads();
  if (i < n) y[i] = t[i] + term;
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((N + 255) / 256);
  float* t;
  cudaMallocAsync(reinterpret_cast<void**>(&t), N * sizeof(float), stream);
  prepare<<<blocks, 256, 0, stream>>>(a.data<float>(), t, N);
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = 256;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, &add, static_cast<const float*>(t), b.data<float>(), y.data<float>(), N);
  cudaFreeAsync(t, stream);
}
