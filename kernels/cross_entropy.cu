// lse = log(sum(exp(x))) of each row and loss = lse - x[label], bf16 to fp32: a block a row, read once.
#include <kernelwright/candidate.h>
#include <kernelwright/softmax.cuh>

namespace {

using T = __nv_bfloat16;

template <int kThreads>
__global__ void __launch_bounds__(kThreads) cross_entropy(const T* __restrict__ x, const int64_t* __restrict__ label,
                                                          float* __restrict__ loss, float* __restrict__ lse, int n) {
  x += static_cast<size_t>(blockIdx.x) * n;
  const kw::ExpSum all = kw::row_exp_sum<T, 8, kThreads>(x, n);
  if (threadIdx.x == 0) {
    lse[blockIdx.x] = all.top + all.log_sum();
    loss[blockIdx.x] = all.top - kw::to_float(x[label[blockIdx.x]]) + all.log_sum();
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::In label, kw::Out loss, kw::Out lse, cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(x.shape(0));
  const int n = static_cast<int>(x.shape(1));
  if (n <= 2048) {
    cross_entropy<128><<<rows, 128, 0, stream>>>(x.data<T>(), label.data<int64_t>(), loss.data<float>(), lse.data<float>(), n);
  } else {
    cross_entropy<1024><<<rows, 1024, 0, stream>>>(x.data<T>(), label.data<int64_t>(), loss.data<float>(), lse.data<float>(), n);
  }
}
