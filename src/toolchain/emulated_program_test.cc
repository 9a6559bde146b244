// Whole programs, host code and all, on the emulator. Skipped where there is no nvcc or no emulated runtime.
#include <gtest/gtest.h>

#include "toolchain/emulated_program_for_test.h"

namespace kw::toolchain {
namespace {

constexpr char kProgram[] = R"(
#include <cstdio>
#include <cuda_runtime.h>
__constant__ float scale;
__managed__ int total;
__device__ int counts[2];
__global__ void add(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  z[i] = x[i] + y[i] * scale;
  atomicAdd(&total, 1);
  atomicAdd(&counts[i & 1], 1);
}
__global__ void reduce(const float* x, float* out, int n, bool wait) {
  __shared__ float s[256];
  const int t = threadIdx.x;
  float v = 0;
  for (int i = t; i < n; i += 256) v += x[i];
  s[t] = v;
  if (wait) __syncthreads();
  for (int k = 128; k; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    if (wait) __syncthreads();
  }
  if (t == 0) *out = s[0];
}
int main(int argc, char** argv) {
  const int mode = argc > 1 ? argv[1][0] - '0' : 0, n = 1000;
  float *x, *y, *z, *sum, host[1000], scale_here = 3;
  cudaMallocManaged(&x, n * 4);
  cudaMalloc(&y, n * 4);
  cudaMalloc(&z, n * 4);
  cudaMalloc(&sum, 4);
  for (int i = 0; i < n; ++i) x[i] = i, host[i] = 2 * i;
  cudaMemcpy(y, host, n * 4, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(scale, &scale_here, 4);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  add<<<9, 128, 0, stream>>>(x, y, z, mode == 1 ? n + 4 : n);
  reduce<<<1, 256, 0, stream>>>(z, sum, n, mode != 2);
  const cudaError_t error = cudaDeviceSynchronize();
  float result = 0;
  int pair[2] = {0, 0};
  cudaMemcpy(&result, sum, 4, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(pair, counts, 8);
  std::printf("%s %.0f %d %d %d\n", cudaGetErrorName(error), result, total, pair[0], pair[1]);
  return 0;
}
)";

TEST(EmulatedProgram, RunsAndReportsWhatIsWrong) {
  if (!can_emulate_programs()) GTEST_SKIP() << "no nvcc or no emulated runtime";
  const auto program = build_emulated(kProgram);
  ASSERT_TRUE(program);
  Command run;
  run.argv = {program->path};
  const auto right = run_process(run);
  ASSERT_TRUE(right);
  EXPECT_EQ(right->out, "cudaSuccess 3496500 1000 500 500\n") << right->err;
  run.argv = {program->path, "1"};
  const auto outside = run_process(run);
  ASSERT_TRUE(outside);
  EXPECT_EQ(outside->out.substr(0, 23), "cudaErrorIllegalAddress");
  EXPECT_NE(outside->err.find("out-of-bounds"), std::string::npos) << outside->err;

  // The exit code tells findings from a clean run.
  EmulatedRun emulated;
  emulated.check_races = true;
  emulated.command = {program->path, "0"};
  EXPECT_EQ(run_emulated(emulated).value(), 0);
  emulated.command = {program->path, "2"};
  EXPECT_EQ(run_emulated(emulated).value(), 1);
  emulated.command = {"/bin/true"};
  EXPECT_FALSE(run_emulated(emulated));
}

}  // namespace
}  // namespace kw::toolchain
