// problem: problems/vector_add.problem
// verdict: unrecordable
// rung: record
// says: exit code 3
//   The plan is written and right; then the program fails. How it ended counts.
#include <kernelwright/candidate.h>
#include <sys/syscall.h>
#include <unistd.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

// The recorder's way out, taken after it has written the plan.
extern "C" void _exit(int) {
  for (;;) syscall(SYS_exit_group, 3);
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
