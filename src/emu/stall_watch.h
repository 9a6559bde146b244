// When blocks in flight have stalled. Internal to emu; plain arithmetic on what the caller observes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kw::emu {

inline constexpr uint64_t kQuantum = 4096;   // warp instructions of a turn

// Watches for blocks that run without getting anywhere: no barrier passed, no thread gone, and registers that
// keep returning to states seen before while writes keep finding in memory what they found before.
// The more warps, the more a round costs, and the fewer rounds and instructions are spent on it.
class StallWatch {
 public:
  explicit StallWatch(uint64_t warps)
      : first_patience_(std::max<uint64_t>(2, kPatience / share(warps))), rounds_(std::max<uint64_t>(64, kRounds / share(warps))),
        careful_quantum_(std::max<uint64_t>(64, kQuantum / 8 / share(warps))), patience_(first_patience_) {}
  bool suspicious() const { return quiet_ >= patience_; }
  uint64_t quantum() const { return suspicious() ? careful_quantum_ : kQuantum; }
  // Call after every round. True: nothing will ever change.
  template <typename Hash>
  bool stalled(uint64_t progress, Hash&& hash) {
    if (progress != progress_) {
      progress_ = progress;
      quiet_ = 0;
      patience_ = first_patience_;
      seen_.clear();
      return false;
    }
    if (++quiet_ < patience_) return false;
    const uint64_t value = hash();
    const auto at = std::lower_bound(seen_.begin(), seen_.end(), value);
    if (at == seen_.end() || *at != value) seen_.insert(at, value);
    if (seen_.size() > rounds_ / 5) {   // it computes; look again, but later and later
      patience_ = std::min<uint64_t>(patience_ * 4, uint64_t{1} << 40);
      quiet_ = 0;
      seen_.clear();
      return false;
    }
    return quiet_ >= patience_ + rounds_;
  }

 private:
  static constexpr uint64_t kPatience = 64, kRounds = 512;
  static uint64_t share(uint64_t warps) { return std::max<uint64_t>(1, warps / 64); }
  uint64_t first_patience_, rounds_, careful_quantum_;
  std::vector<uint64_t> seen_;   // sorted
  uint64_t progress_ = ~uint64_t{0};
  uint64_t quiet_ = 0, patience_;
};

}  // namespace kw::emu
