#include "search/tree.h"

#include <algorithm>

#include "base/check.h"
#include "search/objective.h"

namespace kw::search {
namespace {

void count(Tally& tally, bool works, double reward) {
  --tally.in_flight;
  ++tally.evaluated;
  const bool gains = works && (tally.usable == 0 || reward > tally.best);
  tally.idle_in_a_row = gains ? 0 : tally.idle_in_a_row + 1;
  if (!works) return;
  tally.best = tally.usable == 0 ? reward : std::max(tally.best, reward);
  tally.sum += reward;
  ++tally.usable;
}

}  // namespace

Tree::Tree(const Root& root) {
  Node top;
  top.proposal.state = root.state;
  top.outcome = root.outcome;
  top.tally.in_flight = 1;
  const bool works = usable(root.outcome);
  if (works) top.reward = reward(root.outcome, root.outcome);
  count(top.tally, works, top.reward);
  nodes_.push_back(std::move(top));
  states_.insert(root.state);
}

bool Tree::has_room(NodeId id) const {
  const Node& node = nodes_[id];
  if (!node.outcome || (id != kRoot && !usable(*node.outcome))) return false;
  return !node.waiting.empty() || (!node.asking && node.barren < kMostBarren);
}

NodeId Tree::best() const {
  std::vector<const Outcome*> outcomes;
  std::vector<NodeId> ids;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (!nodes_[id].outcome) continue;
    outcomes.push_back(&*nodes_[id].outcome);
    ids.push_back(id);
  }
  const size_t found = best_of(outcomes, ids.size());
  return found == ids.size() ? kRoot : ids[found];
}

NodeId Tree::issue(const Choice& choice) {
  Node& parent = nodes_[choice.parent];
  if (choice.kind == Choice::Kind::kAsk) {
    parent.asking = true;
    return choice.parent;
  }
  KW_CHECK(choice.kind == Choice::Kind::kEvaluate && choice.waiting < parent.waiting.size());
  const auto id = static_cast<NodeId>(nodes_.size());
  Node child;
  child.parent = choice.parent;
  child.depth = parent.depth + 1;
  const auto taken = parent.waiting.begin() + static_cast<std::ptrdiff_t>(choice.waiting);
  child.proposal = std::move(*taken);
  parent.waiting.erase(taken);
  parent.children.push_back(id);
  nodes_.push_back(std::move(child));
  for (NodeId at = id;; at = nodes_[at].parent) {
    ++nodes_[at].tally.in_flight;
    if (at == kRoot) break;
  }
  return id;
}

void Tree::settle(const Proposed& proposed, size_t most) {
  Node& parent = nodes_[proposed.parent];
  parent.asking = false;
  bool fresh = false;
  for (size_t i = 0; i < std::min(most, proposed.proposals.size()); ++i) {
    const Proposal& proposal = proposed.proposals[i];
    if (!states_.insert(proposal.state).second) continue;
    parent.waiting.push_back(proposal);
    fresh = true;
  }
  parent.barren = fresh ? 0 : parent.barren + 1;
}

void Tree::settle(const Evaluated& evaluated) {
  Node& node = nodes_[evaluated.node];
  node.outcome = evaluated.outcome;
  const bool works = usable(*node.outcome);
  if (works) node.reward = reward(*node.outcome, *nodes_[kRoot].outcome);
  for (NodeId at = evaluated.node;; at = nodes_[at].parent) {
    count(nodes_[at].tally, works, nodes_[evaluated.node].reward);
    if (at == kRoot) break;
  }
}

}  // namespace kw::search
