#include "llm/budget.h"

#include <algorithm>
#include <limits>

namespace kw::llm {
namespace {

uint64_t sum(const Usage& usage) {
  const uint64_t both = usage.input_tokens + usage.output_tokens;
  return both < usage.input_tokens ? std::numeric_limits<uint64_t>::max() : both;
}

tl::unexpected<Failure> spent_out(const std::string& what) {
  return fail(FailureKind::kBudgetSpent, "the budget does not allow another call: " + what,
              "allow more, or ask for fewer output tokens");
}

std::string of(const std::string& spent, const std::string& most, const std::string& left,
               std::string_view unit) {
  return fmt::format("{} of {} {} ({} left)", spent, most, unit, left);
}

}  // namespace

Answer<Budget::Reservation> Budget::reserve(const Usage& most, const std::optional<Prices>& prices,
                                            bool first) {
  const std::lock_guard lock(mutex_);
  const Reservation wanted{most, prices ? prices->cost(most) : 0};
  if (terms_.calls && first && spent_.calls >= *terms_.calls)
    return spent_out(fmt::format("all {} calls were made", *terms_.calls));
  const double wall = std::chrono::duration<double>(Clock::now() - start_).count();
  if (terms_.wall_seconds && wall >= *terms_.wall_seconds)
    return spent_out(fmt::format("all {:g} s of wall time are over", *terms_.wall_seconds));
  if (terms_.tokens) {
    const uint64_t gone = sum(spent_.usage) + sum(reserved_);
    const uint64_t left = *terms_.tokens - std::min(gone, *terms_.tokens);
    if (sum(most) > left)
      return spent_out(
          fmt::format("it may need {} tokens, and {} of {} are left", sum(most), left, *terms_.tokens));
  }
  if (terms_.money) {
    const double left = std::max(*terms_.money - spent_.money - reserved_money_, 0.0);
    if (wanted.money > left)
      return spent_out(
          fmt::format("it may cost {:.4f}, and {:.4f} of {:g} are left", wanted.money, left, *terms_.money));
  }
  if (first) ++spent_.calls;
  reserved_.input_tokens += most.input_tokens;
  reserved_.output_tokens += most.output_tokens;
  reserved_money_ += wanted.money;
  return wanted;
}

void Budget::settle(const Reservation& reservation, const Usage& used, const std::optional<Prices>& prices) {
  const std::lock_guard lock(mutex_);
  reserved_.input_tokens -= reservation.usage.input_tokens;
  reserved_.output_tokens -= reservation.usage.output_tokens;
  reserved_money_ -= reservation.money;
  spent_.usage.input_tokens += used.input_tokens;
  spent_.usage.output_tokens += used.output_tokens;
  spent_.usage.estimated = spent_.usage.estimated || (used.estimated && sum(used) > 0);
  if (prices) spent_.money += prices->cost(used);
}

Spending Budget::spent() const {
  const std::lock_guard lock(mutex_);
  Spending out = spent_;
  out.wall_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  return out;
}

Clock::time_point Budget::deadline() const {
  if (!terms_.wall_seconds) return Clock::time_point::max();
  return after(start_, *terms_.wall_seconds);
}

std::string Budget::describe() const {
  const Spending now = spent();
  const uint64_t tokens = sum(now.usage);
  std::string out = now.usage.estimated ? "about " : "";
  out += terms_.tokens ? of(std::to_string(tokens), std::to_string(*terms_.tokens),
                            std::to_string(*terms_.tokens - std::min(tokens, *terms_.tokens)), "tokens")
                       : fmt::format("{} tokens", tokens);
  if (terms_.money) {
    out += ", " + of(fmt::format("{:.4f}", now.money), fmt::format("{:g}", *terms_.money),
                     fmt::format("{:.4f}", std::max(*terms_.money - now.money, 0.0)), "money");
  } else if (now.money > 0) {
    out += fmt::format(", money {:.4f}", now.money);
  }
  out +=
      ", " + (terms_.calls ? of(std::to_string(now.calls), std::to_string(*terms_.calls),
                                std::to_string(*terms_.calls - std::min(now.calls, *terms_.calls)), "calls")
                           : fmt::format("{} call{}", now.calls, now.calls == 1 ? "" : "s"));
  out += ", " + (terms_.wall_seconds
                     ? of(fmt::format("{:.1f}", now.wall_seconds), fmt::format("{:g}", *terms_.wall_seconds),
                          fmt::format("{:.1f}", std::max(*terms_.wall_seconds - now.wall_seconds, 0.0)), "s")
                     : fmt::format("{:.1f} s", now.wall_seconds));
  return out;
}

}  // namespace kw::llm
