// Fast m16n8 products of floating-point multiplicands for all 32 lanes.
//
// A register of A over the 32 lanes is a row-major tile of 8 rows (lane = 4·row + t); of B, the transpose of such a
// tile (lane = 4·column + t); two f32 registers of C hold the even and the odd columns of 8 rows. So a row of C in
// the order 0 2 4 6 1 3 5 7 is two 16-byte loads, and B is brought into the same order while it is transposed;
// f16 accumulators hold a row in natural order.
// The product keeps 8 rows of C in registers and walks k upwards: 8 independent chains of fused multiply-adds,
// the same chain per element as the generic path, so both give the same bits.
#include "emu/mma_plan.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

#include <immintrin.h>

#include <algorithm>
#include <span>
#include <utility>

namespace kw::emu {
namespace {

enum class Columns : uint8_t { kSplit, kNatural };   // 0 2 4 6 1 3 5 7, or 0 … 7

inline __m128i load16(const uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
inline __m256i load32(const uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }

// A register of B, transposed: word[t] holds, for all eight columns, the 32 bits of lane 4·column + t.
template <Columns kOrder>
[[gnu::always_inline]] inline void transpose_register(const uint8_t* reg, __m256i word[4]) {
  __m256i rows[4];
  for (int i = 0; i < 4; ++i) {
    if constexpr (kOrder == Columns::kSplit) rows[i] = load32(reg + 32 * i);
    else rows[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(load16(reg + 16 * i)), load16(reg + 16 * (i + 4)), 1);
  }
  const __m256i low01 = _mm256_unpacklo_epi32(rows[0], rows[1]), high01 = _mm256_unpackhi_epi32(rows[0], rows[1]);
  const __m256i low23 = _mm256_unpacklo_epi32(rows[2], rows[3]), high23 = _mm256_unpackhi_epi32(rows[2], rows[3]);
  word[0] = _mm256_unpacklo_epi64(low01, low23);
  word[1] = _mm256_unpackhi_epi64(low01, low23);
  word[2] = _mm256_unpacklo_epi64(high01, high23);
  word[3] = _mm256_unpackhi_epi64(high01, high23);
}

// How a multiplicand type turns into floats. kPerRegister elements share a register.
//   row(p, out): one row of a tile, 16 bytes at p → 4·kPerRegister floats
//   words(w, out): the kPerRegister elements of each of eight registers → as many vectors
struct F16 {
  static constexpr int kPerRegister = 2;
  static void row(const uint8_t* from, float* out) { _mm256_store_ps(out, _mm256_cvtph_ps(load16(from))); }
  static void words(__m256i word, __m256* out) {
    const __m256i halves = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,
                                            0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    const __m256i grouped = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(word, halves), 0xd8);
    out[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(grouped));
    out[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(grouped, 1));
  }
};

struct BF16 {
  static constexpr int kPerRegister = 2;
  static void row(const uint8_t* from, float* out) {
    const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(load16(from)), 16);
    _mm256_store_ps(out, _mm256_castsi256_ps(wide));
  }
  static void words(__m256i word, __m256* out) {
    out[0] = _mm256_castsi256_ps(_mm256_slli_epi32(word, 16));
    out[1] = _mm256_castsi256_ps(_mm256_and_si256(word, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
  }
};

struct TF32 {
  static constexpr int kPerRegister = 1;
  static void row(const uint8_t* from, float* out) {
    _mm_store_ps(out, _mm_castsi128_ps(_mm_and_si128(load16(from), _mm_set1_epi32(static_cast<int>(0xffffe000u)))));
  }
  static void words(__m256i word, __m256* out) {
    out[0] = _mm256_castsi256_ps(_mm256_and_si256(word, _mm256_set1_epi32(static_cast<int>(0xffffe000u))));
  }
};

// fp8 goes through f16: an e5m2 byte is the upper half of one; an e4m3 byte becomes one, 2^8 too small, when its
// magnitude moves one place down.
template <bool kE4M3>
struct FP8 {
  static constexpr int kPerRegister = 4;
  // `upper`: the byte in the upper half of each 16 bits.
  static __m256i half(__m256i upper) {
    if constexpr (!kE4M3) return upper;
    const __m256i magnitude = _mm256_and_si256(upper, _mm256_set1_epi16(0x7f00));
    const __m256i nan = _mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(0x7f00));
    const __m256i sign = _mm256_and_si256(upper, _mm256_set1_epi16(static_cast<int16_t>(0x8000)));
    const __m256i bits = _mm256_or_si256(sign, _mm256_srli_epi16(magnitude, 1));
    return _mm256_or_si256(bits, _mm256_and_si256(nan, _mm256_set1_epi16(0x7e00)));
  }
  static __m256 widen(__m128i halves) {
    const __m256 value = _mm256_cvtph_ps(halves);
    return kE4M3 ? _mm256_mul_ps(value, _mm256_set1_ps(256.0f)) : value;
  }
  static void row(const uint8_t* from, float* out) {
    const __m256i halves = half(_mm256_slli_epi16(_mm256_cvtepu8_epi16(load16(from)), 8));
    _mm256_store_ps(out, widen(_mm256_castsi256_si128(halves)));
    _mm256_store_ps(out + 8, widen(_mm256_extracti128_si256(halves, 1)));
  }
  static void words(__m256i word, __m256* out) {
    const __m256i bytes = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
                                           0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i grouped = _mm256_shuffle_epi8(word, bytes), zero = _mm256_setzero_si256();
    const __m256i low = half(_mm256_permute4x64_epi64(_mm256_unpacklo_epi8(zero, grouped), 0xd8));
    const __m256i high = half(_mm256_permute4x64_epi64(_mm256_unpackhi_epi8(zero, grouped), 0xd8));
    out[0] = widen(_mm256_castsi256_si128(low));
    out[1] = widen(_mm256_extracti128_si256(low, 1));
    out[2] = widen(_mm256_castsi256_si128(high));
    out[3] = widen(_mm256_extracti128_si256(high, 1));
  }
};

// Rows 8·half … 8·half+7 of C or D.
template <Columns kOrder>
[[gnu::always_inline]] inline __m256 load_row(const uint8_t* bank, const uint32_t* c, int half, int row) {
  if constexpr (kOrder == Columns::kNatural) return _mm256_cvtph_ps(load16(bank + c[half] + 16 * row));
  const __m128 even = _mm_loadu_ps(reinterpret_cast<const float*>(bank + c[2 * half] + 16 * row));
  const __m128 odd = _mm_loadu_ps(reinterpret_cast<const float*>(bank + c[2 * half + 1] + 16 * row));
  return _mm256_insertf128_ps(_mm256_castps128_ps256(even), odd, 1);
}

template <Columns kOrder>
[[gnu::always_inline]] inline void store_row(uint8_t* bank, const uint32_t* d, int half, int row, __m256 value) {
  const __m256 is_nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
  value = _mm256_blendv_ps(value, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)), is_nan);
  if constexpr (kOrder == Columns::kNatural) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bank + d[half] + 16 * row),
                     _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
  } else {
    _mm_storeu_ps(reinterpret_cast<float*>(bank + d[2 * half] + 16 * row), _mm256_castps256_ps128(value));
    _mm_storeu_ps(reinterpret_cast<float*>(bank + d[2 * half + 1] + 16 * row), _mm256_extractf128_ps(value, 1));
  }
}

// A fragment of A as rows of kK floats, rows 0 … 15.
template <typename A, int kK>
[[gnu::always_inline]] inline void widen_left(const uint8_t* bank, const uint32_t* a, float* left) {
  constexpr int kStep = 4 * A::kPerRegister;       // elements along k in a register of four lanes
  for (int reg = 0; reg < 2 * (kK / kStep); ++reg) {
    float* const out = left + (reg % 2) * 8 * kK + (reg / 2) * kStep;
    const uint8_t* const from = bank + a[reg];
    for (int row = 0; row < 8; ++row) A::row(from + 16 * row, out + row * kK);
  }
}
// A fragment of B as kK rows of eight columns.
template <typename B, int kK, Columns kOrder>
[[gnu::always_inline]] inline void widen_right(const uint8_t* bank, const uint32_t* b, __m256* right) {
  constexpr int kStep = 4 * B::kPerRegister;
  for (int reg = 0; reg < kK / kStep; ++reg) {
    __m256i word[4];
    transpose_register<kOrder>(bank + b[reg], word);
    for (int t = 0; t < 4; ++t) B::words(word[t], right + reg * kStep + t * B::kPerRegister);
  }
}

// One m16n8 product on registers at these offsets of the bank.
template <typename A, typename B, int kK, Columns kOrder>
inline void multiply_tile(uint8_t* bank, const uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c) {
  static_assert(A::kPerRegister == B::kPerRegister);
  alignas(32) float left[16 * kK];
  alignas(32) __m256 right[kK];
  widen_left<A, kK>(bank, a, left);
  widen_right<B, kK, kOrder>(bank, b, right);
  for (int half = 0; half < 2; ++half) {
    const float* const rows = left + half * 8 * kK;
    __m256 sum[8];
#pragma GCC unroll 8
    for (int row = 0; row < 8; ++row) sum[row] = load_row<kOrder>(bank, c, half, row);
#pragma GCC unroll 4
    for (int k = 0; k < kK; ++k) {
      const __m256 line = right[k];
#pragma GCC unroll 8
      for (int row = 0; row < 8; ++row)
        sum[row] = _mm256_fmadd_ps(_mm256_broadcast_ss(rows + row * kK + k), line, sum[row]);
    }
#pragma GCC unroll 8
    for (int row = 0; row < 8; ++row) store_row<kOrder>(bank, d, half, row, sum[row]);
  }
}

template <typename A, typename B, int kK, Columns kOrder>
void multiply(Warp& warp, const Insn& insn) {
  constexpr int kSteps = kK / (4 * A::kPerRegister);
  const uint32_t* const d = insn.more;
  const uint32_t* const a = d + (kOrder == Columns::kSplit ? 4 : 2);
  const uint32_t* const b = a + 2 * kSteps;
  warp.block->counters.tensor_operations += 2ull * 16 * 8 * kK;
  multiply_tile<A, B, kK, kOrder>(warp.bank, d, a, b, b + kSteps);
}

// This product and the next instruction's, which has the same A (fuse_products). A is widened once, and each of its
// elements is loaded once for both: four rows of both results are eight chains again.
template <typename A, typename B, int kK, Columns kOrder>
void multiply_pair(Warp& warp, const Insn& insn) {
  constexpr int kSteps = kK / (4 * A::kPerRegister);
  constexpr int kResults = kOrder == Columns::kSplit ? 4 : 2;
  warp.block->counters.tensor_operations += 4ull * 16 * 8 * kK;
  uint8_t* const bank = warp.bank;
  const uint32_t* const d[2] = {insn.more, (&insn)[1].more};
  const uint32_t* const a = d[0] + kResults;
  const uint32_t* const c[2] = {d[0] + kResults + 3 * kSteps, d[1] + kResults + 3 * kSteps};
  alignas(32) float left[16 * kK];
  alignas(32) __m256 right[2][kK], late[16];
  widen_left<A, kK>(bank, a, left);
  for (int n = 0; n < 2; ++n) widen_right<B, kK, kOrder>(bank, d[n] + kResults + 2 * kSteps, right[n]);
  for (int first = 0; first < 16; first += 4) {
    const float* const rows = left + first * kK;
    const int half = first / 8, in_half = first % 8;
    __m256 sum[2][4];
#pragma GCC unroll 2
    for (int n = 0; n < 2; ++n) {
#pragma GCC unroll 4
      for (int row = 0; row < 4; ++row) sum[n][row] = load_row<kOrder>(bank, c[n], half, in_half + row);
    }
#pragma GCC unroll 4
    for (int k = 0; k < kK; ++k) {
      const __m256 line0 = right[0][k], line1 = right[1][k];
#pragma GCC unroll 4
      for (int row = 0; row < 4; ++row) {
        const __m256 element = _mm256_broadcast_ss(rows + row * kK + k);
        sum[0][row] = _mm256_fmadd_ps(element, line0, sum[0][row]);
        sum[1][row] = _mm256_fmadd_ps(element, line1, sum[1][row]);
      }
    }
#pragma GCC unroll 4
    for (int row = 0; row < 4; ++row) {
      store_row<kOrder>(bank, d[0], half, in_half + row, sum[0][row]);
      late[first + row] = sum[1][row];
    }
  }
  // The second's results often lie where the first's C was, which died with it.
  for (int row = 0; row < 16; ++row) store_row<kOrder>(bank, d[1], row / 8, row % 8, late[row]);
}

// The second of a pair: done.
void multiplied_already(Warp&, const Insn&) {}

struct Pairing {
  Handler one, both;
  uint32_t results, left, right;   // registers of D and C, A, B
};
constexpr Pairing kPairings[] = {
    {&multiply<F16, F16, 16, Columns::kSplit>, &multiply_pair<F16, F16, 16, Columns::kSplit>, 4, 4, 2},
    {&multiply<F16, F16, 16, Columns::kNatural>, &multiply_pair<F16, F16, 16, Columns::kNatural>, 2, 4, 2},
    {&multiply<BF16, BF16, 16, Columns::kSplit>, &multiply_pair<BF16, BF16, 16, Columns::kSplit>, 4, 4, 2},
    {&multiply<TF32, TF32, 8, Columns::kSplit>, &multiply_pair<TF32, TF32, 8, Columns::kSplit>, 4, 4, 2},
};

bool apart(std::span<const uint32_t> x, std::span<const uint32_t> y) {
  for (uint32_t i : x)
    for (uint32_t j : y)
      if (i == j) return false;
  return true;
}

// Whether the first's results may be written, place by place, before the second's C is read, and the second's last.
bool can_pair(const Pairing& p, const Insn& first, const Insn& second) {
  if (first.guard != kNone || second.guard != kNone || first.full != p.one || second.full != p.one) return false;
  const auto part = [](const Insn& insn, uint32_t at, uint32_t count) { return std::span(insn.more + at, count); };
  const uint32_t b = p.results + p.left, c = b + p.right;
  const auto d1 = part(first, 0, p.results), d2 = part(second, 0, p.results);
  const auto a1 = part(first, p.results, p.left), a2 = part(second, p.results, p.left);
  const auto c2 = part(second, c, p.results);
  return std::ranges::equal(a1, a2) && apart(d1, d2) && apart(d1, a2) && apart(d1, part(second, b, p.right)) &&
         apart(d1, c2);
}

// wmma: two tiles, whose fragments are those of mma (wmma_shapes.cc). m16n16 shares A between them, m32n8 shares B,
// m8n32 is m32n8 transposed: its B is the A of the tiles.
template <typename T, int kK, Columns kOrder>
void multiply_wmma(Warp& warp, const Insn& insn) {
  constexpr int kSteps = kK / (4 * T::kPerRegister);
  constexpr int kResults = kOrder == Columns::kSplit ? 4 : 2;
  const MmaPlan& plan = plan_of(insn);
  const uint32_t* const d = insn.more;
  const uint32_t* tall = insn.more + plan.first(Part::kA);
  const uint32_t* wide = insn.more + plan.first(Part::kB);
  const uint32_t* const c = insn.more + plan.first(Part::kC);
  if (plan.form.shape.m == 8) std::swap(tall, wide);
  const int tall_step = plan.form.shape.m == 16 ? 0 : 2 * kSteps, wide_step = plan.form.shape.m == 16 ? kSteps : 0;
  warp.block->counters.tensor_operations += plan.operations;
  for (int tile = 0; tile < 2; ++tile)
    multiply_tile<T, T, kK, kOrder>(warp.bank, d + tile * kResults, tall + tile * tall_step, wide + tile * wide_step,
                                    c + tile * kResults);
}

template <typename A, typename B, int kK>
Handler choose_order(const MmaForm& form) {
  return form.d == Element::kF32 ? Handler{&multiply<A, B, kK, Columns::kSplit>}
                                 : Handler{&multiply<A, B, kK, Columns::kNatural>};
}

template <int kK>
Handler choose_fp8(const MmaForm& form) {
  using E4M3 = FP8<true>;
  using E5M2 = FP8<false>;
  if (form.a == Element::kE4M3)
    return form.b == Element::kE4M3 ? choose_order<E4M3, E4M3, kK>(form) : choose_order<E4M3, E5M2, kK>(form);
  return form.b == Element::kE4M3 ? choose_order<E5M2, E4M3, kK>(form) : choose_order<E5M2, E5M2, kK>(form);
}

}  // namespace

void fuse_products(Code& code) {
  for (const BasicBlock& bb : code.blocks) {
    for (uint32_t i = bb.begin; i + 1 < bb.end; ++i) {
      Insn& first = code.insns[i];
      Insn& second = code.insns[i + 1];
      for (const Pairing& p : kPairings) {
        if (!can_pair(p, first, second)) continue;
        first.full = p.both;
        second.full = &multiplied_already;
        ++i;
        break;
      }
    }
  }
}

Handler fast_float_mma(const MmaForm& form) {
  if (form.sparse || form.saturate || form.c != form.d) return nullptr;
  const unsigned k = form.shape.k;
  if (form.wmma) {
    switch (form.a) {
      case Element::kF16:
        return form.d == Element::kF32 ? Handler{&multiply_wmma<F16, 16, Columns::kSplit>}
                                       : Handler{&multiply_wmma<F16, 16, Columns::kNatural>};
      case Element::kBF16: return &multiply_wmma<BF16, 16, Columns::kSplit>;
      case Element::kTF32: return &multiply_wmma<TF32, 8, Columns::kSplit>;
      default: return nullptr;
    }
  }
  if (form.shape.m != 16) return nullptr;
  switch (form.a) {
    case Element::kF16: return k == 16 ? choose_order<F16, F16, 16>(form) : choose_order<F16, F16, 8>(form);
    case Element::kBF16:
      return k == 16 ? Handler{&multiply<BF16, BF16, 16, Columns::kSplit>}
                     : Handler{&multiply<BF16, BF16, 8, Columns::kSplit>};
    case Element::kTF32:
      return k == 8 ? Handler{&multiply<TF32, TF32, 8, Columns::kSplit>}
                    : Handler{&multiply<TF32, TF32, 4, Columns::kSplit>};
    case Element::kE4M3:
    case Element::kE5M2: return k == 32 ? choose_fp8<32>(form) : choose_fp8<16>(form);
    default: return nullptr;
  }
}

}  // namespace kw::emu

#else

namespace kw::emu {
Handler fast_float_mma(const MmaForm&) { return nullptr; }
void fuse_products(Code&) {}
}  // namespace kw::emu

#endif
