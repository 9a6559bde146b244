// Fast m16n8 products of 8- and 4-bit integers for all 32 lanes.
//
// A 32-bit register splits into "phases": vectors of 16-bit integers, one element from each half of the word.
// Phase p of A meets phase p of B in pairs (_mm256_madd_epi16: the sum of two products, exact in 32 bits);
// the order along k is immaterial to integers. Rows of C are held in the column order 0 2 4 6 1 3 5 7
// (mma_float.cc says why). Sums of products cannot overflow; C is added at the end, wrapping or clamping.
#include "emu/mma_plan.h"

#if defined(__AVX2__)

#include <immintrin.h>

#include <utility>

namespace kw::emu {
namespace {

inline __m256i load32(const uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }

// Element number `phase` of each 16 bits, widened to 16 bits.
template <int kBits, bool kSigned, int kPhase>
[[gnu::always_inline]] inline __m256i widen(__m256i word) {
  constexpr int kAbove = 16 - kBits * (kPhase + 1);
  if constexpr (kSigned) return _mm256_srai_epi16(_mm256_slli_epi16(word, kAbove), 16 - kBits);
  return _mm256_srli_epi16(_mm256_slli_epi16(word, kAbove), 16 - kBits);
}

template <int kBits, bool kSigned>
[[gnu::always_inline]] inline void all_phases(__m256i word, __m256i* out) {
  out[0] = widen<kBits, kSigned, 0>(word);
  out[1] = widen<kBits, kSigned, 1>(word);
  if constexpr (kBits == 4) {
    out[2] = widen<kBits, kSigned, 2>(word);
    out[3] = widen<kBits, kSigned, 3>(word);
  }
}

// The eight lanes of each column side by side: word[t] is lane 4·column + t, columns in the order 0 2 4 6 1 3 5 7.
[[gnu::always_inline]] inline void transpose_register(const uint8_t* reg, __m256i word[4]) {
  const __m256i r0 = load32(reg), r1 = load32(reg + 32), r2 = load32(reg + 64), r3 = load32(reg + 96);
  const __m256i low01 = _mm256_unpacklo_epi32(r0, r1), high01 = _mm256_unpackhi_epi32(r0, r1);
  const __m256i low23 = _mm256_unpacklo_epi32(r2, r3), high23 = _mm256_unpackhi_epi32(r2, r3);
  word[0] = _mm256_unpacklo_epi64(low01, low23);
  word[1] = _mm256_unpackhi_epi64(low01, low23);
  word[2] = _mm256_unpacklo_epi64(high01, high23);
  word[3] = _mm256_unpackhi_epi64(high01, high23);
}

template <bool kSaturate>
[[gnu::always_inline]] inline __m256i add(__m256i x, __m256i y) {
  const __m256i sum = _mm256_add_epi32(x, y);
  if constexpr (!kSaturate) return sum;
  // Overflow: the sum's sign differs from both operands'. Then the limit with the operands' sign.
  const __m256i overflow = _mm256_and_si256(_mm256_xor_si256(x, sum), _mm256_xor_si256(y, sum));
  const __m256i limit = _mm256_xor_si256(_mm256_srai_epi32(x, 31), _mm256_set1_epi32(0x7fffffff));
  return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(sum), _mm256_castsi256_ps(limit),
                                              _mm256_castsi256_ps(overflow)));
}

// One m16n8 product on registers at these offsets of the bank. kSteps: registers of B; A has twice as many.
template <int kBits, bool kSignedA, bool kSignedB, int kSteps, bool kSaturate>
inline void multiply_tile(uint8_t* bank, const uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c) {
  constexpr int kPhases = 16 / kBits;
  alignas(32) int32_t left[2 * kSteps][kPhases][kLanes];
  alignas(32) __m256i right[kSteps][4][kPhases];
  for (int reg = 0; reg < 2 * kSteps; ++reg)
    for (int i = 0; i < kLanes; i += 8) {
      __m256i phases[kPhases];
      all_phases<kBits, kSignedA>(load32(bank + a[reg] + 4 * i), phases);
      for (int p = 0; p < kPhases; ++p) _mm256_store_si256(reinterpret_cast<__m256i*>(left[reg][p] + i), phases[p]);
    }
  for (int reg = 0; reg < kSteps; ++reg) {
    __m256i word[4];
    transpose_register(bank + b[reg], word);
    for (int t = 0; t < 4; ++t) all_phases<kBits, kSignedB>(word[t], right[reg][t]);
  }
  for (int half = 0; half < 2; ++half) {
    __m256i sum[8];
#pragma GCC unroll 8
    for (int row = 0; row < 8; ++row) sum[row] = _mm256_setzero_si256();
    for (int step = 0; step < kSteps; ++step)
      for (int p = 0; p < kPhases; ++p) {
        const int32_t* const rows = left[2 * step + half][p];
#pragma GCC unroll 4
        for (int t = 0; t < 4; ++t) {
          const __m256i line = right[step][t][p];
#pragma GCC unroll 8
          for (int row = 0; row < 8; ++row)
            sum[row] = _mm256_add_epi32(sum[row], _mm256_madd_epi16(_mm256_set1_epi32(rows[4 * row + t]), line));
        }
      }
#pragma GCC unroll 8
    for (int row = 0; row < 8; ++row) {
      const __m128i even = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bank + c[2 * half] + 16 * row));
      const __m128i odd = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bank + c[2 * half + 1] + 16 * row));
      const __m256i result = add<kSaturate>(_mm256_inserti128_si256(_mm256_castsi128_si256(even), odd, 1), sum[row]);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(bank + d[2 * half] + 16 * row), _mm256_castsi256_si128(result));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(bank + d[2 * half + 1] + 16 * row), _mm256_extracti128_si256(result, 1));
    }
  }
}

template <int kBits, bool kSignedA, bool kSignedB, int kSteps, bool kSaturate>
void multiply(Warp& warp, const Insn& insn) {
  const uint32_t* const a = insn.more + 4;
  const uint32_t* const b = a + 2 * kSteps;
  warp.block->counters.tensor_operations += 2ull * 16 * 8 * kSteps * (128 / kBits);
  multiply_tile<kBits, kSignedA, kSignedB, kSteps, kSaturate>(warp.bank, insn.more, a, b, b + kSteps);
}

// wmma of bytes, k16: two tiles (mma_float.cc).
template <bool kSigned, bool kSaturate>
void multiply_wmma(Warp& warp, const Insn& insn) {
  const MmaPlan& plan = plan_of(insn);
  const uint32_t* tall = insn.more + plan.first(Part::kA);
  const uint32_t* wide = insn.more + plan.first(Part::kB);
  const uint32_t* const c = insn.more + plan.first(Part::kC);
  if (plan.form.shape.m == 8) std::swap(tall, wide);
  const int tall_step = plan.form.shape.m == 16 ? 0 : 2, wide_step = plan.form.shape.m == 16 ? 1 : 0;
  warp.block->counters.tensor_operations += plan.operations;
  for (int tile = 0; tile < 2; ++tile)
    multiply_tile<8, kSigned, kSigned, 1, kSaturate>(warp.bank, insn.more + 4 * tile, tall + tile * tall_step,
                                                     wide + tile * wide_step, c + 4 * tile);
}

template <int kBits, bool kSignedA, bool kSignedB>
Handler choose_size(const MmaForm& form) {
  const bool two = form.shape.k * kBits == 256;   // k32 of bytes, k64 of nibbles
  if (form.saturate)
    return two ? Handler{&multiply<kBits, kSignedA, kSignedB, 2, true>}
               : Handler{&multiply<kBits, kSignedA, kSignedB, 1, true>};
  return two ? Handler{&multiply<kBits, kSignedA, kSignedB, 2, false>}
             : Handler{&multiply<kBits, kSignedA, kSignedB, 1, false>};
}

template <int kBits>
Handler choose_signs(const MmaForm& form) {
  const bool a = form.a == Element::kS8 || form.a == Element::kS4;
  const bool b = form.b == Element::kS8 || form.b == Element::kS4;
  if (a) return b ? choose_size<kBits, true, true>(form) : choose_size<kBits, true, false>(form);
  return b ? choose_size<kBits, false, true>(form) : choose_size<kBits, false, false>(form);
}

}  // namespace

Handler fast_integer_mma(const MmaForm& form) {
  if (form.sparse || form.d != Element::kS32 || form.a == Element::kB1) return nullptr;
  if (form.wmma && form.a == form.b && bits_of(form.a) == 8) {
    if (form.a == Element::kS8)
      return form.saturate ? Handler{&multiply_wmma<true, true>} : Handler{&multiply_wmma<true, false>};
    return form.saturate ? Handler{&multiply_wmma<false, true>} : Handler{&multiply_wmma<false, false>};
  }
  if (form.wmma || form.shape.m != 16) return nullptr;
  return bits_of(form.a) == 8 ? choose_signs<8>(form) : choose_signs<4>(form);
}

}  // namespace kw::emu

#else

namespace kw::emu {
Handler fast_integer_mma(const MmaForm&) { return nullptr; }
}  // namespace kw::emu

#endif
