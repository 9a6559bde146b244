// y = xᵀ, elements of 2 or 4 bytes: tiles of 32×32 through shared memory, rows padded by one word so that both
// directions touch every bank once; reads and writes are whole lines.
#include <kernelwright/candidate.h>

namespace {

constexpr int kTile = 32, kRowsAtOnce = 8;

template <typename T>
__global__ void __launch_bounds__(kTile* kRowsAtOnce) transpose(const T* __restrict__ x, T* __restrict__ y, int rows, int columns) {
  __shared__ T tile[kTile][kTile + 4 / sizeof(T)];
  const int column = blockIdx.x * kTile + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kTile; i += kRowsAtOnce) {
    const int row = blockIdx.y * kTile + i + threadIdx.y;
    if (row < rows && column < columns) tile[i + threadIdx.y][threadIdx.x] = x[static_cast<size_t>(row) * columns + column];
  }
  __syncthreads();
  const int out_column = blockIdx.y * kTile + threadIdx.x;  // a row of x
#pragma unroll
  for (int i = 0; i < kTile; i += kRowsAtOnce) {
    const int out_row = blockIdx.x * kTile + i + threadIdx.y;
    if (out_row < columns && out_column < rows) {
      y[static_cast<size_t>(out_row) * rows + out_column] = tile[threadIdx.x][i + threadIdx.y];
    }
  }
}

template <typename T>
void launch(const void* x, void* y, int rows, int columns, cudaStream_t stream) {
  const dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  transpose<T><<<grid, dim3(kTile, kRowsAtOnce), 0, stream>>>(static_cast<const T*>(x), static_cast<T*>(y), rows, columns);
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  const int rows = static_cast<int>(x.shape(0)), columns = static_cast<int>(x.shape(1));
  if (kw::bits_of(x.dtype()) == 16) {
    launch<uint16_t>(x.data<void>(), y.data<void>(), rows, columns, stream);
  } else {
    launch<uint32_t>(x.data<void>(), y.data<void>(), rows, columns, stream);
  }
}
