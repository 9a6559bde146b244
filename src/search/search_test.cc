#include "search/search.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "search/objective.h"
#include "search/test_environments.h"

namespace kw::search {
namespace {

std::vector<Event> events_of(RandomTree& environment, const Options& options) {
  environment.forget();
  Recorder recorder;
  const auto found = run(environment, environment.root(), options, {}, {}, recorder.hooks());
  EXPECT_TRUE(found);
  return recorder.by_step();
}

TEST(Search, IsTheSameEachTimeWhateverEndsFirst) {
  for (const Strategy strategy : kStrategies)
    for (const int in_flight : {1, 2, 4, 7})
      for (uint64_t seed = 0; seed < 3; ++seed) {
        SCOPED_TRACE(fmt::format("{} {} {}", name(strategy), in_flight, seed));
        RandomTree environment(seed);
        const Options options{.strategy = strategy, .seed = seed, .evaluations = 60, .in_flight = in_flight};
        const auto calm = events_of(environment, options);
        environment.longest_wait_us = 300;
        EXPECT_EQ(events_of(environment, options), calm);
        EXPECT_GT(calm.size(), 10u);
      }
}

TEST(Search, EvaluatesInParallel) {
  RandomTree environment(1, 20);
  environment.longest_wait_us = 2000;
  events_of(environment, {.evaluations = 60, .in_flight = 4});
  EXPECT_GT(environment.most_at_once, 1);
  EXPECT_LE(environment.most_at_once, 4);
}

TEST(Search, SeedsDiffer) {
  // Many equals, so that chance decides.
  Scripted environment;
  environment.proposals = [](const Situation& s) {
    std::vector<Proposal> out;
    for (int i = 0; i < 3; ++i)
      out.push_back(
          {fmt::format("{}/{}", s.path.back().proposal.state, s.seed % 1000 * 10 + static_cast<uint64_t>(i)),
           "", 0.5});
    return out;
  };
  environment.outcome = [](const Assignment&) { return Outcome{.works = true, .seconds = 1}; };
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Recorder recorder;
    ASSERT_TRUE(run(environment, {"r", {.works = true, .seconds = 1}}, {.seed = seed, .evaluations = 20}, {},
                    {}, recorder.hooks()));
    std::string text;
    for (const Event& event : recorder.events) text += event_json(event);
    seen.insert(text);
  }
  EXPECT_EQ(seen.size(), 5u);
}

TEST(Search, SpendsItsBudgetExactly) {
  for (const Strategy strategy : kStrategies)
    for (const int in_flight : {1, 3, 16})
      for (const uint64_t budget : {0, 1, 2, 5, 64}) {
        RandomTree environment(5, 1000);
        Recorder recorder;
        const auto found = run(environment, environment.root(),
                               {.strategy = strategy, .evaluations = budget, .in_flight = in_flight}, {}, {},
                               recorder.hooks());
        ASSERT_TRUE(found);
        EXPECT_EQ(found->ended, Ended::kBudget);
        EXPECT_EQ(found->evaluations, budget);
        EXPECT_EQ(found->tree.size(), budget + 1);
        EXPECT_EQ(static_cast<size_t>(environment.calls), recorder.events.size());
        EXPECT_EQ(environment.calls, static_cast<int>(found->evaluations + found->asks));
      }
}

TEST(Search, SeesTheWholeOfASmallTree) {
  for (const Strategy strategy : kStrategies)
    for (const int in_flight : {1, 5}) {
      size_t size = 0;
      for (uint64_t seed = 0; seed < 20; ++seed) {
        RandomTree environment(seed, 2, 0.4);
        const auto found =
            run(environment, environment.root(),
                {.strategy = strategy, .seed = seed, .evaluations = 400, .in_flight = in_flight});
        ASSERT_TRUE(found);
        if (found->ended != Ended::kExhausted) continue;
        for (NodeId id = 0; id < found->tree.size(); ++id) EXPECT_FALSE(found->tree.has_room(id));
        size += found->tree.size();
      }
      EXPECT_GT(size, 20u);
    }
}

TEST(Search, FindsTheBestOfWhatItSaw) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomTree environment(seed);
    const auto found =
        run(environment, environment.root(), {.seed = seed, .evaluations = 50, .in_flight = 3});
    ASSERT_TRUE(found);
    const double best = found->tree[found->best].outcome->seconds;
    for (NodeId id = 0; id < found->tree.size(); ++id)
      if (usable(*found->tree[id].outcome)) {
        EXPECT_LE(best, found->tree[id].outcome->seconds * 1.03);
      }
  }
}

TEST(Search, StopsWhenTold) {
  RandomTree environment(3, 1000);
  Recorder whole;
  ASSERT_TRUE(
      run(environment, environment.root(), {.evaluations = 50, .in_flight = 4}, {}, {}, whole.hooks()));
  environment.forget();
  Recorder recorder;
  Hooks hooks = recorder.hooks();
  int looks = 0;
  hooks.stop = [&] { return ++looks > 30; };
  const auto found = run(environment, environment.root(), {.evaluations = 50, .in_flight = 4}, {}, {}, hooks);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ended, Ended::kStopped);
  for (NodeId id = 0; id < found->tree.size(); ++id)
    EXPECT_TRUE(found->tree[id].outcome) << "those in flight are waited for";
  const auto events = recorder.by_step(), all = whole.by_step();
  ASSERT_LE(events.size(), all.size());
  EXPECT_TRUE(std::equal(events.begin(), events.end(), all.begin()))
      << "what was done is the beginning of the whole";
}

TEST(Search, ErrorsOfTheEnvironmentComeOut) {
  struct Failing : RandomTree {
    using RandomTree::RandomTree;
    Result<Outcome> evaluate(const Assignment& a) override {
      if (a.node == 9) return fail(ErrorCode::kIo, "the GPU fell off");
      return RandomTree::evaluate(a);
    }
  };
  for (const int in_flight : {1, 4}) {
    Failing environment(2, 1000);
    Recorder recorder;
    const auto found = run(environment, environment.root(), {.evaluations = 50, .in_flight = in_flight}, {},
                           {}, recorder.hooks());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message, "the GPU fell off");
    EXPECT_EQ(environment.at_once, 0) << "nothing runs any more";
    EXPECT_EQ(static_cast<size_t>(environment.calls), recorder.events.size()) << "the rest is recorded";
  }
}

TEST(Search, ErrorsOfTheRecorderComeOut) {
  RandomTree environment(2, 1000);
  Hooks hooks{.record = [](const Event& event) -> Status {
    if (event.step < 7) return {};
    return fail(ErrorCode::kIo, "the disk is full");
  }};
  const auto found = run(environment, environment.root(), {.evaluations = 50, .in_flight = 3}, {}, {}, hooks);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "the disk is full");
}

TEST(Search, ExceptionsOfTheEnvironmentComeOutToo) {
  for (const int in_flight : {1, 4}) {
    Scripted environment;
    environment.proposals = [](const Situation&) -> std::vector<Proposal> { throw InternalError("a bug"); };
    EXPECT_THROW((void)run(environment, {"r", {}}, {.in_flight = in_flight}), InternalError);
  }
}

TEST(Search, TellsWhatIsKnownWhereItAsks) {
  Scripted environment;
  int asked = 0;
  environment.proposals = [&](const Situation& s) -> std::vector<Proposal> {
    ++asked;
    EXPECT_EQ(s.count, 2);
    EXPECT_EQ(s.path.front().node, kRoot);
    EXPECT_EQ(s.path.back().node, s.parent);
    EXPECT_TRUE(s.waiting.empty());
    for (const Tried& child : s.children) EXPECT_TRUE(child.outcome);
    uint64_t tried = 0;
    for (const auto& [idea, experience] : s.memory) tried += experience.tried;
    EXPECT_EQ(tried > 0, asked > 1);
    const std::string& parent = s.path.back().proposal.state;
    return {{fmt::format("{}a{}", parent, s.children.size()), "a", 0.9},
            {fmt::format("{}b{}", parent, s.children.size()), "b", 0.85}};
  };
  environment.outcome = [](const Assignment& a) {
    return Outcome{.works = a.proposal.idea == "a",
                   .seconds = 1 / (1 + static_cast<double>(a.proposal.state.size())),
                   .learned = "because"};
  };
  const auto found =
      run(environment, {"r", {.works = true, .seconds = 1}}, {.evaluations = 40, .proposals = 2});
  ASSERT_TRUE(found);
  EXPECT_GT(asked, 5);
  const Experience& a = found->memory.at("a");
  EXPECT_EQ(a.tried, a.worked);
  EXPECT_GT(a.faster, 0u);
  EXPECT_GT(a.gain, 0);
  EXPECT_EQ(a.remarks, std::vector<std::string>{"because"});
  EXPECT_EQ(found->memory.at("b").worked, 0u);
  EXPECT_EQ(a.tried + found->memory.at("b").tried, 40u);
}

TEST(Search, MemoryOfEarlierRunsDecides) {
  Scripted environment;
  std::vector<std::string> order;
  environment.proposals = [](const Situation& s) -> std::vector<Proposal> {
    if (s.parent != kRoot) return {};
    return {{"x", "seldom good", 0.6}, {"y", "often good", 0.5}};
  };
  environment.outcome = [&](const Assignment& a) {
    order.push_back(a.proposal.state);
    return Outcome{};
  };
  const Root root{"r", {.works = true, .seconds = 1}};
  ASSERT_TRUE(run(environment, root, {}));
  EXPECT_EQ(order, (std::vector<std::string>{"x", "y"}));
  order.clear();
  ASSERT_TRUE(
      run(environment, root, {},
          {{"seldom good", {.tried = 500}}, {"often good", {.tried = 500, .worked = 500, .faster = 400}}}));
  EXPECT_EQ(order, (std::vector<std::string>{"y", "x"}));
}

}  // namespace
}  // namespace kw::search
