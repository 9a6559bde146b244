#include "store/store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "base/hash.h"
#include "store/owner.h"

namespace kw::store {
namespace {

struct StoreTest : testing::Test {
  TempDir folder = *TempDir::create("kw-store");
  Store open() {
    auto opened = Store::open(folder.path());
    if (!opened) throw std::runtime_error(format_error(opened.error()));
    return std::move(*opened);
  }
};

Rows sample(int64_t run) {
  Rows rows;
  rows.nodes = {{run, 0, std::nullopt, hash_hex("root"), "cuda", "judged", ""},
                {run, 1, 0, hash_hex("a"), "cuda", "judged", "tiles"}};
  rows.verdicts = {{run, 1, hash_hex("v"), "values", true, 1.25e-5},
                   {run, 0, hash_hex("w"), "compile", false, std::nullopt}};
  rows.metrics = {{run, 1, "dram_bytes", 1.0 / 3, "B", "emulator", "exact"},
                  {run, 1, "time", INFINITY, "s", "clock", "measured"}};
  rows.advice = {
      {run, 1, "coalescing", "x[i * 32]: \xc3\xa9 \"quoted\"; DROP TABLE nodes; --", 1.5, "a.cu:12"}};
  rows.exchanges = {{run, 0, hash_hex("p"), hash_hex("r"), "replay", 100, 20, 0.015, 3.5}};
  rows.evaluations = {{run, hash_hex("c"), hash_hex("e")}};
  rows.events = {{run, 0, "proposed", "{}"}, {run, 1, "evaluated", std::string("a\0b", 3)}};
  return rows;
}

TEST_F(StoreTest, RowsComeBackAsTheyWent) {
  Rows want;
  {
    Store store = open();
    const RunRow run =
        *store.create_run({.kind = "search", .problem = "p", .options = "{\"x\":1}", .seed = ~uint64_t{0}});
    EXPECT_EQ(run.id, 1);
    want = sample(run.id);
    ASSERT_TRUE(store.add(want));
    ASSERT_TRUE(store.add({.memory = {{"idea", "1"}, {"other", "2"}}}));
    ASSERT_TRUE(store.add({.memory = {{"idea", "3"}}}));
  }
  Store store = open();
  const RunRow run = *store.run(1);
  EXPECT_EQ(run.kind, "search");
  EXPECT_EQ(run.options, "{\"x\":1}");
  EXPECT_EQ(run.seed, ~uint64_t{0});
  EXPECT_EQ(store.runs()->size(), 1u);
  EXPECT_EQ(*store.memory(), (std::vector<MemoryRow>{{"idea", "3"}, {"other", "2"}}));
  std::swap(want.verdicts[0], want.verdicts[1]);  // read by node
  EXPECT_EQ(*store.rows(1), want);
}

TEST_F(StoreTest, ANumberThatIsNoneComesBackAsNone) {
  Store store = open();
  const int64_t run = store.create_run({})->id;
  ASSERT_TRUE(store.add({.nodes = {{run, 0}}, .metrics = {{run, 0, "x", NAN}}}));
  EXPECT_TRUE(std::isnan(store.rows(run)->metrics.at(0).value));
}

TEST_F(StoreTest, NodesMayGrowAndOtherRowsAreWrittenOnce) {
  Store store = open();
  const int64_t run = store.create_run({})->id;
  ASSERT_TRUE(store.add(sample(run)));
  ASSERT_TRUE(store.add({.nodes = {{run, 1, 0, "", "cuda", "timed", "fast"}}}));
  EXPECT_EQ(store.rows(run)->nodes.at(1).state, "timed");
  EXPECT_EQ(store.rows(run)->verdicts.size(), 2u) << "what is known of the node is still there";
  const auto again = store.add({.events = {{run, 1, "evaluated", "other"}}});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kInvalid);
}

TEST_F(StoreTest, AStepIsAllOrNothing) {
  Store store = open();
  const int64_t run = store.create_run({})->id;
  Rows rows = sample(run);
  rows.metrics.push_back({run, 99, "of a node that is not there"});
  EXPECT_FALSE(store.add(rows));
  EXPECT_EQ(*store.rows(run), Rows{});
  EXPECT_FALSE(store.add(sample(run + 1))) << "no such run";
  EXPECT_TRUE(store.add(sample(run))) << "the store works on";
}

TEST_F(StoreTest, WhatIsNotThere) {
  Store store = open();
  EXPECT_EQ(store.run(7).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store.rows(7).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store.set_state(7, RunState::kStopped).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store.object(hash_hex("nothing")).error().code, ErrorCode::kNotFound);
}

TEST_F(StoreTest, ObjectsAreSharedWithTheFolder) {
  Store store = open();
  const std::string hash = *store.put("bytes");
  EXPECT_EQ(*store.object(hash), "bytes");
  EXPECT_EQ(*open().object(hash), "bytes");
}

TEST_F(StoreTest, ADeadOwnerIsSeen) {
  Store store = open();
  RunRow run = *store.create_run({});
  EXPECT_TRUE(owner_lives(run));
  EXPECT_TRUE(store.beat(run.id));
  run.owner_pid = 1;
  EXPECT_FALSE(owner_lives(run)) << "a living process, but not the one that began it";
  run.owner_pid = 1 << 30;
  EXPECT_FALSE(owner_lives(run));
  RunRow elsewhere = *store.run(run.id);
  elsewhere.owner = "otherhost/x/y 123";
  EXPECT_TRUE(owner_lives(elsewhere)) << "its heartbeat is new";
  elsewhere.heartbeat_ms -= 7 * kHeartbeatMs;
  EXPECT_FALSE(owner_lives(elsewhere));
}

TEST_F(StoreTest, OnlyOneProcessOwnsARun) {
  Store store = open();
  const int64_t id = store.create_run({})->id;
  EXPECT_TRUE(store.claim(id)) << "its own";
  auto database = *Database::open(folder / "store.db");
  // As if the parent of this process had begun it.
  const auto owned_by = [&](int64_t pid, const std::string& owner) {
    ASSERT_TRUE(database.run("UPDATE runs SET owner_pid = ?, owner = ? WHERE id = ?", {pid, owner, id}));
  };
  owned_by(1 << 30, this_process());
  EXPECT_FALSE(store.beat(id)) << "it was taken over";
  EXPECT_TRUE(store.claim(id)) << "the owner is dead";
  EXPECT_TRUE(store.beat(id));
  owned_by(5, "otherhost 1");
  const auto refused = store.claim(id);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("process 5"), std::string::npos);
  ASSERT_TRUE(store.set_state(id, RunState::kStopped));
  EXPECT_TRUE(store.claim(id)) << "it had stopped";
  EXPECT_EQ(store.run(id)->state, RunState::kRunning);
}

TEST_F(StoreTest, TheFolderIsWhereItIsSaidToBe) {
  const auto with = [](const char* name, const char* value) {
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  };
  const char* home = std::getenv("HOME");
  const std::string before = home != nullptr ? home : "";
  with("KW_STORE", "/a"), with("XDG_DATA_HOME", "/b"), with("HOME", "/c");
  EXPECT_EQ(*store_folder(), "/a");
  with("KW_STORE", nullptr);
  EXPECT_EQ(*store_folder(), "/b/kernelwright");
  with("XDG_DATA_HOME", nullptr);
  EXPECT_EQ(*store_folder(), "/c/.local/share/kernelwright");
  with("HOME", nullptr);
  EXPECT_EQ(store_folder().error().code, ErrorCode::kNotFound);
  if (home != nullptr) with("HOME", before.c_str());
}

TEST_F(StoreTest, ManyWritersLoseNothing) {
  constexpr int kWriters = 4, kRows = 40;
  const int64_t run = open().create_run({})->id;
  std::vector<std::jthread> writers;
  for (int w = 0; w < kWriters; ++w)
    writers.emplace_back([&, w] {
      auto store = Store::open(folder.path());
      ASSERT_TRUE(store);
      for (int i = 0; i < kRows; ++i) {
        const auto added = store->add({.events = {{run, w * 1000 + i, "e", "{}"}}});
        ASSERT_TRUE(added) << format_error(added.error());
        ASSERT_TRUE(store->rows(run));
      }
    });
  writers.clear();
  EXPECT_EQ(open().rows(run)->events.size(), static_cast<size_t>(kWriters) * kRows);
}

}  // namespace
}  // namespace kw::store
