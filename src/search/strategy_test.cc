#include "search/strategy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "search/search.h"
#include "search/test_environments.h"

namespace kw::search {
namespace {

TEST(Memory, StrengthIsAdviceRevisedByExperience) {
  Memory memory;
  EXPECT_EQ(strength(memory, "x", 0.8, 4), 0.8);
  EXPECT_EQ(strength(memory, "x", 7, 4), 1);
  EXPECT_EQ(strength(memory, "x", NAN, 4), 0.5);
  for (int i = 0; i < 4; ++i) remember(memory, "x", Trial::kFailed, 0, "");
  EXPECT_DOUBLE_EQ(strength(memory, "x", 0.8, 4), 0.4);
  EXPECT_TRUE(refuted(memory["x"]));
  remember(memory, "x", Trial::kFaster, 0.5, "");
  EXPECT_DOUBLE_EQ(strength(memory, "x", 0.8, 5), 0.5);
  EXPECT_FALSE(refuted(memory["x"]));
}

TEST(Memory, KeepsTheNewestRemarks) {
  Memory memory;
  for (int i = 0; i < 20; ++i) remember(memory, "x", Trial::kSlower, 0, fmt::format("{}", i / 2));
  EXPECT_EQ(memory["x"].remarks.size(), kRemarks);
  EXPECT_EQ(memory["x"].remarks.back(), "9");
  EXPECT_EQ(memory["x"].tried, 20u);
  remember(memory, "", Trial::kFaster, 1, "nothing");
  EXPECT_EQ(memory.size(), 1u);
}

// A tree with the given nodes settled; parents before children. Time 0: a dead end.
struct Grown {
  Tree tree{{"r", {.works = true, .seconds = 1}}};
  NodeId add(NodeId parent, double seconds, double priority = 0.5) {
    wait(parent, priority);
    const NodeId id = tree.issue({Choice::Kind::kEvaluate, parent, tree[parent].waiting.size() - 1});
    tree.settle({id, parent, tree[id].proposal, {.works = seconds > 0, .seconds = seconds}});
    return id;
  }
  void wait(NodeId parent, double priority) {
    tree.settle({parent, {{fmt::format("s{}", states++), "", priority}}}, 1);
  }
  int states = 0;
};

NodeId chosen(const Tree& tree, const Options& options) { return choose(tree, {}, options, 0).parent; }

TEST(Greedy, GoesOnFromTheBest) {
  Grown g;
  g.add(kRoot, 0.9);
  const NodeId b = g.add(kRoot, 0.5);
  g.add(kRoot, 0);
  EXPECT_EQ(chosen(g.tree, {.strategy = Strategy::kGreedy}), b);
  g.add(b, 0.7);
  EXPECT_EQ(chosen(g.tree, {.strategy = Strategy::kGreedy}), b) << "again and again";
}

TEST(BestOfN, WalksChainsFromTheRoot) {
  const Options options{.strategy = Strategy::kBestOfN, .constants = {.chain = 3}};
  Grown g;
  EXPECT_EQ(chosen(g.tree, options), kRoot);
  const NodeId a = g.add(kRoot, 2);
  EXPECT_EQ(chosen(g.tree, options), a) << "slower, but it works";
  g.add(a, 0);
  EXPECT_EQ(chosen(g.tree, options), a) << "past a dead end";
  g.add(a, 0.5);
  EXPECT_EQ(chosen(g.tree, options), kRoot) << "the next chain";
}

TEST(Mcts, TakesTheStrongestProposalThatWaits) {
  Grown g;
  for (const double priority : {0.2, 0.9, 0.4}) g.wait(kRoot, priority);
  const Choice choice = choose(g.tree, {}, {}, 0);
  EXPECT_EQ(choice.kind, Choice::Kind::kEvaluate);
  EXPECT_EQ(choice.waiting, 1u);
}

TEST(Mcts, GoesWhereItIsFast) {
  Grown g;
  g.add(kRoot, 0.9);
  const NodeId b = g.add(kRoot, 0.3);
  EXPECT_EQ(chosen(g.tree, {.constants = {.exploration = 0, .advice = 0}}), b);
}

TEST(Mcts, ExploresWhatWasVisitedLittle) {
  Grown g;
  const NodeId a = g.add(kRoot, 0.8);
  const NodeId b = g.add(kRoot, 0.5);
  for (int i = 0; i < 30; ++i) g.add(b, 0.6);
  EXPECT_EQ(chosen(g.tree, {.constants = {.width = 0.01, .exploration = 3}}), a);
}

TEST(Mcts, BranchesMoreWhereItIsFast) {
  // How many useless children the first of two nodes gets before the search turns elsewhere.
  const auto children_before_turning = [](double seconds) {
    Grown g;
    const NodeId first = g.add(kRoot, seconds);
    g.add(kRoot, 0.8);
    int n = 0;
    for (; n < 30; ++n) {
      if (chosen(g.tree, {.constants = {.width = 100, .exploration = 1, .patience = 1000}}) != first) break;
      g.add(first, 0);
    }
    return n;
  };
  EXPECT_GT(children_before_turning(0.25), children_before_turning(0.75));
}

TEST(Mcts, BranchesMoreWhereAdviceIsStrong) {
  // How many children, a little worse than their parent, it gets before the search goes on to one of them.
  const auto children_before_descending = [](double priority) {
    Grown g;
    g.wait(kRoot, priority);
    int n = 0;
    for (; n < 30; ++n) {
      if (chosen(g.tree, {.constants = {.width = 100, .exploration = 0, .advice = 1}}) != kRoot) break;
      g.add(kRoot, 1.01, 0.5);
    }
    return n;
  };
  EXPECT_GT(children_before_descending(1), children_before_descending(0));
}

TEST(Mcts, WidensWithWhatWasTried) {
  // A child is a little worse than its parent, so only the width lets the search go on to it.
  const auto before_descending = [](double width) {
    Grown g;
    int n = 0;
    for (; n < 20; ++n) {
      g.wait(kRoot, 0.5);
      if (chosen(g.tree, {.constants = {.width = width, .growth = 0.1, .exploration = 0, .advice = 0}}) !=
          kRoot)
        break;
      g.add(kRoot, 1.01);
    }
    return n;
  };
  EXPECT_EQ(before_descending(0.5), 1);
  EXPECT_GT(before_descending(4), 3);
}

TEST(Mcts, ClosesASubtreeThatGivesNothingAndOpensItWhenAllAreClosed) {
  Options options{.constants = {.exploration = 0, .advice = 0, .greed = 1, .patience = 3}};
  Grown g;
  const NodeId a = g.add(kRoot, 0.25), b = g.add(kRoot, 0.5);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(chosen(g.tree, options), a);
    g.add(a, 0);
  }
  EXPECT_NE(chosen(g.tree, options), a);
  for (int i = 0; i < 3; ++i) g.add(b, 0);
  EXPECT_EQ(chosen(g.tree, options), kRoot) << "the root is never closed";
  while (g.tree.has_room(kRoot)) g.tree.settle({kRoot, {}}, 1);
  EXPECT_EQ(chosen(g.tree, options), a) << "patience has doubled";
}

TEST(Mcts, WhatIsInFlightCountsAsALoss) {
  Grown g;
  const NodeId a = g.add(kRoot, 0.5), b = g.add(kRoot, 0.501);
  std::set<NodeId> chosen_ones;
  for (int i = 0; i < 6; ++i) {
    g.wait(a, 0.5);
    g.wait(b, 0.5);
    const Choice choice = choose(g.tree, {}, {.constants = {.width = 0.01}}, 0);
    chosen_ones.insert(choice.parent);
    if (choice.kind == Choice::Kind::kEvaluate) g.tree.issue(choice);
    if (choice.kind == Choice::Kind::kAsk) break;
  }
  EXPECT_GE(chosen_ones.size(), 2u) << "not all at one place";
}

TEST(Choose, WaitsForWhatIsComingAndThenIsDone) {
  for (const Strategy strategy : kStrategies) {
    Tree tree({"r", {.works = true, .seconds = 1}});
    const Options options{.strategy = strategy};
    tree.issue(choose(tree, {}, options, 0));
    EXPECT_EQ(choose(tree, {}, options, 1).kind, Choice::Kind::kWait);
    tree.settle({kRoot, {{"a", "", 0.5}}}, 4);
    tree.issue(choose(tree, {}, options, 1));
    for (int i = 0; i < 3; ++i) {
      const Choice choice = choose(tree, {}, options, 2);
      if (choice.kind == Choice::Kind::kWait) break;
      ASSERT_EQ(choice.kind, Choice::Kind::kAsk);
      tree.issue(choice);
      tree.settle({kRoot, {}}, 4);
    }
    EXPECT_EQ(choose(tree, {}, options, 2).kind, Choice::Kind::kWait) << "the child may have room";
    tree.settle({1, kRoot, tree[1].proposal, {}});
    EXPECT_EQ(choose(tree, {}, options, 2).kind, Choice::Kind::kExhausted);
  }
}

}  // namespace
}  // namespace kw::search
