// 128 bits that stand for a block of bytes, the same on the host and on a GPU, so that outputs of many timed calls are compared
// without leaving it. Keyed: whoever does not know the key cannot make two contents of one fingerprint.
//
// With w_i the little-endian 32-bit words (the last one padded with zeros) and arithmetic modulo 2^64:
//   m = (w_i + 1) A + i B + key,  m ^= m >> 32,  m *= C,  m ^= m >> 29;   first  = sum of m over i
//   m *= A,  m ^= m >> 32;                                                second = sum of m over i
// with the odd constants of fingerprint.cc. Sums, so that threads may add up in any order. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <span>

namespace kw::device {

struct Fingerprint {
  uint64_t first = 0, second = 0;
  bool operator==(const Fingerprint&) const = default;
};
Fingerprint fingerprint_of(std::span<const uint8_t> bytes, uint64_t key);

// The kernel kFingerprintKernel(from, bytes, key, sums), each 64 bits: adds to the two words at `sums`. Any one-dimensional grid of
// whole warps; `from` is aligned to 4 bytes.
extern const char kFingerprintPtx[];
inline constexpr char kFingerprintKernel[] = "fingerprint";

}  // namespace kw::device
