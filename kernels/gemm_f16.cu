// C = A·B, fp16 in and out, fp32 accumulation, row-major, for sm_80 and later.
//
// One block of eight warps computes a 128×256 tile of C; a warp computes 64×64 of it, so that each fragment read
// from shared memory is used four times. Tiles of A (128×32) and B (32×256) pass through four stages of shared
// memory by asynchronous copies; the fragments of the next 16 of k are read while those at hand are multiplied.
// Chunks of 16 bytes are permuted within a row so that the eight rows of an ldmatrix touch all banks once.
// Shapes whose rows are not 16-byte aligned take the same path with element-wise copies.
#include <kernelwright/candidate.h>
#include <kernelwright/mma.cuh>

namespace {

constexpr int kM = 128, kN = 256, kK = 32;
constexpr int kStages = 4;
constexpr int kThreads = 256;
constexpr int kStageHalves = kM * kK + kK * kN;
constexpr int kSharedBytes = kStages * kStageHalves * 2;

// A rows hold 4 chunks (64 bytes), two rows to a line of banks; B rows hold 32 chunks.
__device__ int a_offset(int row, int chunk) { return row * kK + ((chunk ^ ((row / 2) % 4)) * 8); }
__device__ int b_offset(int row, int chunk) { return row * kN + ((chunk ^ (row % 8)) * 8); }

// Eight halves from `source` (`left` of them exist) to shared memory, the rest zero.
template <bool kAligned>
__device__ void copy_chunk(__half* shared, const __half* source, int left) {
  if constexpr (kAligned) {
    kw::cp_async_16(shared, source, left > 0);
  } else {
    __align__(16) __half chunk[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) chunk[i] = i < left ? source[i] : __ushort_as_half(0);
    *reinterpret_cast<uint4*>(shared) = *reinterpret_cast<const uint4*>(chunk);
  }
}

template <bool kAligned>
__device__ void load_stage(__half* stage, const __half* a, const __half* b, int m0, int n0, int k0, int m, int n, int k) {
#pragma unroll
  for (int i = 0; i < kM * kK / 8 / kThreads; ++i) {
    const int index = i * kThreads + threadIdx.x, row = index / (kK / 8), chunk = index % (kK / 8);
    const bool inside = m0 + row < m && k0 + chunk * 8 < k;
    copy_chunk<kAligned>(stage + a_offset(row, chunk),
                         inside ? a + static_cast<size_t>(m0 + row) * k + k0 + chunk * 8 : a, inside ? k - k0 - chunk * 8 : 0);
  }
  __half* b_stage = stage + kM * kK;
#pragma unroll
  for (int i = 0; i < kK * kN / 8 / kThreads; ++i) {
    const int index = i * kThreads + threadIdx.x, row = index / (kN / 8), chunk = index % (kN / 8);
    const bool inside = k0 + row < k && n0 + chunk * 8 < n;
    copy_chunk<kAligned>(b_stage + b_offset(row, chunk),
                         inside ? b + static_cast<size_t>(k0 + row) * n + n0 + chunk * 8 : b, inside ? n - n0 - chunk * 8 : 0);
  }
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads) gemm_f16_sm80(const __half* __restrict__ a, const __half* __restrict__ b,
                                                          __half* __restrict__ c, int m, int n, int k) {
  extern __shared__ __align__(128) __half stages[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int m0 = blockIdx.y * kM, n0 = blockIdx.x * kN;
  const int warp_m = (warp / 4) * 64, warp_n = (warp % 4) * 64;
  const int steps = (k + kK - 1) / kK;

#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < steps) load_stage<kAligned>(stages + s * kStageHalves, a, b, m0, n0, s * kK, m, n, k);
    kw::cp_async_commit();
  }

  float acc[4][8][4] = {};
  uint32_t fa[2][4][4], fb[2][4][4];  // two sets: one in use, one arriving
  auto load_fragments = [&](int set, const __half* stage, int kk) {
    __half* a_stage = const_cast<__half*>(stage);
    __half* b_stage = a_stage + kM * kK;
#pragma unroll
    for (int i = 0; i < 4; ++i) kw::ldmatrix_x4(fa[set][i], a_stage + a_offset(warp_m + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      kw::ldmatrix_x4_trans(fb[set][i], b_stage + b_offset(kk * 16 + lane % 16, warp_n / 8 + i * 2 + lane / 16));
    }
  };

  kw::cp_async_wait<kStages - 2>();
  __syncthreads();
  load_fragments(0, stages, 0);
  for (int step = 0; step < steps; ++step) {
    // Everyone is done with the stage before this one: it is loaded next.
    const int ahead = step + kStages - 1;
    if (ahead < steps) load_stage<kAligned>(stages + (ahead % kStages) * kStageHalves, a, b, m0, n0, ahead * kK, m, n, k);
    kw::cp_async_commit();

#pragma unroll
    for (int kk = 0; kk < kK / 16; ++kk) {
      if (kk + 1 < kK / 16) {
        load_fragments((kk + 1) % 2, stages + (step % kStages) * kStageHalves, kk + 1);
      } else {
        kw::cp_async_wait<kStages - 2>();
        __syncthreads();  // the next stage has arrived for everyone
        if (step + 1 < steps) load_fragments(0, stages + ((step + 1) % kStages) * kStageHalves, 0);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) kw::mma_16x8x16(acc[i][j], fa[kk % 2][i], fb[kk % 2][j / 2][(j % 2) * 2], fb[kk % 2][j / 2][(j % 2) * 2 + 1]);
      }
    }
  }

  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = m0 + warp_m + i * 16 + g + half * 8;
      if (row >= m) continue;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const int column = n0 + warp_n + j * 8 + t * 2;
        __half* out = c + static_cast<size_t>(row) * n + column;
        const float x = acc[i][j][half * 2], y = acc[i][j][half * 2 + 1];
        if (kAligned && column < n) {
          *reinterpret_cast<uint32_t*>(out) = kw::pack_half2(x, y);
        } else {
          if (column < n) out[0] = __float2half_rn(x);
          if (column + 1 < n) out[1] = __float2half_rn(y);
        }
      }
    }
  }
}

}  // namespace

KW_ENTRY(kw::In a, kw::In b, kw::Out c, cudaStream_t stream) {
  const int m = static_cast<int>(a.shape(0)), k = static_cast<int>(a.shape(1)), n = static_cast<int>(b.shape(1));
  const bool aligned = k % 8 == 0 && n % 8 == 0;
  auto* kernel = aligned ? &gemm_f16_sm80<true> : &gemm_f16_sm80<false>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  const dim3 grid((n + kN - 1) / kN, (m + kM - 1) / kM);
  kernel<<<grid, kThreads, kSharedBytes, stream>>>(a.data<__half>(), b.data<__half>(), c.data<__half>(), m, n, k);
}
