// Random numbers that are a function of (seed, stream, index) and nothing else: the same on every platform,
// whatever the order of the calls or the number of threads. Philox 4x32 with ten rounds: J. Salmon et al.,
// "Parallel Random Numbers: As Easy as 1, 2, 3", SC11. Values; at() may be called concurrently.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace kw {

// The 128 random bits of counter block `counter` under `key`.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

class Rng {
 public:
  explicit Rng(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  // A generator that has nothing in common with this one, for the use called `purpose`.
  Rng fork(std::string_view purpose) const;

  // Random access: the index-th 64 bits, of this stream; does not move the position.
  uint64_t at(uint64_t index) const;

  // In sequence.
  uint64_t next() { return at(position_++); }
  uint64_t below(uint64_t bound);  // uniform in [0, bound); 0 when bound is 0
  double uniform() { return to_unit(next()); }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double normal();  // mean 0, variance 1; accurate to about 1e-9, from rational arithmetic, sqrt and log of our own

  // 64 random bits to [0, 1) with 53 bits of resolution.
  static double to_unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }
  // The standard normal quantile of a value in (0, 1); the value is clamped away from 0 and 1.
  static double to_normal(double unit);

 private:
  uint64_t seed_;
  uint64_t stream_;
  uint64_t position_ = 0;
};

}  // namespace kw
