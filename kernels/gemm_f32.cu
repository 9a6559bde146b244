// C = A·B in fp32 on the ordinary cores, row-major, for sm_80 and later.
//
// A block of 256 threads computes 128×128 of C, a thread 8×8 of it as four 4×4 quarters, so that a warp reads 16 bytes a
// lane from shared memory without bank conflicts. Slices of eight of k alternate between two stages: B arrives by
// asynchronous copies; A passes through registers, because it is needed transposed.
#include <kernelwright/async_copy.cuh>
#include <kernelwright/candidate.h>

namespace {

constexpr int kM = 128, kN = 128, kK = 8;
constexpr int kThreads = 256;
constexpr int kStride = kM + 4;  // of the transposed slice of A: the 16 rows and two chunks of a warp's stores touch all banks

struct Stage {
  float a[kK][kStride];
  float b[kK][kN];
};

// The chunk of A of this thread: four elements of one row.
__device__ float4 read_a(const float* a, int m0, int k0, int m, int k) {
  const int row = m0 + threadIdx.x / 2, column = k0 + threadIdx.x % 2 * 4;
  if (row >= m || column >= k) return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  return *reinterpret_cast<const float4*>(a + static_cast<size_t>(row) * k + column);
}

__device__ void write_a(Stage& stage, float4 chunk) {
  const int row = threadIdx.x / 2, column = threadIdx.x % 2 * 4;
  stage.a[column][row] = chunk.x;
  stage.a[column + 1][row] = chunk.y;
  stage.a[column + 2][row] = chunk.z;
  stage.a[column + 3][row] = chunk.w;
}

__device__ void copy_b(Stage& stage, const float* b, int k0, int n0, int k, int n) {
  const int row = threadIdx.x / 32, column = threadIdx.x % 32 * 4;
  const bool inside = k0 + row < k && n0 + column < n;
  kw::cp_async_16(&stage.b[row][column], inside ? b + static_cast<size_t>(k0 + row) * n + n0 + column : b, inside);
}

__device__ void read_4(float* to, const float* from) {
  const float4 x = *reinterpret_cast<const float4*>(from);
  to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
}

__global__ void __launch_bounds__(kThreads, 2)
    gemm_f32(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  __shared__ __align__(16) Stage stages[2];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int m0 = blockIdx.y * kM, n0 = blockIdx.x * kN;
  // A warp computes 32×64; of its lanes, four lie along m and eight along n.
  const int first_row = warp / 2 * 32 + lane / 8 * 4, first_column = warp % 2 * 64 + lane % 8 * 4;

  copy_b(stages[0], b, 0, n0, k, n);
  kw::cp_async_commit();
  write_a(stages[0], read_a(a, m0, 0, m, k));

  float acc[8][8] = {};
  const int steps = (k + kK - 1) / kK;
  for (int step = 0; step < steps; ++step) {
    const Stage& here = stages[step % 2];
    Stage& next = stages[(step + 1) % 2];
    kw::cp_async_wait<0>();
    __syncthreads();  // this stage has arrived for everyone, and everyone is done with the other one
    const bool more = step + 1 < steps;
    float4 ahead;
    if (more) {
      copy_b(next, b, (step + 1) * kK, n0, k, n);
      kw::cp_async_commit();
      ahead = read_a(a, m0, (step + 1) * kK, m, k);
    }
#pragma unroll
    for (int kk = 0; kk < kK; ++kk) {
      float x[8], y[8];
      read_4(x, &here.a[kk][first_row]);
      read_4(x + 4, &here.a[kk][first_row + 16]);
      read_4(y, &here.b[kk][first_column]);
      read_4(y + 4, &here.b[kk][first_column + 32]);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(x[i], y[j], acc[i][j]);
      }
    }
    if (more) write_a(next, ahead);
  }

#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = m0 + first_row + i / 4 * 16 + i % 4;
    if (row >= m) continue;
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
      const int column = n0 + first_column + j * 8;
      if (column < n) {
        *reinterpret_cast<float4*>(c + static_cast<size_t>(row) * n + column) =
            make_float4(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]);
      }
    }
  }
}

}  // namespace

KW_ENTRY(kw::In a, kw::In b, kw::Out c, cudaStream_t stream) {
  const int m = static_cast<int>(a.shape(0)), k = static_cast<int>(a.shape(1)), n = static_cast<int>(b.shape(1));
  const dim3 grid((n + kN - 1) / kN, (m + kM - 1) / kM);
  gemm_f32<<<grid, kThreads, 0, stream>>>(a.data<float>(), b.data<float>(), c.data<float>(), m, n, k);
}
