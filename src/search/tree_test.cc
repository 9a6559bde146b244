#include "search/tree.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "search/objective.h"

namespace kw::search {
namespace {

// All that is known of the subtree, the slow way: from its nodes in the order in which they were settled.
Tally tally_of(const Tree& tree, NodeId top, const std::vector<NodeId>& settled) {
  const auto below = [&](NodeId id) {
    while (id > top) id = tree[id].parent;
    return id == top;
  };
  Tally out;
  for (const NodeId id : settled) {
    if (!below(id)) continue;
    ++out.evaluated;
    const bool works = usable(*tree[id].outcome);
    const bool gains = works && (out.usable == 0 || tree[id].reward > out.best);
    out.idle_in_a_row = gains ? 0 : out.idle_in_a_row + 1;
    if (gains) out.best = tree[id].reward;
    if (works) out.sum += tree[id].reward;
    out.usable += works;
  }
  for (NodeId id = 0; id < tree.size(); ++id) out.in_flight += !tree[id].outcome && below(id);
  return out;
}

TEST(Tree, KnowsOfEachSubtreeWhatIsInIt) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Rng rng(seed);
    Tree tree({"r", {.works = seed % 3 != 0, .seconds = 1}});
    std::vector<NodeId> settled{kRoot}, flying;
    for (int step = 0; step < 120; ++step) {
      const auto at = static_cast<NodeId>(rng.below(tree.size()));
      if (!flying.empty() && rng.below(2) == 0) {
        const size_t which = rng.below(flying.size());
        const NodeId id = flying[which];
        flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(which));
        tree.settle({id,
                     tree[id].parent,
                     tree[id].proposal,
                     {.works = rng.below(3) != 0, .seconds = std::exp(rng.normal())}});
        settled.push_back(id);
      } else if (tree.has_room(at) && tree[at].waiting.empty()) {
        tree.issue({Choice::Kind::kAsk, at, 0});
        EXPECT_FALSE(tree.has_room(at));
        tree.settle(
            {at, {{std::to_string(rng.below(200)), "", 0.5}, {std::to_string(rng.below(200)), "", 0.5}}}, 2);
      } else if (tree.has_room(at)) {
        flying.push_back(tree.issue({Choice::Kind::kEvaluate, at, rng.below(tree[at].waiting.size())}));
      }
    }
    EXPECT_GT(tree.size(), 10u);
    for (NodeId id = 0; id < tree.size(); ++id) {
      const Tally got = tree[id].tally, want = tally_of(tree, id, settled);
      EXPECT_EQ(got.evaluated, want.evaluated);
      EXPECT_EQ(got.in_flight, want.in_flight);
      EXPECT_EQ(got.usable, want.usable);
      EXPECT_NEAR(got.sum, want.sum, 1e-9);
      if (want.usable > 0) {
        EXPECT_EQ(got.best, want.best);
      }
      EXPECT_EQ(got.idle_in_a_row, want.idle_in_a_row);
      uint32_t below = tree[id].outcome ? 1 : 0;
      for (const NodeId child : tree[id].children) below += tree[child].tally.evaluated;
      EXPECT_EQ(got.evaluated, below) << "visits add up";
    }
  }
}

TEST(Tree, TakesEachStateOnce) {
  Tree tree({"r", {.works = true, .seconds = 1}});
  tree.issue({Choice::Kind::kAsk, kRoot, 0});
  tree.settle({kRoot, {{"r", "", 1}, {"a", "", 1}, {"a", "", 1}, {"b", "", 1}, {"c", "", 1}}}, 4);
  ASSERT_EQ(tree[kRoot].waiting.size(), 2u);
  EXPECT_TRUE(tree.known("b"));
  EXPECT_FALSE(tree.known("c")) << "dropped, so it may be proposed again";
}

TEST(Objective, SpeedThenEnergy) {
  const auto best = [](const std::vector<Outcome>& outcomes) {
    std::vector<const Outcome*> pointers;
    for (const Outcome& o : outcomes) pointers.push_back(&o);
    return best_of(pointers, 99);
  };
  const Outcome fast{true, 1.0, 0.01, 90}, near{true, 1.02, 0.01, 80}, far{true, 1.05, 0.01, 10},
      broken{false, 0.1, 0.01, 1};
  EXPECT_EQ(best({far, near, fast, broken}), 1u) << "as fast as the fastest, and less energy";
  EXPECT_EQ(best({far, {true, 1.0, 0.001, 90}, {true, 1.02, 0.001, 80}}), 1u) << "told apart by their times";
  EXPECT_EQ(best({{true, 1.0, 0.01}, near}), 1u) << "an energy that is not known is no small one";
  EXPECT_EQ(best({{true, 1.01, 0.01}, {true, 1.0, 0.01}}), 1u);
  EXPECT_EQ(best({fast, fast}), 0u);
  EXPECT_EQ(best({broken}), 99u);
  EXPECT_EQ(best({}), 99u);
}

TEST(Objective, EnergyNeverOutweighsATimeThatDiffers) {
  Rng rng(3);
  const Outcome reference{true, 1, 0.02, 100};
  for (int i = 0; i < 2000; ++i) {
    const Outcome a{true, rng.uniform(0.9, 1.1), rng.uniform(0, 0.03), rng.uniform(1, 1000)};
    const Outcome b{true, rng.uniform(0.9, 1.1), rng.uniform(0, 0.03), rng.uniform(1, 1000)};
    if (!equally_fast(a, b)) {
      EXPECT_EQ(reward(a, reference) > reward(b, reference), a.seconds < b.seconds);
    }
  }
  const Outcome frugal{true, 1, 0.02, 50};
  EXPECT_GT(reward(frugal, reference), reward(reference, reference));
  EXPECT_NEAR(reward({true, 0.5}, {true, 1}) - reward({true, 1}, {true, 1}), std::log(2), 1e-12);
}

}  // namespace
}  // namespace kw::search
