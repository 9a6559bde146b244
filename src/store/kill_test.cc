// A writer is killed at random moments: what it was told is stored is there, in order, and the database is
// whole.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/file.h"
#include "base/rng.h"
#include "base/unique_fd.h"
#include "store/store.h"

namespace kw::store {
namespace {

// Steps of a run: an object, a node that names it, and an event, acknowledged by a byte each.
[[noreturn]] void write_until_killed(const std::string& folder, int acknowledge) {
  auto store = Store::open(folder);
  if (!store) _exit(1);
  auto run = store->create_run({.kind = "killed"});
  if (!run) _exit(2);
  for (int64_t i = 0;; ++i) {
    const auto object = store->put(fmt::format("{} {}", run->id, i));
    if (!object) _exit(3);
    if (!store->add({.nodes = {{run->id, i, std::nullopt, *object}}, .events = {{run->id, i, "step", "{}"}}}))
      _exit(4);
    if (write(acknowledge, "x", 1) != 1) _exit(5);
  }
}

TEST(Kill, NothingAcknowledgedIsLost) {
  const TempDir folder = *TempDir::create("kw-store");
  Rng rng(std::chrono::steady_clock::now().time_since_epoch().count());
  constexpr int kKills = 120;
  size_t steps = 0;
  for (int kill_number = 0; kill_number < kKills; ++kill_number) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const UniqueFd in(ends[0]);
    UniqueFd out(ends[1]);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_until_killed(folder.path(), out.get());
    out.reset();
    // From before the store is open to tens of steps; half the time after some have been acknowledged.
    size_t acknowledged = 0;
    char bytes[256];
    for (uint64_t wanted = rng.below(2) * rng.below(8); acknowledged < wanted;) {
      const ssize_t n = read(in.get(), bytes, sizeof bytes);
      ASSERT_GT(n, 0);
      acknowledged += static_cast<size_t>(n);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(acknowledged > 0 ? 5'000 : 20'000)));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << WEXITSTATUS(status);
    for (ssize_t n = 0; (n = read(in.get(), bytes, sizeof bytes)) > 0;)
      acknowledged += static_cast<size_t>(n);

    auto store = Store::open(folder.path());
    ASSERT_TRUE(store) << format_error(store.error());
    const auto runs = *store->runs();
    if (runs.empty() || runs.back().owner_pid != child) {
      ASSERT_EQ(acknowledged, 0u);
      continue;
    }
    EXPECT_FALSE(owner_lives(runs.back()));
    const Rows rows = *store->rows(runs.back().id);
    ASSERT_GE(rows.events.size(), acknowledged);
    ASSERT_LE(rows.events.size(), acknowledged + 1) << "at most the one in flight besides";
    ASSERT_EQ(rows.nodes.size(), rows.events.size()) << "a step is whole";
    for (size_t i = 0; i < rows.events.size(); ++i) {
      ASSERT_EQ(rows.events[i].index, static_cast<int64_t>(i));
      ASSERT_EQ(*store->object(rows.nodes[i].candidate), fmt::format("{} {}", runs.back().id, i));
    }
    steps += rows.events.size();
    if (kill_number % 20 == 19) {
      const auto check = *Database::open(folder / "store.db")->run("PRAGMA integrity_check");
      ASSERT_EQ(check, (std::vector<Values>{{std::string("ok")}}));
    }
  }
  EXPECT_GT(steps, 100u) << "the kills came too early to tell anything";
}

TEST(Kill, TwoProcessesWriteAtOnce) {
  const TempDir folder = *TempDir::create("kw-store");
  constexpr int kWriters = 2, kSteps = 150;
  std::vector<pid_t> children;
  for (int w = 0; w < kWriters; ++w) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = Store::open(folder.path());  // one of them makes it
      auto run = store ? store->create_run({}) : Result<RunRow>(tl::unexpected(store.error()));
      if (!run) _exit(1);
      for (int64_t i = 0; i < kSteps; ++i) {
        // Both the same key: what one reads and then writes, the other may have written in between.
        if (!store->add({.nodes = {{run->id, i}},
                         .events = {{run->id, i, "step", "{}"}},
                         .memory = {{"both", std::to_string(i)}}}))
          _exit(2);
        if (!store->rows(run->id)) _exit(3);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  auto store = *Store::open(folder.path());
  const std::vector<RunRow> runs = *store.runs();
  ASSERT_EQ(runs.size(), size_t{kWriters});
  for (const RunRow& run : runs) EXPECT_EQ(store.rows(run.id)->events.size(), size_t{kSteps});
}

}  // namespace
}  // namespace kw::store
