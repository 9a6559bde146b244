// Damaged databases, read-only folders, full disks: clear errors with a remedy, and no crash.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/hash.h"
#include "base/rng.h"
#include "store/store.h"

namespace kw::store {
namespace {

struct TroubleTest : testing::Test {
  TempDir folder = *TempDir::create("kw-store");
  std::string path = folder / "store.db";
  void fill(int rows) {
    auto store = *Store::open(folder.path());
    const int64_t run = store.create_run({})->id;
    Rows step;
    for (int i = 0; i < rows; ++i) step.events.push_back({run, i, "e", std::string(200, 'x')});
    ASSERT_TRUE(store.add(step));
  }
};

void expect_remedy(const Error& error, ErrorCode code) {
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_FALSE(error.notes.empty()) << error.message;
  EXPECT_NE(error.message.find('/'), std::string::npos) << "the place: " << error.message;
}

TEST_F(TroubleTest, WhatIsNoDatabase) {
  ASSERT_TRUE(write_file(path, std::string(5000, 'x')));
  const auto store = Store::open(folder.path());
  ASSERT_FALSE(store);
  expect_remedy(store.error(), ErrorCode::kInvalid);
  EXPECT_EQ(read_file(path)->size(), 5000u) << "it is left as it is";
}

// Bytes of a good database are overwritten anywhere: it is read, or it is an error.
TEST_F(TroubleTest, ADamagedDatabase) {
  fill(200);
  ASSERT_TRUE(Database::open(path)->run("PRAGMA wal_checkpoint(TRUNCATE)"));
  const std::string good = *read_file(path);
  Rng rng(5);
  int errors = 0;
  for (int trial = 0; trial < 150; ++trial) {
    std::string bytes = good;
    const uint64_t length = 1 + rng.below(trial % 3 == 0 ? 4000 : 20);
    const uint64_t from = rng.below(trial % 2 == 0 ? bytes.size() : 4096);
    for (uint64_t i = from; i < std::min<uint64_t>(bytes.size(), from + length); ++i)
      bytes[i] = static_cast<char>(rng.below(256));
    if (trial % 10 == 9) bytes.resize(rng.below(bytes.size()));
    for (const char* extra : {"-wal", "-shm"}) std::filesystem::remove(path + extra);
    ASSERT_TRUE(write_file(path, bytes));
    auto store = Store::open(folder.path());
    if (!store) {
      ++errors;
      EXPECT_FALSE(store.error().message.empty());
      continue;
    }
    const auto runs = store->runs();
    const auto rows = store->rows(1);
    const auto added = store->add({.events = {{1, 1'000'000, "e", "{}"}}});
    errors += !runs || !rows || !added;
    for (const Error* error :
         {runs ? nullptr : &runs.error(), rows ? nullptr : &rows.error(), added ? nullptr : &added.error()})
      if (error != nullptr) {
        EXPECT_FALSE(error->message.empty());
      }
  }
  EXPECT_GT(errors, 30);
}

TEST_F(TroubleTest, AColumnThatHoldsSomethingElse) {
  fill(1);
  ASSERT_TRUE(Database::open(path)->run("UPDATE runs SET state = 17"));
  const auto runs = Store::open(folder.path())->runs();
  ASSERT_FALSE(runs);
  expect_remedy(runs.error(), ErrorCode::kInvalid);
  EXPECT_NE(runs.error().message.find("'state'"), std::string::npos);
}

TEST_F(TroubleTest, ADatabaseThatSomebodyHolds) {
  fill(1);
  auto holder = *Database::open(path);
  ASSERT_TRUE(holder.run("BEGIN EXCLUSIVE"));
  auto waiting = *Database::open(path, 50);
  const auto refused = waiting.run("BEGIN IMMEDIATE");
  ASSERT_FALSE(refused);
  expect_remedy(refused.error(), ErrorCode::kLimit);
}

TEST_F(TroubleTest, AFolderThatIsNoFolder) {
  ASSERT_TRUE(write_file(folder / "file", ""));
  for (const std::string& place : {folder / "file", std::string("/proc/nothing/here")}) {
    const auto store = Store::open(place);
    ASSERT_FALSE(store);
    expect_remedy(store.error(), ErrorCode::kIo);
  }
}

// In a child, as a user who may not write there when this one is root.
TEST_F(TroubleTest, AReadOnlyFolder) {
  fill(1);
  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(chmod((folder / "store.lock").c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(0);
    const auto store = Store::open(folder.path());
    _exit(!store && store.error().code == ErrorCode::kIo && !store.error().notes.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  chmod(folder.path().c_str(), 0755);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// A limit on the size of files does what a full disk does: the write fails. What was there before is there
// after.
TEST_F(TroubleTest, AFullDisk) {
  fill(10);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    auto store = Store::open(folder.path());
    if (!store) _exit(1);
    const rlimit limit{256 << 10, 256 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int64_t i = 100; i < 2000; ++i) {
      const auto added = store->add({.events = {{1, i, "e", std::string(4000, 'x')}}});
      if (added) continue;
      if (added.error().code != ErrorCode::kIo || added.error().notes.empty()) _exit(2);
      const auto object = store->put(std::string(1 << 20, 'o'));
      if (object || object.error().code != ErrorCode::kIo) _exit(3);
      const auto rows = store->rows(1);
      _exit(!rows || rows->events.size() == static_cast<size_t>(10 + i - 100) ? 0 : 4);
    }
    _exit(5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  auto store = *Store::open(folder.path());
  EXPECT_GE(store.rows(1)->events.size(), 10u);
  EXPECT_TRUE(store.add({.events = {{1, 5000, "e", "{}"}}}));
  for (const auto& entry : std::filesystem::directory_iterator(folder / "objects"))
    ADD_FAILURE() << "left behind: " << entry.path();
}

TEST_F(TroubleTest, WhatIsTooLargeForARow) {
  fill(1);
  auto store = *Store::open(folder.path());
  const auto added = store.add({.events = {{1, 7, "e", std::string((64 << 20) + 1, 'x')}}});
  ASSERT_FALSE(added);
  expect_remedy(added.error(), ErrorCode::kLimit);
  EXPECT_TRUE(store.add({.events = {{1, 7, "e", "{}"}}}));
}

TEST_F(TroubleTest, MissingAndDamagedObjects) {
  auto store = *Store::open(folder.path());
  expect_remedy(store.object(hash_hex("absent")).error(), ErrorCode::kNotFound);
  const std::string hash = *store.put("text");
  ASSERT_TRUE(write_file(folder / ("objects/" + hash), "taxt"));
  expect_remedy(store.object(hash).error(), ErrorCode::kInvalid);
  EXPECT_EQ(store.object("../store.db").error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace kw::store
