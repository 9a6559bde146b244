// What may be spent on models, and what was: tokens, money, wall time, calls. What a call may cost is
// reserved before it is made and settled after it, so that calls at the same time do not spend the same rest.
// Thread-safe; share it with a std::shared_ptr among models.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "llm/provider.h"

namespace kw::llm {

// Per million tokens, in the user's currency. There are no built-in prices.
struct Prices {
  double input = 0, output = 0;
  double cost(const Usage& usage) const {
    return (static_cast<double>(usage.input_tokens) * input +
            static_cast<double>(usage.output_tokens) * output) *
           1e-6;
  }
};

// An absent bound is none.
struct BudgetTerms {
  std::optional<uint64_t> tokens;  // input and output
  std::optional<double> money;
  std::optional<double> wall_seconds;  // from the making of the Budget on
  std::optional<uint64_t> calls;       // exchanges; what is asked again after a failure counts once
};

struct Spending {
  Usage usage;
  double money = 0;
  double wall_seconds = 0;
  uint64_t calls = 0;
};

class Budget {
 public:
  // `before`: what was spent on the same account earlier; its wall time does not count.
  explicit Budget(const BudgetTerms& terms, const Spending& before = {}) : terms_(terms), start_(Clock::now()), spent_(before) {}

  struct Reservation {
    Usage usage;
    double money = 0;
  };
  // For a call that costs at most `most`. `first`: not again after a failure. Failure kBudgetSpent, which
  // says what is left.
  Answer<Reservation> reserve(const Usage& most, const std::optional<Prices>& prices, bool first);
  void settle(const Reservation& reservation, const Usage& used, const std::optional<Prices>& prices);

  const BudgetTerms& terms() const { return terms_; }
  Spending spent() const;
  Clock::time_point deadline() const;
  // "1234 of 10000 tokens (8766 left), 3 calls, 12.3 s": one line; "about" where tokens were estimated.
  std::string describe() const;

 private:
  const BudgetTerms terms_;
  const Clock::time_point start_;
  mutable std::mutex mutex_;
  Spending spent_;
  Usage reserved_;
  double reserved_money_ = 0;
};

}  // namespace kw::llm
