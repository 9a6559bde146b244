//  A thread per output of a convolution: every input is loaded nine times and more, its index taken apart anew.
// problem: problems/conv2d.problem
// expects: tensor_cores
// not: bank_conflicts spills atomics launch_overhead few_blocks double_precision precision barriers async_copy shallow_pipeline
#include <kernelwright/candidate.h>
#include <cuda_fp16.h>

__global__ void conv(const __half* x, const __half* w, __half* y, int channels, int outputs, int height, int width, int r, int step, int padding,
                     int high, int wide) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y, o = blockIdx.z % outputs, image = blockIdx.z / outputs;
  if (column >= wide) return;
  float sum = 0;
  for (int c = 0; c < channels; ++c) {
    for (int i = 0; i < r; ++i) {
      for (int j = 0; j < r; ++j) {
        const int from_row = row * step + i - padding, from_column = column * step + j - padding;
        if (from_row < 0 || from_row >= height || from_column < 0 || from_column >= width) continue;
        sum += __half2float(x[((static_cast<int64_t>(image) * channels + c) * height + from_row) * width + from_column]) *
               __half2float(w[((static_cast<int64_t>(o) * channels + c) * r + i) * r + j]);
      }
    }
  }
  y[((static_cast<int64_t>(image) * outputs + o) * high + row) * wide + column] = __float2half(sum);
}

KW_ENTRY(kw::In x, kw::In w, kw::Out y, int R, int S, int P, cudaStream_t stream) {
  const int high = y.shape(2), wide = y.shape(3);
  conv<<<dim3((wide + 63) / 64, high, y.shape(0) * y.shape(1)), 64, 0, stream>>>(x.data<__half>(), w.data<__half>(), y.data<__half>(), x.shape(1), y.shape(1),
                                                                             x.shape(2), x.shape(3), R, S, P, high, wide);
}
