// problem: problems/vector_add.problem
// verdict: contract-violation
// rung: record
#include <kernelwright/candidate.h>

KW_ENTRY(kw::Out y, cudaStream_t stream) {
  static int not_a_kernel;
  float* out = y.data<float>();
  void* arguments[] = {&out};
  cudaLaunchKernel(&not_a_kernel, dim3(1), dim3(1), arguments, 0, stream);
}
