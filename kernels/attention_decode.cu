// Attention of one query a sequence over a contiguous cache, G query heads to a key head, fp16 in and out, head dimension
// 128 (kernelwright/attention_decode.cuh).
#include <kernelwright/attention_decode.cuh>
#include <kernelwright/candidate.h>

namespace {

constexpr int kD = 128;
constexpr float kScaleLog2 = 0.08838834764831845f * 1.4426950408889634f;  // 1/√128, for exp2

template <int kGroup>
using Decode = kw::DecodeAttention<__half, kD, kGroup>;
using Part = kw::DecodePart<kD>;

// kGroup query heads of each block; x: part of the keys, y: batch and key head, z: which kGroup of its queries.
template <int kGroup>
__global__ void __launch_bounds__(Decode<kGroup>::kThreads)
    attend_part(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v, Part* __restrict__ parts,
                int keys, int group) {
  const size_t key_head = static_cast<size_t>(blockIdx.y) * keys * kD;
  const size_t query = static_cast<size_t>(blockIdx.y) * group + blockIdx.z * kGroup;
  const int begin = blockIdx.x * Decode<kGroup>::kPart, end = min(keys, begin + Decode<kGroup>::kPart);
  Decode<kGroup>::attend(q + query * kD, k + key_head, v + key_head, begin, end, kScaleLog2, [](int key) { return key; },
                         parts + query * gridDim.x + blockIdx.x, gridDim.x);
}

__global__ void __launch_bounds__(kD) merge(const Part* __restrict__ parts, __half* __restrict__ o, int count) {
  const size_t query = blockIdx.x;
  Decode<1>::merge_parts(parts + query * count, count, o + query * kD);
}

template <int kGroup>
void launch(const __half* q, const __half* k, const __half* v, Part* parts, int key_heads, int keys, int group, cudaStream_t stream) {
  const dim3 grid((keys + Decode<kGroup>::kPart - 1) / Decode<kGroup>::kPart, key_heads, group / kGroup);
  attend_part<kGroup><<<grid, Decode<kGroup>::kThreads, 0, stream>>>(q, k, v, parts, keys, group);
}

}  // namespace

KW_ENTRY(kw::In q, kw::In k, kw::In v, kw::Out o, cudaStream_t stream) {
  const int key_heads = static_cast<int>(k.shape(0) * k.shape(1)), keys = static_cast<int>(k.shape(2));
  const int queries = static_cast<int>(q.shape(0) * q.shape(1)), group = queries / key_heads;
  const int count = (keys + Decode<1>::kPart - 1) / Decode<1>::kPart;
  Part* parts = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&parts), sizeof(Part) * queries * count, stream);
  auto* start = group % 4 == 0 ? &launch<4> : group % 2 == 0 ? &launch<2> : &launch<1>;
  start(q.data<__half>(), k.data<__half>(), v.data<__half>(), parts, key_heads, keys, group, stream);
  merge<<<queries, kD, 0, stream>>>(parts, o.data<__half>(), count);
  cudaFreeAsync(parts, stream);
}
