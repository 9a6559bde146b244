// The baselines, and what all strategies share.
#include "search/strategy.h"

#include <algorithm>
#include <tuple>

#include "search/expand.h"
#include "search/objective.h"

namespace kw::search {
namespace {

// Nothing can be tried now. Results that are still to come may change that.
Choice none(const Tree& tree) {
  bool coming = tree[kRoot].tally.in_flight > 0;
  for (NodeId id = 0; id < tree.size() && !coming; ++id) coming = tree[id].asking;
  return {coming ? Choice::Kind::kWait : Choice::Kind::kExhausted, kRoot, 0};
}

Choice greedy(const Tree& tree, const Memory& memory, const Constants& constants) {
  std::vector<const Outcome*> outcomes;
  std::vector<NodeId> ids;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (!tree.has_room(id)) continue;
    ids.push_back(id);
    outcomes.push_back(&*tree[id].outcome);
  }
  if (ids.empty()) return none(tree);
  // A root that does not work is no outcome to choose, but has room.
  const size_t best = best_of(outcomes, 0);
  return expand(tree, ids[best], memory, constants);
}

Choice best_of_n(const Tree& tree, const Memory& memory, const Options& options) {
  // As many chains at once as steps may be in flight, so that the last evaluation of each chain is always
  // known.
  const auto lanes = static_cast<NodeId>(std::max(1, options.in_flight));
  const auto next = static_cast<NodeId>(tree.size());
  NodeId at = kRoot;
  if ((next - 1) / lanes % std::max(1u, options.constants.chain) != 0) {
    const NodeId last = next - lanes;
    at = tree[last].outcome && usable(*tree[last].outcome) ? last : tree[last].parent;
  }
  while (at != kRoot && !tree.has_room(at) && !tree[at].asking) at = tree[at].parent;
  if (tree.has_room(at)) return expand(tree, at, memory, options.constants);
  if (tree[at].asking) return {Choice::Kind::kWait, at, 0};
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.has_room(id)) return expand(tree, id, memory, options.constants);
  return none(tree);
}

}  // namespace

std::string_view name(Strategy strategy) {
  switch (strategy) {
    case Strategy::kMcts: return "mcts";
    case Strategy::kGreedy: return "greedy";
    case Strategy::kBestOfN: return "best-of-n";
  }
  return "";
}

Choice expand(const Tree& tree, NodeId node, const Memory& memory, const Constants& constants) {
  const std::vector<Proposal>& waiting = tree[node].waiting;
  if (waiting.empty()) return {Choice::Kind::kAsk, node, 0};
  size_t first = 0;
  double most = -1;
  for (size_t i = 0; i < waiting.size(); ++i) {
    const double s = strength(memory, waiting[i].idea, waiting[i].priority, constants.trust);
    if (s > most) std::tie(most, first) = std::tuple(s, i);
  }
  return {Choice::Kind::kEvaluate, node, first};
}

Choice choose(const Tree& tree, const Memory& memory, const Options& options, uint64_t step) {
  std::optional<Choice> choice;
  switch (options.strategy) {
    case Strategy::kMcts: choice = mcts(tree, memory, options.constants, Rng(options.seed, step)); break;
    case Strategy::kGreedy: return greedy(tree, memory, options.constants);
    case Strategy::kBestOfN: return best_of_n(tree, memory, options);
  }
  return choice ? *choice : none(tree);
}

}  // namespace kw::search
