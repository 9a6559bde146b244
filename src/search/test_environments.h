// Environments for the tests of search.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "base/hash.h"
#include "base/rng.h"
#include "search/search.h"

namespace kw::search {

// A tree whose every node, its time and its number of children are a function of the seed; some children
// fail, some are slower.
class RandomTree : public Environment {
 public:
  explicit RandomTree(uint64_t seed, uint64_t most_children = 12, double fails = 0.3)
      : seed_(seed), most_children_(most_children), fails_(fails) {}

  Root root() const { return {"r", {.works = true, .seconds = 1}}; }
  int longest_wait_us = 0;  // of each call, to mix up the order in which they end
  std::atomic<int> calls = 0, at_once = 0, most_at_once = 0;

  Result<std::vector<Proposal>> propose(const Situation& situation) override {
    wait(situation.step);
    const std::string& parent = situation.path.back().proposal.state;
    const uint64_t children =
        parent == "r" ? most_children_ : random("children", parent).below(most_children_ + 1);
    const size_t known = situation.children.size() + situation.waiting.size();
    std::vector<Proposal> out;
    for (size_t i = known; i < std::min<size_t>(children, known + static_cast<size_t>(situation.count)); ++i)
      out.push_back({parent + "." + std::to_string(i), "idea" + std::to_string(i % 3),
                     random("priority", parent).at(i) % 100 / 100.0});
    return out;
  }

  Result<Outcome> evaluate(const Assignment& assignment) override {
    wait(assignment.step);
    {
      const std::lock_guard lock(mutex_);
      EXPECT_TRUE(evaluated_.insert(assignment.proposal.state).second)
          << assignment.proposal.state << " twice";
    }
    Rng rng = random("outcome", assignment.proposal.state);
    Outcome out;
    out.works = rng.uniform() >= fails_;
    out.seconds = std::exp(0.5 * rng.normal() - 0.1 * static_cast<double>(assignment.proposal.state.size()));
    out.spread = 0.01;
    out.joules = out.seconds * rng.uniform(50, 100);
    return out;
  }
  void forget() { evaluated_.clear(); }

 private:
  Rng random(const char* what, const std::string& state) const {
    return Rng(seed_, hash_64(state)).fork(what);
  }
  void wait(uint64_t step) {
    ++calls;
    const int now = ++at_once;
    for (int most = most_at_once; now > most && !most_at_once.compare_exchange_weak(most, now);) {
    }
    if (longest_wait_us > 0) {
      // Unlike from run to run.
      const auto mixed =
          static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) * 7919 +
          step * 104729;
      std::this_thread::sleep_for(std::chrono::microseconds(mixed % static_cast<uint64_t>(longest_wait_us)));
    }
    --at_once;
  }

  uint64_t seed_, most_children_;
  double fails_;
  std::mutex mutex_;
  std::set<std::string> evaluated_;
};

// Answers with functions.
struct Scripted : Environment {
  std::function<std::vector<Proposal>(const Situation&)> proposals;
  std::function<Outcome(const Assignment&)> outcome;
  Result<std::vector<Proposal>> propose(const Situation& s) override { return proposals(s); }
  Result<Outcome> evaluate(const Assignment& a) override { return outcome(a); }
};

// Keeps what it records.
struct Recorder {
  std::vector<Event> events;
  Hooks hooks() {
    return {.record = [this](const Event& event) -> Status {
      events.push_back(event);
      return {};
    }};
  }
  std::vector<Event> by_step() const {
    std::vector<Event> out = events;
    std::sort(out.begin(), out.end(), [](const Event& a, const Event& b) { return a.step < b.step; });
    return out;
  }
};

inline constexpr Strategy kStrategies[] = {Strategy::kMcts, Strategy::kGreedy, Strategy::kBestOfN};

}  // namespace kw::search
