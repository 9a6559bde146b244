// The least of the positions that threads have seen: which of many errors is the one to report. Internal to problem.
#pragma once

#include <atomic>
#include <cstdint>

namespace kw::problem {

class First {
 public:
  void see(std::int64_t at) {
    std::int64_t known = at_.load();
    while (at < known && !at_.compare_exchange_weak(known, at)) {
    }
  }
  std::int64_t at() const { return at_.load(); }
  bool none() const { return at() == kNone; }

 private:
  static constexpr std::int64_t kNone = std::int64_t{1} << 62;
  std::atomic<std::int64_t> at_{kNone};
};

}  // namespace kw::problem
