// y = x - log(sum(exp(x))) over the last axis, bf16 to fp32: a block a row, read twice: for its running maximum and sum
// (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018), then to write.
#include <kernelwright/candidate.h>
#include <kernelwright/row.cuh>
#include <kernelwright/softmax.cuh>

namespace {

using T = __nv_bfloat16;

template <int kThreads>
__global__ void __launch_bounds__(kThreads) log_softmax(const T* __restrict__ x, float* __restrict__ y, int n) {
  x += static_cast<size_t>(blockIdx.x) * n;
  y += static_cast<size_t>(blockIdx.x) * n;
  const kw::ExpSum all = kw::row_exp_sum<T, 8, kThreads>(x, n);
  const float log_sum = all.log_sum();
  const kw::Row<float, 4> row(y, n);  // where stores of 16 bytes may start, so may loads of 8
  const int single = row.single(threadIdx.x);
  if (single >= 0) y[single] = kw::to_float(x[single]) - all.top - log_sum;
  for (int p = threadIdx.x; p < row.packs; p += kThreads) {
    const auto in = reinterpret_cast<const kw::Pack<T, 4>*>(x + row.head)[p];
    kw::Pack<float, 4> pack;
#pragma unroll
    for (int e = 0; e < 4; ++e) pack.at[e] = kw::to_float(in.at[e]) - all.top - log_sum;
    reinterpret_cast<kw::Pack<float, 4>*>(y + row.head)[p] = pack;
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(x.shape(0));
  const int n = static_cast<int>(x.shape(1));
  if (n <= 2048) {
    log_softmax<128><<<rows, 128, 0, stream>>>(x.data<T>(), y.data<float>(), n);
  } else {
    log_softmax<1024><<<rows, 1024, 0, stream>>>(x.data<T>(), y.data<float>(), n);
  }
}
