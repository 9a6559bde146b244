#include "judge/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/rng.h"

namespace kw::judge {
namespace {

using problem::Distribution;
using Form = Distribution::Form;

// What replaces a normal(mean, deviation): every way in which sums, maxima and exponentials go wrong that a normal
// never shows. Powers of two keep what was exact exact.
std::vector<Distribution> instead_of_normal(double mean, double deviation) {
  return {
      {Form::kConstant, 0, 0},                                        // nothing to add, nothing to divide by
      {Form::kConstant, mean + deviation, 0},                         // no variance, every element the maximum
      {Form::kNormal, mean / 256, deviation / 256},                   // what eps, flushing and f16 make of small ones
      {Form::kNormal, 8 * mean, 8 * deviation},                       // exponentials that need their maximum taken out
      {Form::kSpikes, deviation, 64 * deviation},                     // outliers, as activations have
      {Form::kCancel, deviation, 0},                                  // sums whose terms cancel
      {Form::kSorted, mean - 3 * deviation, mean + 3 * deviation},    // the largest last
      {Form::kOneHot, 4 * deviation, 0},
  };
}

std::vector<Distribution> instead_of_uniform(double low, double high) {
  const double width = high - low;
  return {
      {Form::kConstant, low + width / 2, 0},
      {Form::kConstant, low + width * 0.96875, 0},
      {Form::kUniform, low, low + width / 64},
      {Form::kUniform, high - width / 64, high},
      {Form::kSorted, low, high},
  };
}

// Indices, labels, lengths and quantised values: each is drawn on its own, so all may be any of them.
std::vector<Distribution> instead_of_integers(double low, double high) {
  return {
      {Form::kConstant, low, 0},
      {Form::kConstant, high, 0},   // everybody meets at one place: counters overflow, atomics queue
      {Form::kIntegers, low, std::min(low + 1, high)},
      {Form::kSorted, low, high},
  };
}

// `own` has numbers for bounds.
std::vector<Distribution> instead_of(const Distribution& own, tensor::DType dtype) {
  if (!tensor::is_float(dtype)) return own.form == Form::kIntegers ? instead_of_integers(own.a, own.b) : std::vector<Distribution>{};
  if (own.form == Form::kNormal) return instead_of_normal(own.a, own.b);
  if (own.form == Form::kUniform) return instead_of_uniform(own.a, own.b);
  return {};
}

bool is_special(const Distribution& d) {
  return (d.form == Form::kSpikes && !std::isfinite(d.b)) || (d.form == Form::kConstant && !std::isfinite(d.a));
}

problem::Workload changed(const problem::Workload& base, const std::string& input, const Distribution& distribution) {
  problem::Workload out = base;
  std::erase_if(out.inputs, [&](const auto& each) { return each.first == input; });
  out.inputs.emplace_back(input, distribution);
  return out;
}

struct Choice {
  std::string input;
  std::vector<Distribution> others;
};

}  // namespace

bool has_specials(const problem::Workload& workload) {
  return std::any_of(workload.inputs.begin(), workload.inputs.end(), [](const auto& each) { return is_special(each.second); });
}

std::vector<problem::Workload> choose_values(const problem::Problem& problem, const problem::Workload& base, uint64_t seed,
                                             int count) {
  std::vector<Choice> free;
  for (const problem::TensorDecl& input : problem.inputs) {
    Distribution own = input.distribution;
    for (const auto& [name, distribution] : base.inputs) {
      if (name == input.name) own = distribution;
    }
    const auto known = own.at(base.axes);
    if (!known) continue;
    auto others = instead_of(*known, input.dtype);
    if (!others.empty()) free.push_back({input.name, std::move(others)});
  }
  std::vector<problem::Workload> chosen;
  std::set<std::string> taken;
  for (const problem::Workload& own : problem.workloads) {
    for (const auto& [input, distribution] : own.inputs) {
      const std::string change = fmt::format("{} ~ {}", input, distribution.text());
      if (!is_special(distribution) || own.name == base.name || !taken.insert(change).second) continue;
      chosen.push_back(changed(base, input, distribution));
      chosen.back().name = fmt::format("{} with {}", base.name, change);
    }
  }
  if (free.empty()) return chosen;
  count += static_cast<int>(chosen.size());
  Rng rng(seed);
  using Way = std::pair<size_t, size_t>;   // an input, and what it becomes
  const auto add = [&](const std::vector<Way>& ways) {
    problem::Workload workload = base;
    std::string changes;
    for (const auto& [input, way] : ways) {
      const Distribution& other = free[input].others[way];
      workload = changed(workload, free[input].input, other);
      changes += fmt::format("{}{} ~ {}", changes.empty() ? "" : ", ", free[input].input, other.text());
    }
    if (static_cast<int>(chosen.size()) >= count || !taken.insert(changes).second) return;
    workload.name = fmt::format("{} with {}", base.name, changes);
    chosen.push_back(std::move(workload));
  };
  std::vector<Way> singles;   // luck must not decide whether an input is ever zero: as many as there is room for
  for (size_t i = 0; i < free.size(); ++i) {
    for (size_t way = 0; way < free[i].others.size(); ++way) singles.emplace_back(i, way);
  }
  for (size_t i = singles.size(); i > 1; --i) std::swap(singles[i - 1], singles[rng.below(i)]);
  const int together = free.size() > 1 ? count / 4 : 0;
  const size_t first = std::min(singles.size(), static_cast<size_t>(std::max(0, count - together - static_cast<int>(chosen.size()))));
  for (size_t i = 0; i < first; ++i) add({singles[i]});
  for (int attempt = 0; attempt < 8 * together; ++attempt) {
    std::vector<Way> all;
    const uint64_t kind = rng.below(1000);
    for (size_t i = 0; i < free.size(); ++i) all.emplace_back(i, kind % free[i].others.size());
    add(all);
  }
  for (size_t i = first; i < singles.size(); ++i) add({singles[i]});
  return chosen;
}

}  // namespace kw::judge
