// What tests of whole runs share: a store, a run's events, and lives of it that are killed.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "agent/optimize.h"
#include "base/rng.h"

namespace kw::agent {

struct Place {
  explicit Place(const std::string& folder) : store(*store::Store::open(folder)), shared(store) {}
  store::Store store;
  SharedStore shared;
};

// In the order of its steps.
inline std::vector<std::string> events_of(Place& at, int64_t run) {
  auto rows = at.store.rows(run)->events;
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  std::vector<std::string> out;
  for (const auto& row : rows) out.push_back(row.json);
  return out;
}

// A run that no process owns: else it is the test's own, which lives, and no child can go on with it.
inline int64_t begin_and_leave(const std::string& folder, const Settings& settings, const std::string& problem, const std::string& source) {
  Place at(folder);
  const auto run = begin(at.shared, settings, problem, source);
  EXPECT_TRUE(run) << format_error(run.error());
  EXPECT_TRUE(at.store.set_state(*run, store::RunState::kStopped));
  return *run;
}

// Lives of a run, each in a process that is killed within `most_us`. How many were, and had not ended before.
inline int kill_lives(const std::string& folder, int64_t run, int lives, Rng& rng, uint64_t most_us, const std::function<void(Place&)>& live) {
  int killed = 0;
  for (int life = 0; life < lives; ++life) {
    const pid_t child = ::fork();
    if (child == 0) {
      Place at(folder);
      if (claim(at.shared, run)) live(at);
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(rng.below(most_us)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    killed += WIFSIGNALED(status) ? 1 : 0;
  }
  return killed;
}

}  // namespace kw::agent
