// Landscapes with a known optimum for searches to be compared on: a kernel is a set of transformations, each
// at most once, whose log-speedups add up, with pairs that help or hurt each other and with traps. A function
// of (family, seed) alone.
//
// What a candidate is worth is also a matter of luck: each set may be attempted again and again, attempts
// fail or are up to 5 % slower than the set can be. Advice (priorities) follows the true gain of the next
// step, more or less.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "search/environment.h"

namespace kw::bench {

struct Family {
  const char* name;
  const char* what;
  int transformations = 12;
  double pairs = 0;     // share of pairs that interact, by N(0, 0.25)
  double fails = 0.15;  // attempts that fail
  double noise = 0.01;  // of ln(seconds), as measured
  double advice = 0.5;  // 1: priorities are the true gain of the step; 0: noise; below 0: misleading
  bool deceptive =
      false;              // a fast transformation that rules out a slow one which is the key to two fast ones
  bool plateau = false;   // three transformations worth nothing, or a little less, but for all together
  bool poison = false;    // a fast transformation after which nine attempts in ten fail
  bool stubborn = false;  // a fast one that fails nineteen times in twenty
};
std::span<const Family> families();

class Landscape : public search::Environment {
 public:
  Landscape(const Family& family, uint64_t seed);

  search::Root root() const;
  double optimum() const { return optimum_; }    // log-speedup over the root of the best set
  double worth(const std::string& state) const;  // true log-speedup of a state
  Result<std::vector<search::Proposal>> propose(const search::Situation& situation) override;
  Result<search::Outcome> evaluate(const search::Assignment& assignment) override;

 private:
  struct Candidate {
    uint32_t set = 0;
    uint32_t attempt = 0;
  };
  static Candidate candidate(const std::string& state);
  bool allowed(uint32_t set) const;
  double log_speedup(uint32_t set) const;
  double chance(const char* what, uint64_t a, uint64_t b = 0) const;  // in [0, 1), always the same

  const Family& family_;
  uint64_t seed_;
  std::vector<double> gain_;
  std::vector<std::vector<double>> pair_;
  double optimum_ = 0;
};

}  // namespace kw::bench
