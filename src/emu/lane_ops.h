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
#pragma once

#include <bit>
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

// One bit per lane from a word per lane that is 0 or all ones.
inline Mask pack_mask(const uint32_t* words) {
#if defined(__AVX2__)
  Mask mask = 0;
  for (int i = 0; i < kLanes; i += 8) {
    const __m256i eight = _mm256_load_si256(reinterpret_cast<const __m256i*>(words + i));
    mask |= static_cast<Mask>(static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(eight)))) << i;
  }
  return mask;
#else
  Mask mask = 0;
  for (int i = 0; i < kLanes; ++i) mask |= (words[i] & 1u) << i;
  return mask;
#endif
}

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
  Mask mask;
  LaneSource(Warp& warp, uint32_t offset) : mask(warp.pred(offset)) {}
  bool operator()(int i) const { return ((mask >> i) & 1u) != 0; }
};

// What lowering needs to know about an operation on lanes. Widths in bytes; 0 = predicate.
struct LaneOp {
  Handler full = nullptr, masked = nullptr;
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
  [[gnu::always_inline]] static inline void lanes(Warp& warp, const Insn& insn, S... s) {
    const Imm imm{insn.imm, insn.aux};
    if constexpr (std::is_same_v<R, bool>) {
      alignas(32) uint32_t words[kLanes];
      for (int i = 0; i < kLanes; ++i) words[i] = one(i, imm, s...) ? ~0u : 0u;
      warp.pred(insn.op[0]) = pack_mask(words);
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

}  // namespace kw::emu
