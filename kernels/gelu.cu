// y = x / 2 * (1 + erf(x / sqrt(2))), fp16.
#include <kernelwright/candidate.h>
#include <kernelwright/map.cuh>

namespace {

struct Gelu {
  __device__ float operator()(float x) const { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
};

}  // namespace

KW_ENTRY(kw::In x, kw::Out y, cudaStream_t stream) { kw::map(Gelu(), y.size(), stream, y.data<__half>(), x.data<__half>()); }
