// y = gelu(gate) * up, the tanh form of GELU, bf16.
#include <kernelwright/activation.cuh>
#include <kernelwright/candidate.h>
#include <kernelwright/map.cuh>

namespace {

struct Geglu {
  __device__ float operator()(float gate, float up) const { return kw::gelu_tanh(gate) * up; }
};

}  // namespace

KW_ENTRY(kw::In gate, kw::In up, kw::Out y, cudaStream_t stream) {
  kw::map(Geglu(), y.size(), stream, y.data<__nv_bfloat16>(), gate.data<__nv_bfloat16>(), up.data<__nv_bfloat16>());
}
