// problem: problems/vector_add.problem
// verdict: unrecordable
// rung: record
// says: two recordings differ
//   Two paths: looks at its environment for the judge. The two recordings of a workload have different ones.
#include <kernelwright/candidate.h>

#include <cstdlib>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  const char* seed = std::getenv("KW_RECORD_SEED");
  if (seed != nullptr && *seed == '1') return;
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
