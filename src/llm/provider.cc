#include "llm/provider.h"

#include <algorithm>
#include <thread>

namespace kw::llm {
namespace {

constexpr double kLookSeconds = 0.05;  // how often a cancellation is looked for

}  // namespace

Clock::time_point after(Clock::time_point start, double seconds) {
  return start +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e8)));
}

Patience Patience::within(double seconds) const {
  return {std::min(deadline, after(Clock::now(), seconds)), cancel};
}

bool wait_for(double seconds, const Patience& patience) {
  const Clock::time_point start = Clock::now();
  while (true) {
    const double left = seconds - std::chrono::duration<double>(Clock::now() - start).count();
    if (left <= 0) return true;
    if (patience.over()) return false;
    std::this_thread::sleep_for(std::chrono::duration<double>(
        std::min({left, kLookSeconds, std::max(patience.seconds_left(), 0.0)})));
  }
}

}  // namespace kw::llm
