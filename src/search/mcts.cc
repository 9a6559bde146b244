// Monte-Carlo tree search over evaluated states: every node is a candidate with a time of its own, so nothing
// is played out.
#include <algorithm>
#include <cmath>

#include "search/expand.h"
#include "search/objective.h"

namespace kw::search {
namespace {

// Rewards on a scale that does not depend on the problem: dead ends 0, slower than the root up to kFooting,
// the best 1.
class Scale {
 public:
  explicit Scale(const Tree& tree) {
    const Tally& all = tree[kRoot].tally;
    if (all.usable == 0) return;
    high_ = low_ = all.best;
    if (usable(*tree[kRoot].outcome)) {
      low_ = tree[kRoot].reward;
    } else {
      for (NodeId id = 1; id < tree.size(); ++id)
        if (tree[id].outcome && usable(*tree[id].outcome)) low_ = std::min(low_, tree[id].reward);
    }
  }
  double operator()(double reward) const {
    const double x = (reward - low_) / std::max(high_ - low_, kLeast);
    return x >= 0 ? kFooting + (1 - kFooting) * std::min(x, 1.0) : kFooting * std::exp(x);
  }

 private:
  static constexpr double kFooting = 0.25;
  static constexpr double kLeast = 0.05;  // log-speedup; less than that is taken for noise
  double low_ = 0, high_ = 0;
};

class Walk {
 public:
  Walk(const Tree& tree, const Memory& memory, const Constants& constants, Rng rng)
      : tree_(tree), memory_(memory), constants_(constants), rng_(rng), scale_(tree) {}

  std::optional<Choice> run() {
    for (uint64_t patience = std::max(1u, constants_.patience); look_for_room(patience); patience *= 2)
      if (open_[kRoot]) return expand(tree_, descend(), memory_, constants_);
    return std::nullopt;
  }

 private:
  // Which nodes have room, or one below that can be reached through subtrees that are not closed. False: none
  // has, closed or not.
  bool look_for_room(uint64_t patience) {
    open_.assign(tree_.size(), false);
    bool any = false;
    for (NodeId id = static_cast<NodeId>(tree_.size()); id-- > 0;) {  // children come after their parents
      const bool room = tree_.has_room(id);
      any = any || room;
      open_[id] = (open_[id] || room) && (id == kRoot || tree_[id].tally.idle_in_a_row < patience);
      if (open_[id]) open_[tree_[id].parent] = true;
    }
    return any;
  }

  NodeId descend() {
    NodeId at = kRoot;
    while (true) {
      const std::optional<NodeId> next = best_arm(at);
      if (*next == at) return at;
      at = *next;  // an open node has room, or an open child
    }
  }

  // The open child of highest score, or the node itself for one more child.
  std::optional<NodeId> best_arm(NodeId parent) {
    std::optional<NodeId> best;
    double highest = 0;
    uint64_t equals = 0;
    const Node& node = tree_[parent];
    const double spread = std::log(1 + visits(node));
    const auto consider = [&](NodeId arm, double worth, double advice, double tried) {
      const double score = worth + constants_.exploration * std::sqrt(spread / (1 + tried)) +
                           constants_.advice * advice / (1 + tried);
      if (best && score < highest) return;
      equals = best && score == highest ? equals + 1 : 1;
      if (rng_.below(equals) == 0) best = arm;
      highest = score;
    };
    for (const NodeId id : node.children)
      if (open_[id]) consider(id, value(tree_[id]), advice_at(tree_[id]), visits(tree_[id]));
    if (!tree_.has_room(parent)) return best;
    const auto children = static_cast<double>(node.children.size());
    const double most = constants_.width * std::pow(visits(node), constants_.growth);
    if (best && children >= most) return best;
    consider(parent, usable(*node.outcome) ? scale_(node.reward) : 0, advice_at(node), children);
    return best;
  }

  double value(const Node& node) const {
    const Tally& t = node.tally;
    if (t.usable == 0) return 0;
    const double works = static_cast<double>(t.usable) / visits(node);
    return constants_.greed * scale_(t.best) + (1 - constants_.greed) * works * scale_(t.sum / t.usable);
  }

  static double visits(const Node& node) {
    return static_cast<double>(node.tally.evaluated) + node.tally.in_flight;
  }
  // The strength of the best proposal that waits at the node; where none does, nothing is known.
  double advice_at(const Node& node) const {
    double most = node.waiting.empty() ? 0.5 : 0;
    for (const Proposal& p : node.waiting)
      most = std::max(most, strength(memory_, p.idea, p.priority, constants_.trust));
    return most;
  }

  const Tree& tree_;
  const Memory& memory_;
  const Constants& constants_;
  Rng rng_;
  Scale scale_;
  std::vector<bool> open_;
};

}  // namespace

std::optional<Choice> mcts(const Tree& tree, const Memory& memory, const Constants& constants, Rng rng) {
  return Walk(tree, memory, constants, rng).run();
}

}  // namespace kw::search
