// Environments that behave badly.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "search/search.h"
#include "search/test_environments.h"

namespace kw::search {
namespace {

const Root kStart{"r", {.works = true, .seconds = 1}};

// `children` of each node, all with the outcome.
Scripted every(uint64_t children, std::function<Outcome(const Assignment&)> outcome) {
  Scripted out;
  out.proposals = [children](const Situation& s) {
    std::vector<Proposal> proposals;
    for (size_t i = s.children.size(); i < children && i < s.children.size() + static_cast<size_t>(s.count);
         ++i)
      proposals.push_back({fmt::format("{}.{}", s.path.back().proposal.state, i), "idea", 0.5});
    return proposals;
  };
  out.outcome = std::move(outcome);
  return out;
}

struct Pathology : testing::TestWithParam<std::tuple<Strategy, int>> {
  Options options{.strategy = std::get<0>(GetParam()),
                  .seed = 3,
                  .evaluations = 100,
                  .in_flight = std::get<1>(GetParam())};
};

TEST_P(Pathology, NoChildren) {
  Scripted environment = every(0, {});
  const auto found = run(environment, kStart, options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ended, Ended::kExhausted);
  EXPECT_EQ(found->evaluations, 0u);
  EXPECT_EQ(found->best, kRoot);
  EXPECT_EQ(found->asks, kMostBarren);
}

TEST_P(Pathology, AllChildrenFail) {
  Scripted environment =
      every(1'000'000, [](const Assignment&) { return Outcome{.works = false, .seconds = 0.1}; });
  const auto found = run(environment, kStart, options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->evaluations, 100u) << "one more attempt might work";
  EXPECT_EQ(found->best, kRoot);
  for (NodeId id = 1; id < found->tree.size(); ++id)
    EXPECT_EQ(found->tree[id].parent, kRoot) << "nothing grows from a dead end";
}

TEST_P(Pathology, InfiniteBranchingStillGoesDeep) {
  // Each child is better than its parent, none than its siblings.
  Scripted environment = every(1'000'000'000, [](const Assignment& a) {
    const auto depth = static_cast<double>(std::count(a.proposal.state.begin(), a.proposal.state.end(), '.'));
    return Outcome{.works = true, .seconds = std::exp(-0.3 * depth)};
  });
  const auto found = run(environment, kStart, options);
  ASSERT_TRUE(found);
  EXPECT_GE(found->tree[found->best].depth, 4u);
}

TEST_P(Pathology, TimesThatAreNoTimesAreDeadEnds) {
  constexpr double kBad[] = {0, -0.0, -1, NAN, INFINITY, -INFINITY};
  Scripted environment = every(1000, [&](const Assignment& a) {
    return Outcome{
        .works = true, .seconds = kBad[a.node % 6], .spread = kBad[a.node % 5], .joules = kBad[a.node % 4]};
  });
  const auto found = run(environment, kStart, options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->best, kRoot);
  EXPECT_EQ(found->evaluations, 100u);
}

TEST_P(Pathology, ExtremeTimesAndUncertainties) {
  constexpr double kTimes[] = {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(),
                               1, 1e-9};
  constexpr double kOdd[] = {NAN, INFINITY, -1, 1e300, 0};
  Scripted environment = every(3, [&](const Assignment& a) {
    return Outcome{.works = true,
                   .seconds = kTimes[a.node % 4],
                   .spread = kOdd[a.node % 5],
                   .joules = kOdd[(a.node + 2) % 5]};
  });
  const auto found = run(environment, kStart, options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->evaluations, 100u);
  EXPECT_NE(found->best, kRoot);
}

TEST_P(Pathology, ARootThatDoesNotWork) {
  Scripted environment = every(
      1000, [](const Assignment& a) { return Outcome{.works = a.node % 3 == 0, .seconds = 1.0 / a.node}; });
  const auto found = run(environment, {"r", {}}, options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->evaluations, 100u);
  EXPECT_EQ(found->best, 99u);
}

TEST_P(Pathology, AllStatesEqualAreOne) {
  Scripted environment;
  environment.proposals = [](const Situation&) {
    return std::vector<Proposal>(7, Proposal{"the only one", "", 0.5});
  };
  environment.outcome = [](const Assignment&) { return Outcome{.works = true, .seconds = 1}; };
  const auto found = run(environment, kStart, options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->evaluations, 1u);
  EXPECT_EQ(found->ended, Ended::kExhausted);
  environment.proposals = [](const Situation&) { return std::vector<Proposal>{{"r", "", 0.5}}; };
  EXPECT_EQ(run(environment, kStart, options)->evaluations, 0u) << "the root, too, is known";
}

TEST_P(Pathology, MoreProposalsThanAskedForAreDropped) {
  size_t waiting = 0;
  Scripted environment = every(1000, [](const Assignment&) { return Outcome{}; });
  environment.proposals = [&, n = 0](const Situation& s) mutable {
    waiting = std::max(waiting, s.children.size());
    std::vector<Proposal> out;
    for (int i = 0; i < 50; ++i) out.push_back({std::to_string(n++), "", NAN});
    return out;
  };
  options.evaluations = 12;
  options.in_flight = 1;
  const auto found = run(environment, kStart, options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->asks, 3u) << "twelve evaluations, four proposals each";
  EXPECT_EQ(waiting, 8u);
}

TEST_P(Pathology, SettingsOfAnyValue) {
  for (const double odd : {0.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    RandomTree environment(1);
    options.proposals = 0;
    options.evaluations = 20;
    options.constants = {.width = odd,
                         .growth = odd,
                         .exploration = odd,
                         .advice = odd,
                         .greed = odd,
                         .patience = 0,
                         .trust = odd,
                         .chain = 0};
    EXPECT_TRUE(run(environment, environment.root(), options));
  }
}

INSTANTIATE_TEST_SUITE_P(
    EachStrategy, Pathology, testing::Combine(testing::ValuesIn(kStrategies), testing::Values(1, 4)),
    [](const auto& info) {
      return fmt::format(
          "{}_{}", std::array{"mcts", "greedy", "best_of_n"}[static_cast<size_t>(std::get<0>(info.param))],
          std::get<1>(info.param));
    });

}  // namespace
}  // namespace kw::search
