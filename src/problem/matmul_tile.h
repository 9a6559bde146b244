// The innermost part of matrix products and convolutions: a tile of kRows x kWidth sums in registers, fed from packed
// panels. Each sum adds its products in ascending k, so neither panels nor threads show. Internal to problem.
#pragma once

#include <cmath>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#define KW_MATMUL_AVX2 1
#endif

namespace kw::problem {

inline constexpr std::int64_t kRows = 4;     // of the tile
inline constexpr std::int64_t kDepth = 256;  // of a panel

template <typename T>
inline constexpr std::int64_t kWidth = 64 / sizeof(T);  // columns of the tile: two AVX registers, one of AVX-512

// tile[kRows][kWidth] += a (packed by k, kRows each) * b (packed by k, kWidth each). No fused multiply-add:
// the result is the same with AVX2, with AVX-512 and without.
template <typename T>
[[gnu::always_inline]] inline void multiply_tile(const T* a, const T* b, std::int64_t depth, T* tile) {
  constexpr std::int64_t width = kWidth<T>;
  T sums[kRows][width];
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t c = 0; c < width; ++c) sums[r][c] = tile[r * width + c];
  for (std::int64_t k = 0; k < depth; ++k, a += kRows, b += width)
    for (std::int64_t r = 0; r < kRows; ++r)
      for (std::int64_t c = 0; c < width; ++c) sums[r][c] += a[r] * b[c];
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t c = 0; c < width; ++c) tile[r * width + c] = sums[r][c];
}

template <typename T>
void tile_plain(const T* a, const T* b, std::int64_t depth, T* tile) {
  multiply_tile(a, b, depth, tile);
}

#ifdef KW_MATMUL_AVX2
template <typename T>
[[gnu::target("avx2")]] void tile_avx2(const T* a, const T* b, std::int64_t depth, T* tile) {
  constexpr int lanes = 32 / sizeof(T);
  typedef T Vector __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
  constexpr std::int64_t width = kWidth<T>;
  Vector sums[kRows][2];
  for (std::int64_t r = 0; r < kRows; ++r)
    for (int v = 0; v < 2; ++v) sums[r][v] = *reinterpret_cast<const Vector*>(tile + r * width + v * lanes);
  for (std::int64_t k = 0; k < depth; ++k, a += kRows, b += width) {
    const Vector b0 = *reinterpret_cast<const Vector*>(b), b1 = *reinterpret_cast<const Vector*>(b + lanes);
    for (std::int64_t r = 0; r < kRows; ++r) {
      sums[r][0] += a[r] * b0;
      sums[r][1] += a[r] * b1;
    }
  }
  for (std::int64_t r = 0; r < kRows; ++r)
    for (int v = 0; v < 2; ++v) *reinterpret_cast<Vector*>(tile + r * width + v * lanes) = sums[r][v];
}

// A row of the tile is one register.
template <typename T>
[[gnu::target("avx512f")]] void tile_avx512(const T* a, const T* b, std::int64_t depth, T* tile) {
  constexpr std::int64_t width = kWidth<T>;
  typedef T Vector __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
  Vector sums[kRows];
  for (std::int64_t r = 0; r < kRows; ++r) sums[r] = *reinterpret_cast<const Vector*>(tile + r * width);
  for (std::int64_t k = 0; k < depth; ++k, a += kRows, b += width) {
    const Vector row = *reinterpret_cast<const Vector*>(b);
    for (std::int64_t r = 0; r < kRows; ++r) sums[r] += a[r] * row;
  }
  for (std::int64_t r = 0; r < kRows; ++r) *reinterpret_cast<Vector*>(tile + r * width) = sums[r];
}
#endif

template <typename T>
using Tile = void (*)(const T*, const T*, std::int64_t, T*);

template <typename T>
Tile<T> choose_tile() {
#ifdef KW_MATMUL_AVX2
  if (__builtin_cpu_supports("avx512f")) return tile_avx512<T>;
  if (__builtin_cpu_supports("avx2")) return tile_avx2<T>;
#endif
  return tile_plain<T>;
}

template <typename T>
T element(double value, bool absolute) {
  return static_cast<T>(absolute ? std::abs(value) : value);
}

}  // namespace kw::problem
