// Activations in fp32. Both hold their relative accuracy far below zero, where the plain forms subtract equal numbers
// or overflow: exp(-x) = inf gives x / inf = -0.
#pragma once

namespace kw {

// x * sigmoid(x).
__device__ inline float silu(float x) { return x / (1.0f + __expf(-x)); }

// x / 2 * (1 + tanh(u)) with u = sqrt(2 / pi) * (x + 0.044715 x^3), which is x * sigmoid(2 u).
__device__ inline float gelu_tanh(float x) {
  const float twice = x * fmaf(0.07135481627159846f * x, x, 1.5957691216057308f);
  return x / (1.0f + __expf(-twice));
}

}  // namespace kw
