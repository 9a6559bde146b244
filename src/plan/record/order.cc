#include "plan/record/order.h"

#include <algorithm>
#include <iterator>

namespace kw::runtime {
namespace {

// Edges followed when looking for transitive ones. Streams make long chains, so the search is short unless
// thousands of streams cross; beyond this a redundant edge stays, which is only untidy.
constexpr int kMaxVisits = 2000;

}  // namespace

Frontier unite(const Frontier& a, const Frontier& b) {
  Frontier out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

Frontier Order::reduce(Frontier frontier) const {
  if (frontier.size() < 2) return frontier;
  // Everything before a member, down to the lowest member.
  std::vector<uint32_t> pending, before;
  for (const uint32_t step : frontier) pending.insert(pending.end(), after_[step].begin(), after_[step].end());
  int visits = 0;
  while (!pending.empty() && visits < kMaxVisits) {
    ++visits;
    const uint32_t step = pending.back();
    pending.pop_back();
    if (step < frontier.front() || std::find(before.begin(), before.end(), step) != before.end()) continue;
    before.push_back(step);
    pending.insert(pending.end(), after_[step].begin(), after_[step].end());
  }
  std::sort(before.begin(), before.end());
  Frontier out;
  std::set_difference(frontier.begin(), frontier.end(), before.begin(), before.end(), std::back_inserter(out));
  return out;
}

uint32_t Order::add(const Frontier& frontier) {
  Frontier after = reduce(unite(frontier, host_));
  after_.push_back(std::move(after));
  return static_cast<uint32_t>(after_.size() - 1);
}

std::vector<uint32_t> Order::outside(const Frontier& frontier) const {
  std::vector<bool> reached(after_.size(), false);
  for (const uint32_t step : frontier) reached[step] = true;
  for (size_t step = after_.size(); step-- > 0;)
    if (reached[step])
      for (const uint32_t before : after_[step]) reached[before] = true;
  std::vector<uint32_t> out;
  for (uint32_t step = 0; step < reached.size(); ++step)
    if (!reached[step]) out.push_back(step);
  return out;
}

}  // namespace kw::runtime
