// Arithmetic of one lane on integers of every width: what wraps, and what a whole product is. Internal to emu; used by
// the integer instructions, carry chains and bit fields.
#pragma once

#include <cstdint>
#include <type_traits>

namespace kw::emu {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

// Arithmetic that wraps: done unsigned, at 32 bits at least (16-bit operands would promote to int).
template <typename T>
using Wide = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
template <typename T>
constexpr T wrap(Wide<T> value) { return static_cast<T>(value); }

// The type that holds a whole product.
template <typename T> struct Product;
template <> struct Product<int16_t> { using type = int32_t; };
template <> struct Product<uint16_t> { using type = uint32_t; };
template <> struct Product<int32_t> { using type = int64_t; };
template <> struct Product<uint32_t> { using type = uint64_t; };
template <> struct Product<int64_t> { using type = Int128; };
template <> struct Product<uint64_t> { using type = Uint128; };
template <typename T>
constexpr typename Product<T>::type product(T a, T b) {
  using P = typename Product<T>::type;
  return static_cast<P>(static_cast<P>(a) * static_cast<P>(b));
}
template <typename T>
constexpr T high(T a, T b) { return static_cast<T>(product(a, b) >> (8 * sizeof(T))); }

}  // namespace kw::emu
