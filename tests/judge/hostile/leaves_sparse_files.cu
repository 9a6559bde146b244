// problem: problems/vector_add.problem
// verdict: unrecordable
// rung: record
//   Leaves files of holes in the recorder's folder: they take no room until somebody copies them.
#include <fcntl.h>
#include <kernelwright/candidate.h>
#include <unistd.h>

__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

KW_ENTRY(kw::In a, kw::In b, kw::Out y, int64_t N, cudaStream_t stream) {
  for (const char* name : {"one", "two", "three"}) {
    const int file = open(name, O_WRONLY | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, off_t{400} << 20) != 0) return;
    close(file);
  }
  add<<<static_cast<unsigned>((N + 255) / 256), 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), N);
}
