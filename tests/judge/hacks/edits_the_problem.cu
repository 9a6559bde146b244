// problem: problems/vector_add.problem
// verdict: wrong
// rung: smallest
// says: y\[0\] = 0,
//   Oracle: widens the tolerance in the problem's file, if it can be found and written.
#include <fcntl.h>
#include <kernelwright/candidate.h>
#include <unistd.h>

#include <string>

__global__ void nothing(float* y) { y[0] = 0.0f; }

KW_ENTRY(kw::Out y, cudaStream_t stream) {
  std::string folder = __FILE__;
  for (int up = 0; up < 12; ++up) {
    folder = folder.substr(0, folder.find_last_of('/') == std::string::npos ? 0 : folder.find_last_of('/'));
    const int file = open((folder + "/problems/vector_add.problem").c_str(), O_WRONLY | O_APPEND);
    if (file >= 0) (void)!write(file, "tolerance:\n  factor = 64\n", 26);
  }
  nothing<<<1, 1, 0, stream>>>(y.data<float>());
}
