// Sweeps of operands: every value where the type has 16 bits or fewer, and the values where conversions and
// functions change their mind where it has more. The order is part of the contract: hashes of results depend on it.
//
//   b8      every 16-bit pattern, twice side by side in 32 bits: each byte with each neighbour
//   b16     every 16-bit pattern
//   b16x2   every 16-bit pattern in the lower half, and each once in the upper
//   i32 i64 for each pair of bits: their sum and difference, thrice the lower one, each and its neighbours, each negated
//   f32     every sign and exponent with a significand that begins or ends in a run of ones, has one bit or two
//           adjacent ones, or is next to such a one: every tie of every narrower format, even and odd, every overflow
//   f64     the same for the exponents at which a narrower type or an integer begins or ends; fewer significands
//           for all others
//   f32<R   the values of f32 of magnitude at most R, and 65,536 evenly spaced ones from -R to R
//   f32+    the values of f32, and 65,536 well-mixed patterns
//   T:a*b T:a/b T:a*b+c
//           65,536 pairs a, b of type T of which the operation's result, c being the least normal number, is next to
//           the least normal number: where it shows what counts as a denormal to be flushed
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kw::golden {

// Operands in the low bits, those of one execution side by side in the sweeps of pairs. Empty for a name that is no sweep.
std::vector<uint64_t> sweep(std::string_view name);

}  // namespace kw::golden
