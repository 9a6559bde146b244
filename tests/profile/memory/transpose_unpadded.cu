//  A tile in shared memory whose rows are 32 words: reading a column hits one bank 32 times.
// problem: problems/transpose.problem
// expects: bank_conflicts
// followed: bank_conflicts followed/transpose_padded
// not: uncoalesced spills atomics launch_overhead few_blocks double_precision shared_tiling tensor_cores divergence
#include <kernelwright/candidate.h>

__global__ void transpose(const float* x, float* y, int m, int n) {
  __shared__ float tile[32][32];
  const int64_t row = blockIdx.y * 32, column = blockIdx.x * 32;
  for (int i = threadIdx.y; i < 32; i += 8) {
    if (row + i < m && column + threadIdx.x < n) tile[i][threadIdx.x] = x[(row + i) * n + column + threadIdx.x];
  }
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8) {
    if (column + i < n && row + threadIdx.x < m) y[(column + i) * m + row + threadIdx.x] = tile[threadIdx.x][i];
  }
}

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  const int m = x.shape(0), n = x.shape(1);
  transpose<<<dim3((n + 31) / 32, (m + 31) / 32), dim3(32, 8), 0, stream>>>(x.data<float>(), y.data<float>(), m, n);
}
