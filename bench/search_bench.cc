// Tree search against greedy and best-of-n at equal budgets, on landscapes with a known optimum
// (search_landscape.h). Regret is the log-speedup that the best set has over the state that the search calls
// best, both without noise. docs/perf/search.md has a run.
//
//   kw_search_bench [SEEDS]          the tables, on seeds 0, 1, …                                (200)
//   kw_search_bench vary [SEEDS]     what each constant does, on seeds that the tables never see (100)
//   kw_search_bench tune [ROUNDS]    looks for better constants on those                         (200)
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/text_table.h"
#include "search/search.h"
#include "search_landscape.h"

namespace {

using namespace kw;
using bench::Landscape;
using search::Constants;
using search::Options;
using search::Strategy;

constexpr uint64_t kTuningSeeds = 1'000'000;  // and on

// A landscape for each family and seed, made once.
class Landscapes {
 public:
  Landscapes(uint64_t first, uint64_t seeds) : seeds_(seeds), made_(bench::families().size() * seeds) {
    parallel_for(made_.size(), available_cores(), [&](uint64_t i) {
      made_[i] = std::make_unique<Landscape>(bench::families()[i / seeds], first + i % seeds);
    });
  }
  uint64_t seeds() const { return seeds_; }
  double optimum(size_t family) const {
    double sum = 0;
    for (uint64_t i = 0; i < seeds_; ++i) sum += made_[family * seeds_ + i]->optimum();
    return sum / static_cast<double>(seeds_);
  }
  // Of one family, by seed.
  std::vector<double> regrets(size_t family, const Options& given) const {
    std::vector<double> out(seeds_);
    parallel_for(seeds_, available_cores(), [&](uint64_t i) {
      Landscape& landscape = *made_[family * seeds_ + i];
      Options options = given;
      options.seed = i;
      const auto found = search::run(landscape, landscape.root(), options);
      KW_CHECK(found);
      out[i] = landscape.optimum() - landscape.worth(found->tree[found->best].proposal.state);
    });
    return out;
  }

 private:
  uint64_t seeds_;
  std::vector<std::unique_ptr<Landscape>> made_;
};

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double mean_regret(const Landscapes& landscapes, const Options& options) {
  std::vector<double> means;
  for (size_t f = 0; f < bench::families().size(); ++f) means.push_back(mean(landscapes.regrets(f, options)));
  return mean(means);
}

// The chance of at most `fewer` of n fair coins, both sides.
double sign_test(uint64_t wins, uint64_t losses) {
  const auto n = static_cast<double>(wins + losses);
  double tail = 0;
  for (uint64_t k = 0; k <= std::min(wins, losses); ++k) {
    const auto x = static_cast<double>(k);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) - n * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

// 95 % of the means of resampled differences.
std::pair<double, double> interval(const std::vector<double>& differences) {
  constexpr size_t kSamples = 2000;
  Rng rng(1);
  std::vector<double> means(kSamples);
  for (double& m : means) {
    double sum = 0;
    for (size_t i = 0; i < differences.size(); ++i) sum += differences[rng.below(differences.size())];
    m = sum / static_cast<double>(differences.size());
  }
  std::sort(means.begin(), means.end());
  return {means[kSamples / 40], means[kSamples - 1 - kSamples / 40]};
}

std::string against(const std::vector<double>& ours, const std::vector<double>& theirs) {
  std::vector<double> saved;
  uint64_t wins = 0, losses = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    saved.push_back(theirs[i] - ours[i]);
    wins += saved.back() > 1e-9;
    losses += saved.back() < -1e-9;
  }
  const auto [low, high] = interval(saved);
  return fmt::format("{:>3}-{:<3} p={:<7.1g} {:+.3f} [{:+.3f}, {:+.3f}]", wins, losses,
                     sign_test(wins, losses), mean(saved), low, high);
}

void report(const Landscapes& landscapes, uint64_t budget, int in_flight) {
  fmt::print(
      "budget {}, {} in flight, {} seeds: mean regret, and regret that mcts saves: wins-losses, sign test, "
      "mean [95 %]\n",
      budget, in_flight, landscapes.seeds());
  TextTable table({"family", "optimum", "mcts", "greedy", "best-of-n", "against greedy", "against best-of-n"},
                  {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  std::vector<double> all[3];
  const auto add = [&](const char* name, double optimum, const std::vector<double>* r) {
    table.add_row({name, fmt::format("{:.2f}", optimum), fmt::format("{:.3f}", mean(r[0])),
                   fmt::format("{:.3f}", mean(r[1])), fmt::format("{:.3f}", mean(r[2])), against(r[0], r[1]),
                   against(r[0], r[2])});
  };
  double optima = 0;
  for (size_t f = 0; f < bench::families().size(); ++f) {
    std::vector<double> regrets[3];
    size_t at = 0;
    for (const Strategy strategy : {Strategy::kMcts, Strategy::kGreedy, Strategy::kBestOfN}) {
      Options options{.strategy = strategy, .evaluations = budget, .in_flight = in_flight};
      regrets[at] = landscapes.regrets(f, options);
      all[at].insert(all[at].end(), regrets[at].begin(), regrets[at].end());
      ++at;
    }
    const double optimum = landscapes.optimum(f);
    optima += optimum / static_cast<double>(bench::families().size());
    add(bench::families()[f].name, optimum, regrets);
  }
  table.add_rule();
  add("all", optima, all);
  fmt::print("{}\n", table.str());
}

struct Knob {
  const char* name;
  double Constants::* value;
  double least, most;
};
constexpr Knob kKnobs[] = {
    {"width", &Constants::width, 0.25, 16},
    {"growth", &Constants::growth, 0.1, 1},
    {"exploration", &Constants::exploration, 0.01, 1.5},
    {"advice", &Constants::advice, 0, 1},
    {"greed", &Constants::greed, 0, 1},
    {"trust", &Constants::trust, 0.5, 256},
};

// Both budgets that are reported; one step at a time, since threads cost more than these evaluations.
double score(const Landscapes& landscapes, const Constants& constants, Strategy strategy = Strategy::kMcts) {
  return (mean_regret(landscapes, {.strategy = strategy, .evaluations = 60, .constants = constants}) +
          mean_regret(landscapes, {.strategy = strategy, .evaluations = 200, .constants = constants})) /
         2;
}

std::string text_of(const Constants& c) {
  std::string out;
  for (const Knob& knob : kKnobs) out += fmt::format("{} {:.3g}  ", knob.name, c.*knob.value);
  return out + fmt::format("patience {}", c.patience);
}

void tune(uint64_t rounds) {
  const Landscapes landscapes(kTuningSeeds, 40);
  Constants best;
  double least = score(landscapes, best);
  fmt::print("greedy {:.4f}, best-of-n {:.4f}\n", score(landscapes, best, Strategy::kGreedy),
             score(landscapes, best, Strategy::kBestOfN));
  fmt::print("{:.4f}  {}\n", least, text_of(best));
  Rng rng(7);
  for (uint64_t round = 0; round < rounds; ++round) {
    Constants tried = best;
    // Far steps first, near ones later; one to three constants at a time.
    const double step = 1.2 * (1 - static_cast<double>(round) / static_cast<double>(rounds)) + 0.1;
    for (uint64_t n = 1 + rng.below(3); n > 0; --n) {
      const uint64_t which = rng.below(std::size(kKnobs) + 1);
      if (which == std::size(kKnobs)) {
        tried.patience =
            static_cast<uint32_t>(std::clamp(tried.patience * std::exp(step * rng.normal()), 2.0, 500.0));
        continue;
      }
      const Knob& knob = kKnobs[which];
      double& value = tried.*knob.value;
      const double moved =
          knob.least > 0 ? value * std::exp(step * rng.normal()) : value + 0.3 * step * rng.normal();
      value = std::clamp(moved, knob.least, knob.most);
    }
    const double got = score(landscapes, tried);
    if (got >= least) continue;
    least = got;
    best = tried;
    fmt::print("{:.4f}  {}\n", least, text_of(best));
    std::fflush(stdout);
  }
}

void vary(uint64_t seeds) {
  const Landscapes landscapes(kTuningSeeds + 1000, seeds);
  const double now = score(landscapes, {});
  TextTable table({"constant", "value", "mean regret", "change"},
                  {Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  const auto add = [&](const char* name, double value, const Constants& constants, Strategy strategy,
                       double from) {
    const double got = score(landscapes, constants, strategy);
    table.add_row(
        {name, fmt::format("{:.3g}", value), fmt::format("{:.4f}", got), fmt::format("{:+.4f}", got - from)});
  };
  table.add_row({"all as they are", "", fmt::format("{:.4f}", now), ""});
  for (const Knob& knob : kKnobs) {
    const double value = Constants{}.*knob.value;
    for (const double other : {knob.least, value / 2, value * 2, knob.most}) {
      if (other < knob.least || other > knob.most) continue;
      Constants changed;
      changed.*knob.value = other;
      add(knob.name, other, changed, Strategy::kMcts, now);
    }
  }
  for (const uint32_t patience : {4u, 8u, 16u, 32u, 64u, 1000000u})
    add("patience", patience, {.patience = patience}, Strategy::kMcts, now);
  for (const Strategy strategy : {Strategy::kGreedy, Strategy::kBestOfN}) {
    const double from = score(landscapes, {}, strategy);
    for (const double trust : {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0})
      add(fmt::format("trust ({})", search::name(strategy)).c_str(), trust, {.trust = trust}, strategy, from);
  }
  const double chains = score(landscapes, {}, Strategy::kBestOfN);
  for (const uint32_t chain : {1u, 4u, 8u, 16u, 32u, 64u})
    add("chain (best-of-n)", chain, {.chain = chain}, Strategy::kBestOfN, chains);
  fmt::print("{}", table.str());
}

}  // namespace

int main(int count, char** arguments) {
  std::string mode;
  uint64_t number = 0;
  for (int i = 1; i < count; ++i) {
    const char* end = arguments[i] + std::strlen(arguments[i]);
    if (std::from_chars(arguments[i], end, number).ptr != end) mode = arguments[i];
  }
  if (mode == "tune") {
    tune(number != 0 ? number : 200);
  } else if (mode == "vary") {
    vary(number != 0 ? number : 100);
  } else if (mode.empty()) {
    const Landscapes landscapes(0, number != 0 ? number : 200);
    report(landscapes, 60, 1);
    report(landscapes, 200, 4);
  } else {
    fmt::print(stderr, "usage: kw_search_bench [SEEDS] | vary [SEEDS] | tune [ROUNDS]\n");
    return 2;
  }
  return 0;
}
