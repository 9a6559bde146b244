// Attention of one query a sequence over a cache that lies in pages of 16 tokens, G query heads to a key head, fp16 in and
// out, head dimension 128 (kernelwright/attention_decode.cuh).
#include <kernelwright/attention_decode.cuh>
#include <kernelwright/candidate.h>

namespace {

constexpr int kD = 128, kPage = 16;
constexpr float kScaleLog2 = 0.08838834764831845f * 1.4426950408889634f;  // 1/√128, for exp2

template <int kGroup>
using Decode = kw::DecodeAttention<__half, kD, kGroup>;
using Part = kw::DecodePart<kD>;

// x: part of the keys, y: key head, z: sequence and which kGroup of the head's queries. A page holds kPage rows for
// each key head; row i of a head lies heads · kD elements after row i - 1.
template <int kGroup>
__global__ void __launch_bounds__(Decode<kGroup>::kThreads)
    attend_part(const __half* __restrict__ q, const __half* __restrict__ k_pages, const __half* __restrict__ v_pages,
                const int32_t* __restrict__ table, const int32_t* __restrict__ lengths, Part* __restrict__ parts, int heads,
                int group, int pages) {
  const int head = blockIdx.y, slots = group / kGroup, sequence = blockIdx.z / slots;
  const int query = (sequence * heads + head) * group + blockIdx.z % slots * kGroup;
  const int length = min(lengths[sequence], pages * kPage);
  const int begin = min(length, static_cast<int>(blockIdx.x) * Decode<kGroup>::kPart), end = min(length, begin + Decode<kGroup>::kPart);
  const int32_t* own = table + static_cast<size_t>(sequence) * pages;
  const auto place = [&](int key) { return (static_cast<int64_t>(own[key / kPage]) * kPage + key % kPage) * heads + head; };
  Decode<kGroup>::attend(q + static_cast<size_t>(query) * kD, k_pages, v_pages, begin, end, kScaleLog2, place,
                         parts + static_cast<size_t>(query) * gridDim.x + blockIdx.x, gridDim.x);
}

__global__ void __launch_bounds__(kD) merge(const Part* __restrict__ parts, __half* __restrict__ o, int count) {
  const size_t query = blockIdx.x;
  Decode<1>::merge_parts(parts + query * count, count, o + query * kD);
}

template <int kGroup>
void launch(const __half* q, const __half* k, const __half* v, const int32_t* table, const int32_t* lengths, Part* parts,
            int sequences, int heads, int group, int pages, int count, cudaStream_t stream) {
  const dim3 grid(count, heads, sequences * (group / kGroup));
  attend_part<kGroup><<<grid, Decode<kGroup>::kThreads, 0, stream>>>(q, k, v, table, lengths, parts, heads, group, pages);
}

}  // namespace

KW_ENTRY(kw::In q, kw::In k_pages, kw::In v_pages, kw::In table, kw::In lengths, kw::Out o, cudaStream_t stream) {
  const int sequences = static_cast<int>(q.shape(0)), queries = static_cast<int>(q.shape(1));
  const int heads = static_cast<int>(k_pages.shape(2)), group = queries / heads, pages = static_cast<int>(table.shape(1));
  const int count = (pages * kPage + Decode<1>::kPart - 1) / Decode<1>::kPart;
  Part* parts = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&parts), sizeof(Part) * sequences * queries * count, stream);
  auto* start = group % 4 == 0 ? &launch<4> : group % 2 == 0 ? &launch<2> : &launch<1>;
  start(q.data<__half>(), k_pages.data<__half>(), v_pages.data<__half>(), table.data<int32_t>(), lengths.data<int32_t>(), parts,
        sequences, heads, group, pages, count, stream);
  merge<<<sequences * queries, kD, 0, stream>>>(parts, o.data<__half>(), count);
  cudaFreeAsync(parts, stream);
}
