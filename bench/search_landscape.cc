#include "search_landscape.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "base/rng.h"

namespace kw::bench {
namespace {

using search::Outcome;
using search::Proposal;

// Which transformations the traps are made of.
enum : int {
  kBait,
  kKey,
  kTreasure,
  kSecondTreasure,
  kFirstOfThree,
  kThirdOfThree = kFirstOfThree + 2,
  kPoison,
  kStubborn,
  kPlain
};

constexpr uint32_t bit(int transformation) { return 1u << transformation; }
constexpr uint32_t kAllThree = 7u << kFirstOfThree;

constexpr Family kFamilies[] = {
    {.name = "additive", .what = "gains add up, nothing else", .fails = 0.05},
    {.name = "pairs", .what = "a third of the pairs help or hurt each other", .pairs = 0.33},
    {.name = "deceptive",
     .what = "a bait rules out the key to two treasures",
     .pairs = 0.1,
     .deceptive = true},
    {.name = "plateau", .what = "three steps that pay only together", .pairs = 0.1, .plateau = true},
    {.name = "poison", .what = "a fast step after which nine in ten fail", .pairs = 0.1, .poison = true},
    {.name = "stubborn", .what = "a fast step that fails 19 times in 20", .pairs = 0.1, .stubborn = true},
    {.name = "noisy", .what = "pairs, times measured to 10 %", .pairs = 0.33, .noise = 0.1},
    {.name = "failing", .what = "pairs, half of all attempts fail", .pairs = 0.33, .fails = 0.5},
    {.name = "misled",
     .what = "pairs and bait, and advice points the wrong way",
     .pairs = 0.33,
     .advice = -0.5,
     .deceptive = true},
    {.name = "wide", .what = "pairs among 16 transformations", .transformations = 16, .pairs = 0.15},
    {.name = "all traps",
     .what = "bait, plateau, poison, stubborn, noise",
     .transformations = 14,
     .pairs = 0.2,
     .fails = 0.25,
     .noise = 0.03,
     .deceptive = true,
     .plateau = true,
     .poison = true,
     .stubborn = true},
};

}  // namespace

std::span<const Family> families() { return kFamilies; }

Landscape::Landscape(const Family& family, uint64_t seed) : family_(family), seed_(seed) {
  const auto n = static_cast<size_t>(family.transformations);
  Rng gains = Rng(seed).fork("gains");
  for (size_t i = 0; i < n; ++i) gain_.push_back(0.06 + 0.16 * gains.normal());
  const double size = gains.uniform(0.7, 1.3);
  const auto set = [&](int which, double gain) { gain_[static_cast<size_t>(which)] = gain * size; };
  if (family.deceptive) set(kBait, 0.35), set(kKey, -0.08), set(kTreasure, 0.4), set(kSecondTreasure, 0.45);
  if (family.plateau)
    for (int i = 0; i < 3; ++i) set(kFirstOfThree + i, -0.03 * i);
  if (family.poison) set(kPoison, 0.35);
  if (family.stubborn) set(kStubborn, 0.9);
  Rng pairs = Rng(seed).fork("pairs");
  pair_.assign(n, std::vector<double>(n, 0));
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < i; ++j) {
      const bool interacts = pairs.uniform() < family.pairs;
      const double strength = 0.25 * pairs.normal();
      if (interacts) pair_[i][j] = pair_[j][i] = strength;
    }
  for (uint32_t s = 0; s < bit(family.transformations); ++s)
    if (allowed(s)) optimum_ = std::max(optimum_, log_speedup(s));
}

bool Landscape::allowed(uint32_t set) const {
  if (!family_.deceptive) return true;
  if ((set & bit(kBait)) != 0 && (set & bit(kKey)) != 0) return false;
  return (set & (bit(kTreasure) | bit(kSecondTreasure))) == 0 || (set & bit(kKey)) != 0;
}

double Landscape::log_speedup(uint32_t set) const {
  double sum = family_.plateau && (set & kAllThree) == kAllThree ? 0.9 : 0;
  for (uint32_t rest = set; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<size_t>(std::countr_zero(rest));
    sum += gain_[i];
    for (uint32_t others = rest & (rest - 1); others != 0; others &= others - 1)
      sum += pair_[i][static_cast<size_t>(std::countr_zero(others))];
  }
  return sum;
}

double Landscape::chance(const char* what, uint64_t a, uint64_t b) const {
  return Rng::to_unit(Rng(seed_, a).fork(what).at(b));
}

Landscape::Candidate Landscape::candidate(const std::string& state) {
  Candidate out;
  const char* end = state.data() + state.size();
  const auto [at, error] = std::from_chars(state.data(), end, out.set);
  if (error == std::errc() && at != end) std::from_chars(at + 1, end, out.attempt);
  return out;
}

search::Root Landscape::root() const {
  return {"0#0", Outcome{.works = true, .seconds = 1, .spread = family_.noise}};
}

double Landscape::worth(const std::string& state) const {
  const Candidate c = candidate(state);
  return c.set == 0 ? 0 : log_speedup(c.set) - 0.05 * chance("skill", c.set, c.attempt);
}

Result<std::vector<Proposal>> Landscape::propose(const search::Situation& situation) {
  const Candidate from = candidate(situation.path.back().proposal.state);
  std::vector<uint32_t> attempts(gain_.size(), 0);
  const auto seen = [&](const Proposal& p) {
    const auto added = candidate(p.state).set & ~from.set;
    if (added != 0) ++attempts[static_cast<size_t>(std::countr_zero(added))];
  };
  for (const search::Tried& tried : situation.children) seen(tried.proposal);
  for (const Proposal& waiting : situation.waiting) seen(waiting);

  // Strong advice and what was tried least come first, with some chance.
  Rng rng(situation.seed);
  std::vector<std::pair<double, Proposal>> ranked;
  for (int t = 0; t < family_.transformations; ++t) {
    const uint32_t set = from.set | bit(t);
    if (set == from.set || !allowed(set)) continue;
    const double gain = log_speedup(set) - log_speedup(from.set);
    const double heard = family_.advice * gain / 0.4 +
                         0.3 * Rng::to_normal(chance("advice", from.set, static_cast<uint64_t>(t)));
    const double priority = std::clamp(0.5 + heard / 2, 0.0, 1.0);
    // Half of what is written for a set is the same text wherever it comes from; the rest is not.
    const uint32_t own = rng.below(2) == 0 ? 0 : 1000 * (situation.parent + 1);
    const uint32_t attempt = attempts[static_cast<size_t>(t)] + own;
    const double rank = priority - 0.4 * attempts[static_cast<size_t>(t)] + 0.15 * rng.normal();
    ranked.push_back({rank, {fmt::format("{}#{}", set, attempt), fmt::format("t{}", t), priority}});
  }
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Proposal> out;
  for (auto& [rank, proposal] : ranked)
    if (static_cast<int>(out.size()) < situation.count) out.push_back(std::move(proposal));
  return out;
}

Result<Outcome> Landscape::evaluate(const search::Assignment& assignment) {
  const Candidate c = candidate(assignment.proposal.state);
  double fails = family_.fails;
  if (family_.poison && (c.set & bit(kPoison)) != 0 && std::popcount(c.set) > 1) fails = 0.9;
  // What is hard to get right stays right once it is.
  if (family_.stubborn && assignment.proposal.idea == fmt::format("t{}", int{kStubborn})) fails = 0.95;
  Outcome out;
  out.works = chance("works", c.set, c.attempt) >= fails;
  const double measured =
      worth(assignment.proposal.state) + family_.noise * Rng::to_normal(chance("noise", c.set, c.attempt));
  out.seconds = std::exp(-measured);
  out.spread = family_.noise;
  return out;
}

}  // namespace kw::bench
