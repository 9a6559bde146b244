#include "codesearch/synonyms.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "codesearch/terms.h"

namespace kw::codesearch {
namespace {

constexpr std::array<std::string_view, 50> kGroups = {
    // Movement.
    "async copy | asynchronous copies | cp.async | memcpy_async",
    "tma | tensor map | bulk copy | cp.async.bulk",
    "shared memory | smem | shared",
    "global memory | gmem | dram | hbm",
    "register file | registers | rmem",
    "pipeline | stages | double buffer | multistage | prefetch",
    "swizzle | bank conflict | padded rows | permuted",
    "vectorized | 128 bit | 16 bytes | float4 | uint4 | pack",
    "coalesced | contiguous | neighbouring",
    "transpose | transposed | permute",
    "gather | lookup | indirect",
    "scatter | atomicAdd",
    // Work together.
    "warp shuffle | shfl | shuffles",
    "reduce | reduction | sum over",
    "mbarrier | arrive wait | transaction barrier",
    "cluster | distributed shared memory | dsmem",
    "warp specialization | producer consumer",
    "split k | stream k | workspace",
    "race | data race | synchronization",
    "occupancy | launch_bounds | register pressure",
    "persistent kernel | tile scheduler",
    // Products.
    "tensor core | mma | wmma | wgmma | ldmatrix | tcgen05",
    "ldmatrix | ldsm",
    "wgmma | gmma",
    "tcgen05 | umma",
    "gemm | matmul | matrix product | matrix multiply | matrix multiplication",
    "epilogue | accumulators store",
    "convolution | conv | im2col | implicit gemm",
    "gemv | matrix vector",
    "grouped gemm | group gemm | experts",
    "skinny | small batch | decode",
    // Types.
    "bf16 | bfloat16",
    "fp16 | half | f16",
    "fp32 | float | f32 | single precision",
    "fp8 | e4m3 | e5m2",
    "fp4 | nvfp4 | e2m1",
    "quantize | quantization | scale",
    // Layers.
    "softmax | row max exp sum | logsumexp | exponentials",
    "norm | normalization | mean variance | rsqrt",
    "layer norm | layernorm",
    "rms norm | rmsnorm | root mean square",
    "attention | flash attention | sdpa | scores values",
    "kv cache | paged | pages",
    "rope | rotary embedding | rotary",
    "mixture of experts | moe | routing",
    "swish | silu",
    "prefix sum | scan | cumsum | running sums",
    "argmax | max index | largest place",
    "top k | topk | k largest",
    "welford | variance merge | moments",
};

std::vector<std::vector<Phrase>> make() {
  std::vector<std::vector<Phrase>> groups;
  for (const std::string_view text : kGroups) {
    std::vector<Phrase>& group = groups.emplace_back();
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(" | ", at), text.size());
      Phrase& phrase = group.emplace_back();
      const std::string_view words = text.substr(at, end - at);
      for (size_t inside = 0;;) {
        const std::string_view word = next_word(words, inside, true);
        if (word.empty()) break;
        for (std::string& part : parts_of(word)) phrase.push_back(std::move(part));
      }
      at = end + 3;
    }
  }
  return groups;
}

}  // namespace

const std::vector<std::vector<Phrase>>& synonyms() {
  static const std::vector<std::vector<Phrase>> groups = make();
  return groups;
}

}  // namespace kw::codesearch
