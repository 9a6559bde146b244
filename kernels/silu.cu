// y = x * sigmoid(x), bf16.
#include <kernelwright/activation.cuh>
#include <kernelwright/candidate.h>
#include <kernelwright/map.cuh>

namespace {

struct Silu {
  __device__ float operator()(float x) const { return kw::silu(x); }
};

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) {
  kw::map(Silu(), y.size(), stream, y.data<__nv_bfloat16>(), x.data<__nv_bfloat16>());
}
