// Images from channels last to channels first, elements of 2 bytes: tiles of 32×32 through shared memory, rows padded by
// one word so that both directions touch every bank once; reads and writes are of neighbours.
#include <kernelwright/candidate.h>

namespace {

constexpr int kTile = 32, kRowsAtOnce = 8;

// Image blockIdx.z: a matrix of pixels and channels.
__global__ void __launch_bounds__(kTile* kRowsAtOnce) nhwc_to_nchw(const uint16_t* __restrict__ x, uint16_t* __restrict__ y, int pixels,
                                                                   int channels) {
  __shared__ uint16_t tile[kTile][kTile + 2];
  const size_t image = static_cast<size_t>(blockIdx.z) * pixels * channels;
  const int channel = blockIdx.y * kTile + threadIdx.x;
#pragma unroll
  for (int i = threadIdx.y; i < kTile; i += kRowsAtOnce) {
    const int pixel = blockIdx.x * kTile + i;
    if (pixel < pixels && channel < channels) tile[i][threadIdx.x] = x[image + static_cast<size_t>(pixel) * channels + channel];
  }
  __syncthreads();
  const int pixel = blockIdx.x * kTile + threadIdx.x;
#pragma unroll
  for (int i = threadIdx.y; i < kTile; i += kRowsAtOnce) {
    const int to = blockIdx.y * kTile + i;
    if (to < channels && pixel < pixels) y[image + static_cast<size_t>(to) * pixels + pixel] = tile[threadIdx.x][i];
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  const int pixels = static_cast<int>(x.shape(1) * x.shape(2)), channels = static_cast<int>(x.shape(3));
  const dim3 grid((pixels + kTile - 1) / kTile, (channels + kTile - 1) / kTile, static_cast<unsigned>(x.shape(0)));
  nhwc_to_nchw<<<grid, dim3(kTile, kRowsAtOnce), 0, stream>>>(x.data<uint16_t>(), y.data<uint16_t>(), pixels, channels);
}
