#include <gtest/gtest.h>

#include "search/search.h"
#include "search/test_environments.h"

namespace kw::search {
namespace {

struct Whole {
  std::vector<Event> arrived;  // in the order in which they were recorded
  std::vector<Event> by_step;
  NodeId best;
  Memory memory;
};

Whole whole(uint64_t seed, const Options& options) {
  RandomTree environment(seed);
  environment.longest_wait_us = options.in_flight > 1 ? 200 : 0;
  Recorder recorder;
  const auto found = run(environment, environment.root(), options, {}, {}, recorder.hooks());
  EXPECT_TRUE(found);
  EXPECT_GT(recorder.events.size(), options.evaluations);
  return {recorder.events, recorder.by_step(), found->best, found->memory};
}

TEST(Resume, GoesOnAsIfItHadNeverStoppedFromEveryMoment) {
  for (const Strategy strategy : kStrategies)
    for (const int in_flight : {1, 4}) {
      const Options options{.strategy = strategy, .seed = 11, .evaluations = 40, .in_flight = in_flight};
      const Whole all = whole(11, options);
      for (size_t moment = 0; moment <= all.arrived.size(); ++moment) {
        SCOPED_TRACE(fmt::format("{} {} {}", name(strategy), in_flight, moment));
        RandomTree environment(11);
        Recorder recorder;
        recorder.events.assign(all.arrived.begin(),
                               all.arrived.begin() + static_cast<std::ptrdiff_t>(moment));
        const std::vector<Event> before = recorder.events;
        const auto found = run(environment, environment.root(), options, {}, before, recorder.hooks());
        ASSERT_TRUE(found);
        EXPECT_EQ(recorder.by_step(), all.by_step);
        EXPECT_EQ(static_cast<size_t>(environment.calls), all.arrived.size() - moment)
            << "nothing is done twice, nothing recorded twice";
        EXPECT_EQ(found->best, all.best);
        EXPECT_EQ(found->memory, all.memory);
      }
    }
}

TEST(Resume, AnyOfTheEventsMayBeLost) {
  const Options options{.seed = 4, .evaluations = 40, .in_flight = 4};
  const Whole all = whole(4, options);
  Rng rng(1);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<Event> before;
    for (const Event& event : all.arrived)
      if (rng.uniform() < 0.9) before.push_back(event);
    RandomTree environment(4);
    Recorder recorder{before};
    const auto found = run(environment, environment.root(), options, {}, before, recorder.hooks());
    ASSERT_TRUE(found);
    EXPECT_EQ(recorder.by_step(), all.by_step);
  }
}

TEST(Resume, OtherSettingsKeepWhatWasDone) {
  const Whole all = whole(7, {.seed = 7, .evaluations = 30, .in_flight = 1});
  for (const Strategy strategy : kStrategies) {
    RandomTree environment(7, 1000);
    Recorder recorder{all.arrived};
    const Options options{.strategy = strategy, .seed = 8, .evaluations = 45, .in_flight = 3};
    const auto found = run(environment, environment.root(), options, {}, all.arrived, recorder.hooks());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->evaluations, 45u);
    const auto events = recorder.by_step();
    EXPECT_TRUE(std::equal(all.by_step.begin(), all.by_step.end(), events.begin()));
    const auto again = run(environment, environment.root(), options, {}, recorder.events);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->best, found->best);
  }
}

TEST(Resume, ASmallerBudgetEvaluatesNothingMore) {
  const Whole all = whole(7, {.seed = 7, .evaluations = 30});
  RandomTree environment(7);
  const auto found = run(environment, environment.root(), {.seed = 7, .evaluations = 10}, {}, all.arrived);
  ASSERT_TRUE(found);
  EXPECT_EQ(environment.calls, 0);
  EXPECT_EQ(found->evaluations, 30u);
}

// Events of another search, or damaged, are refused or harmless; nothing crashes, and the budget holds.
TEST(Resume, DamagedEventsAreRefusedOrHarmless) {
  const Options options{.seed = 4, .evaluations = 30, .in_flight = 2};
  const Whole all = whole(4, options);
  Rng rng(2);
  int refused = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<Event> events = all.by_step;
    for (uint64_t n = 1 + rng.below(3); n > 0; --n) {
      Event& event = events[rng.below(events.size())];
      switch (rng.below(6)) {
        case 0: event.step = rng.below(100); break;
        case 1:
          std::visit([&](auto& what) { what.parent = static_cast<NodeId>(rng.below(60)); }, event.what);
          break;
        case 2:
          std::visit([&](auto& what) { what.parent = static_cast<NodeId>(rng.next()); }, event.what);
          break;
        case 3: event.what = Proposed{static_cast<NodeId>(rng.below(20)), {}}; break;
        case 4: event.what = events[rng.below(events.size())].what; break;
        case 5:
          if (auto* e = std::get_if<Evaluated>(&event.what)) {
            e->node = static_cast<NodeId>(rng.below(50));
            e->proposal.state += "?";
          }
      }
    }
    struct Empty : Environment {  // what damaged events lead to may be anything
      Result<std::vector<Proposal>> propose(const Situation&) override { return std::vector<Proposal>{}; }
      Result<Outcome> evaluate(const Assignment&) override { return Outcome{}; }
    } environment;
    const auto found = run(environment, {"r", {.works = true, .seconds = 1}}, options, {}, events);
    if (found) continue;
    ++refused;
    EXPECT_EQ(found.error().code, ErrorCode::kInvalid);
    EXPECT_FALSE(found.error().notes.empty());
  }
  EXPECT_GT(refused, 50);
  EXPECT_LT(refused, 400);
}

}  // namespace
}  // namespace kw::search
