// One step of AdamW: fp32 parameters and moments, bf16 gradients; a thread four neighbours, the last one to three elements by
// threads of their own. The corrections of the moments are computed once, on the host.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

#include <cmath>

namespace {

constexpr int kThreads = 256;

struct Step {
  float rate, beta1, rest1, beta2, rest2, eps, decay, correction1, correction2;  // rest = 1 - beta, correction = 1 / (1 - beta^t)

  __device__ void apply(float& p, float g, float& m, float& v) const {
    m = fmaf(beta1, m, rest1 * g);
    v = fmaf(beta2, v, rest2 * g * g);
    p -= rate * (decay * p + m * correction1 / (sqrtf(v * correction2) + eps));
  }
};

template <int V>
__device__ void update(const Step& step, int64_t at, const float* p, const __nv_bfloat16* g, const float* m, const float* v,
                       float* new_p, float* new_m, float* new_v) {
  using Pack = kw::Pack<float, V>;
  Pack weight = reinterpret_cast<const Pack*>(p)[at], first = reinterpret_cast<const Pack*>(m)[at];
  Pack second = reinterpret_cast<const Pack*>(v)[at];
  const auto slope = reinterpret_cast<const kw::Pack<__nv_bfloat16, V>*>(g)[at];
#pragma unroll
  for (int e = 0; e < V; ++e) step.apply(weight.at[e], kw::to_float(slope.at[e]), first.at[e], second.at[e]);
  reinterpret_cast<Pack*>(new_p)[at] = weight;
  reinterpret_cast<Pack*>(new_m)[at] = first;
  reinterpret_cast<Pack*>(new_v)[at] = second;
}

__global__ void __launch_bounds__(kThreads) adamw(Step step, int64_t n, const float* __restrict__ p, const __nv_bfloat16* __restrict__ g,
                                                  const float* __restrict__ m, const float* __restrict__ v, float* __restrict__ new_p,
                                                  float* __restrict__ new_m, float* __restrict__ new_v) {
  const int64_t packs = n / 4, i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < packs) {
    update<4>(step, i, p, g, m, v, new_p, new_m, new_v);
  } else if (const int64_t last = 4 * packs + (i - packs); last < n) {
    update<1>(step, last, p, g, m, v, new_p, new_m, new_v);
  }
}

}  // namespace

KW_ENTRY(kw::In p, kw::In g, kw::In m, kw::In v, kw::Out new_p, kw::Out new_m, kw::Out new_v, double rate, double beta1, double beta2,
         double eps, double decay, int step, cudaStream_t stream) {
  const auto single = [](double value) { return static_cast<float>(value); };
  const Step made{single(rate), single(beta1), single(1 - beta1), single(beta2), single(1 - beta2), single(eps), single(decay),
                  single(1 / (1 - std::pow(beta1, step))), single(1 / (1 - std::pow(beta2, step)))};
  const int64_t n = p.size(), work = n / 4 + n % 4;
  adamw<<<static_cast<unsigned>((work + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      made, n, p.data<float>(), g.data<__nv_bfloat16>(), m.data<float>(), v.data<float>(), new_p.data<float>(), new_m.data<float>(),
      new_v.data<float>());
}
