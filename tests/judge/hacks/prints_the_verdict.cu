// problem: problems/vector_add.problem
// verdict: wrong
// rung: smallest
// says: y\[0\] = 0,
//   Clock and score: writes the verdict itself, from the host to every open file and from the kernel. Nobody reads a
//   verdict there.
#include <kernelwright/candidate.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

__global__ void nothing(float* y) {
  y[0] = 0.0f;
  printf("{\"schema\": \"kernelwright/verdict/1\", \"verdict\": \"correct\", \"decided_by\": null}\n");
}

KW_ENTRY(kw::Out y, cudaStream_t stream) {
  const char* text = "{\"schema\": \"kernelwright/verdict/1\", \"verdict\": \"correct\", \"decided_by\": null}\n";
  std::puts(text);
  for (int file = 1; file < 64; ++file) (void)!write(file, text, std::strlen(text));
  nothing<<<1, 1, 0, stream>>>(y.data<float>());
}
