// Selective scan: h = exp(dt a) h + dt b x for each state of a channel, y = Σ c h + skip x; bf16 in and out, fp32 inside.
// A warp a channel, its lanes along the steps: each lane runs over four of them, the warp joins what its lanes found by
// shuffles, and lane s carries the state s on to the next 128.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

namespace {

constexpr int kThreads = 128, kWarps = kThreads / 32, kEach = 4;
constexpr unsigned kAll = 0xffffffffu;
using bf16 = __nv_bfloat16;

// kEach elements from `at`, V an access; 0 beyond the end. The number of steps is a multiple of V.
template <int V, typename T>
__device__ void load(const T* row, int at, int steps, float (&out)[kEach]) {
#pragma unroll
  for (int i = 0; i < kEach; i += V) {
    kw::Pack<T, V> pack = {};
    if (at + i < steps) pack = *reinterpret_cast<const kw::Pack<T, V>*>(row + at + i);
#pragma unroll
    for (int e = 0; e < V; ++e) out[i + e] = kw::to_float(pack.at[e]);
  }
}

template <int V>
__global__ void __launch_bounds__(kThreads)
    ssm_scan(const bf16* __restrict__ x, const float* __restrict__ dt, const float* __restrict__ a, const bf16* __restrict__ b,
             const bf16* __restrict__ c, const float* __restrict__ skip, bf16* __restrict__ y, int channels, int states,
             int steps) {
  const int channel = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (channel >= channels) return;
  const size_t row = (static_cast<size_t>(blockIdx.y) * channels + channel) * steps;
  const size_t group = static_cast<size_t>(blockIdx.y) * states * steps;
  const float through = skip[channel];
  float carried = 0.0f;  // of state `lane`
  for (int first = 0; first < steps; first += 32 * kEach) {
    const int at = first + lane * kEach;
    float step[kEach], in[kEach], out[kEach];
    load<V>(dt + row, at, steps, step);  // a step of 0 leaves the state as it is
    load<V>(x + row, at, steps, in);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      out[i] = through * in[i];
      in[i] *= step[i];
    }
    for (int s = 0; s < states; ++s) {
      const float rate = a[static_cast<size_t>(channel) * states + s];
      float from[kEach], to[kEach], factor[kEach], state[kEach];
      load<V>(b + group + static_cast<size_t>(s) * steps, at, steps, from);
      load<V>(c + group + static_cast<size_t>(s) * steps, at, steps, to);
      float decay = 1.0f, h = 0.0f;
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const float e = __expf(step[i] * rate);
        decay *= e;
        h = fmaf(e, h, in[i] * from[i]);
        factor[i] = decay;
        state[i] = h;
      }
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {
        const float decay_before = __shfl_up_sync(kAll, decay, distance), h_before = __shfl_up_sync(kAll, h, distance);
        if (lane >= distance) {
          h = fmaf(decay, h_before, h);
          decay *= decay_before;
        }
      }
      const float before = __shfl_sync(kAll, carried, s);
      float start = fmaf(__shfl_up_sync(kAll, decay, 1), before, __shfl_up_sync(kAll, h, 1));
      if (lane == 0) start = before;
#pragma unroll
      for (int i = 0; i < kEach; ++i) out[i] = fmaf(to[i], fmaf(factor[i], start, state[i]), out[i]);
      const float end = __shfl_sync(kAll, fmaf(decay, before, h), 31);
      if (lane == s) carried = end;
    }
#pragma unroll
    for (int i = 0; i < kEach; i += V) {
      if (at + i >= steps) break;
      kw::Pack<bf16, V> pack;
#pragma unroll
      for (int e = 0; e < V; ++e) pack.at[e] = kw::from_float<bf16>(out[i + e]);
      *reinterpret_cast<kw::Pack<bf16, V>*>(y + row + at + i) = pack;
    }
  }
}

}  // namespace

KW_ENTRY(kw::In x, kw::In dt, kw::In a, kw::In b, kw::In c, kw::In skip, kw::Out y, cudaStream_t stream) {
  const int channels = static_cast<int>(x.shape(1)), states = static_cast<int>(a.shape(1)), steps = static_cast<int>(x.shape(2));
  const dim3 grid((channels + kWarps - 1) / kWarps, static_cast<unsigned>(x.shape(0)));
  auto* kernel = steps % kEach == 0 ? &ssm_scan<kEach> : &ssm_scan<1>;
  kernel<<<grid, kThreads, 0, stream>>>(x.data<bf16>(), dt.data<float>(), a.data<float>(), b.data<bf16>(), c.data<bf16>(),
                                        skip.data<float>(), y.data<bf16>(), channels, states, steps);
}
