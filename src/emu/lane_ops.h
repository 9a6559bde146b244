// From a function of one lane to the handlers of a warp instruction. Internal to emu.
//
// An ALU instruction is written once, as a captureless lambda over lane values; lane_op<F> gives its
// handlers and the widths of its operands, read off the lambda's signature:
//
//   constexpr auto kAdd = [](uint32_t a, uint32_t b) -> uint32_t { return a + b; };
//   return emit_op(lowering, lane_op<kAdd>, Counters::kInteger);
//
//   parameter or result type   slot
//   uint8_t … uint64_t, float, double   that many bytes per lane
//   bool                       a predicate (one bit per lane)
//   Imm (last parameter only)  not an operand: Insn::imm and Insn::aux
//
// Lambdas must be total: they also run for lanes that are off, whose results are thrown away (the masked
// handler saves and restores them). The loops have a constant trip count of 32 and no loop-carried
// dependence (a destination slot is a source slot only when both name the same register: insn.h), so the
// compiler vectorises them; keep lambdas branch-free where speed matters: `&`, `|` and `?:` on values.
//
// Every operation also has a chained handler, which goes on to the next instruction by itself (chain.h).
// Where the compiler's vectorisation of a lane function is poor, vector_op<F, V> gives it a body of eight lanes,
// V, used where the host has AVX2; V must give the same bits as F.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "emu/warp.h"

namespace kw::emu {

struct Imm { uint64_t imm; uint32_t aux; };

template <typename T>
inline T* slot(Warp& warp, uint32_t offset) {
  return static_cast<T*>(__builtin_assume_aligned(warp.bank + offset, 32));
}

// One bit per lane from a word per lane that is 0 or all ones: eight lanes at a time, and all of them.
[[gnu::always_inline]] inline Mask pack_eight(const uint32_t* words) {
#if defined(__AVX2__)
  const __m256i eight = _mm256_load_si256(reinterpret_cast<const __m256i*>(words));
  return static_cast<Mask>(static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(eight))));
#else
  Mask mask = 0;
  for (int i = 0; i < 8; ++i) mask |= (words[i] & 1u) << i;
  return mask;
#endif
}
[[gnu::always_inline]] inline Mask pack_mask(const uint32_t* words) {
  Mask mask = 0;
  for (int i = 0; i < kLanes; i += 8) mask |= pack_eight(words + i) << i;
  return mask;
}

#if defined(__AVX2__)
// All ones in each of the lanes 8·group … 8·group+7 whose bit is set.
[[gnu::always_inline]] inline __m256i spread_mask(Mask mask, int group) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i all = _mm256_set1_epi32(static_cast<int>(mask >> (8 * group)));
  return _mm256_cmpeq_epi32(_mm256_and_si256(all, bit), bit);
}
#endif

// Keeps `value` where the lane executes.
template <typename T>
inline void store_lanes(T* destination, const T* value, Mask exec) {
  for (int i = 0; i < kLanes; ++i) destination[i] = (exec >> i) & 1u ? value[i] : destination[i];
}
inline void store_lanes(Mask& destination, Mask value, Mask exec) {
  destination = (destination & ~exec) | (value & exec);
}

template <typename T>
struct LaneSource {
  const T* lanes;
  LaneSource(Warp& warp, uint32_t offset) : lanes(slot<const T>(warp, offset)) {}
  T operator()(int i) const { return lanes[i]; }
};
template <>
struct LaneSource<bool> {
  alignas(32) uint32_t words[kLanes];   // so that loops over lanes vectorise
  LaneSource(Warp& warp, uint32_t offset) {
    const Mask mask = warp.pred(offset);
    for (int i = 0; i < kLanes; ++i) words[i] = (mask >> i) & 1u;
  }
  bool operator()(int i) const { return words[i] != 0; }
};

// What lowering needs to know about an operation on lanes. Widths in bytes; 0 = predicate.
struct LaneOp {
  Handler full = nullptr, masked = nullptr, chained = nullptr;
  uint8_t result = 0, sources = 0;
  uint8_t source[3] = {};
};

namespace lane_detail {

template <typename T>
constexpr uint8_t kWidth = std::is_same_v<T, bool> ? 0 : static_cast<uint8_t>(sizeof(T));

template <auto F, typename R, bool kTakesImm, typename... A>
struct Loop {
  template <typename... S>
  [[gnu::always_inline]] static inline R one(int i, const Imm& imm, const S&... s) {
    if constexpr (kTakesImm) return F(s(i)..., imm);
    else return F(s(i)...);
  }
  template <typename... S>
  [[gnu::always_inline]] static inline void lanes(Warp& warp, const Insn& insn, const S&... s) {
    const Imm imm{insn.imm, insn.aux};
    if constexpr (std::is_same_v<R, bool>) {
      Mask mask = 0;
#pragma GCC unroll 4
      for (int i = 0; i < kLanes; i += 8) {
        alignas(32) uint32_t words[8];
        for (int j = 0; j < 8; ++j) words[j] = one(i + j, imm, s...) ? ~0u : 0u;
        mask |= pack_eight(words) << i;
      }
      warp.pred(insn.op[0]) = mask;
    } else {
      R* d = slot<R>(warp, insn.op[0]);
#pragma GCC ivdep
      for (int i = 0; i < kLanes; ++i) d[i] = one(i, imm, s...);
    }
  }
  template <size_t... I>
  [[gnu::always_inline]] static inline void call(Warp& warp, const Insn& insn, std::index_sequence<I...>) {
    lanes(warp, insn, LaneSource<A>(warp, insn.op[I + 1])...);
  }
  static void full(Warp& warp, const Insn& insn) { call(warp, insn, std::make_index_sequence<sizeof...(A)>{}); }
  static void chained(Warp& warp, const Insn& insn) {
    call(warp, insn, std::make_index_sequence<sizeof...(A)>{});
    return go_on(warp, insn);
  }
  static void masked(Warp& warp, const Insn& insn) {
    if constexpr (std::is_same_v<R, bool>) {
      const Mask old = warp.pred(insn.op[0]);
      full(warp, insn);
      warp.pred(insn.op[0]) = (warp.pred(insn.op[0]) & warp.exec) | (old & ~warp.exec);
    } else {
      alignas(64) R old[kLanes];
      R* d = slot<R>(warp, insn.op[0]);
      std::memcpy(old, d, sizeof old);
      full(warp, insn);
      store_lanes(d, old, ~warp.exec);
    }
  }
  static constexpr LaneOp make() {
    static_assert(sizeof...(A) <= 3);
    LaneOp op;
    op.full = &full;
    op.masked = &masked;
    op.chained = &chained;
    op.result = kWidth<R>;
    op.sources = sizeof...(A);
    int n = 0;
    ((op.source[n++] = kWidth<A>), ...);
    return op;
  }
};

template <auto F, typename Member>
struct OfSignature;
template <auto F, typename C, typename R>
struct OfSignature<F, R (C::*)() const> : Loop<F, R, false> {};
template <auto F, typename C, typename R, typename A>
struct OfSignature<F, R (C::*)(A) const> : Loop<F, R, false, A> {};
template <auto F, typename C, typename R, typename A>
struct OfSignature<F, R (C::*)(A, Imm) const> : Loop<F, R, true, A> {};
template <auto F, typename C, typename R, typename A, typename B>
struct OfSignature<F, R (C::*)(A, B) const> : Loop<F, R, false, A, B> {};
template <auto F, typename C, typename R, typename A, typename B>
  requires(!std::is_same_v<B, Imm>)
struct OfSignature<F, R (C::*)(A, B, Imm) const> : Loop<F, R, true, A, B> {};
template <auto F, typename C, typename R, typename A, typename B, typename D>
  requires(!std::is_same_v<D, Imm>)
struct OfSignature<F, R (C::*)(A, B, D) const> : Loop<F, R, false, A, B, D> {};
template <auto F, typename C, typename R, typename A, typename B, typename D>
struct OfSignature<F, R (C::*)(A, B, D, Imm) const> : Loop<F, R, true, A, B, D> {};

}  // namespace lane_detail

template <auto F>
inline constexpr LaneOp lane_op = lane_detail::OfSignature<F, decltype(&decltype(F)::operator())>::make();

#if defined(__AVX2__)
namespace lane_detail {

[[gnu::always_inline]] inline __m256i as_words(__m256i v) { return v; }
[[gnu::always_inline]] inline __m256i as_words(__m256 v) { return _mm256_castps_si256(v); }

// V takes and gives eight lanes of four bytes (__m256 or __m256i), and Imm last when it wants it; bool sources come
// as masks of all ones.
template <auto V, bool kTakesImm, typename... A>
struct EightLanes {
  // Where a source lies: read from the instruction once, before anything is stored.
  template <typename T>
  struct Source {
    const T* lanes;
    Source(Warp& warp, uint32_t offset) : lanes(slot<const T>(warp, offset)) {}
    auto operator()(int group) const {
      if constexpr (std::is_same_v<T, float>) return _mm256_load_ps(lanes + 8 * group);
      else return _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes + 8 * group));
    }
  };
  template <std::same_as<bool> T>
  struct Source<T> {
    Mask mask;
    Source(Warp& warp, uint32_t offset) : mask(warp.pred(offset)) {}
    __m256i operator()(int group) const { return spread_mask(mask, group); }
  };
  // put(group, value) for the four groups.
  template <typename Put, typename... S>
  [[gnu::always_inline]] static inline void groups(const Imm& imm, Put put, const S&... s) {
#pragma GCC unroll 4
    for (int g = 0; g < 4; ++g) {
      if constexpr (kTakesImm) put(g, as_words(V(s(g)..., imm)));
      else put(g, as_words(V(s(g)...)));
    }
  }
  template <typename Put, size_t... I>
  [[gnu::always_inline]] static inline void each(Warp& warp, const Insn& insn, Put put, std::index_sequence<I...>) {
    groups(Imm{insn.imm, insn.aux}, put, Source<A>(warp, insn.op[I + 1])...);
  }
  [[gnu::always_inline]] static inline void all(Warp& warp, const Insn& insn) {
    auto* const d = reinterpret_cast<__m256i*>(slot<uint32_t>(warp, insn.op[0]));
    each(warp, insn, [d](int g, __m256i value) { _mm256_store_si256(d + g, value); }, std::make_index_sequence<sizeof...(A)>{});
  }
  static void full(Warp& warp, const Insn& insn) { all(warp, insn); }
  static void chained(Warp& warp, const Insn& insn) {
    all(warp, insn);
    return go_on(warp, insn);
  }
  static void masked(Warp& warp, const Insn& insn) {
    auto* const d = reinterpret_cast<__m256i*>(slot<uint32_t>(warp, insn.op[0]));
    const Mask exec = warp.exec;
    each(warp, insn, [d, exec](int g, __m256i value) {
      _mm256_store_si256(d + g, _mm256_blendv_epi8(_mm256_load_si256(d + g), value, spread_mask(exec, g)));
    }, std::make_index_sequence<sizeof...(A)>{});
  }
};

template <auto V, typename Member>
struct EightOfSignature;
template <auto V, typename C, typename R, typename... A>
struct EightOfSignature<V, R (C::*)(A...) const> : EightLanes<V, false, A...> {};
template <auto V, typename C, typename R, typename A>
struct EightOfSignature<V, R (C::*)(A, Imm) const> : EightLanes<V, true, A> {};
template <auto V, typename C, typename R, typename A, typename B>
struct EightOfSignature<V, R (C::*)(A, B, Imm) const> : EightLanes<V, true, A, B> {};
template <auto V, typename C, typename R, typename A, typename B, typename D>
struct EightOfSignature<V, R (C::*)(A, B, D, Imm) const> : EightLanes<V, true, A, B, D> {};

template <auto F, auto V>
constexpr LaneOp make_vector_op() {
  using Body = EightOfSignature<V, decltype(&decltype(F)::operator())>;
  LaneOp op = lane_op<F>;
  op.full = &Body::full;
  op.masked = &Body::masked;
  op.chained = &Body::chained;
  return op;
}

}  // namespace lane_detail

template <auto F, auto V>
inline constexpr LaneOp vector_op = lane_detail::make_vector_op<F, V>();
#endif

}  // namespace kw::emu
