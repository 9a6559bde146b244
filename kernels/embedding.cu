// y = rows of a table, bf16: a block a token, 16 bytes an access, one element where rows are no multiple of eight.
#include <kernelwright/candidate.h>

namespace {

constexpr int kThreads = 128;

template <typename Word>
__global__ void __launch_bounds__(kThreads) embedding(const Word* __restrict__ table, const int64_t* __restrict__ token,
                                                      Word* __restrict__ y, int words) {
  const Word* row = table + token[blockIdx.x] * words;
  Word* out = y + static_cast<size_t>(blockIdx.x) * words;
#pragma unroll 4
  for (int i = threadIdx.x; i < words; i += kThreads) out[i] = row[i];
}

}  // namespace

KW_ENTRY(kw::In table, kw::In token, kw::Out y, cudaStream_t stream) {
  const auto tokens = static_cast<unsigned>(token.size());
  const int width = static_cast<int>(table.shape(1));
  if (width % 8 == 0) {
    embedding<<<tokens, kThreads, 0, stream>>>(table.data<uint4>(), token.data<int64_t>(), y.data<uint4>(), width / 8);
  } else {
    embedding<<<tokens, kThreads, 0, stream>>>(table.data<uint16_t>(), token.data<int64_t>(), y.data<uint16_t>(), width);
  }
}
