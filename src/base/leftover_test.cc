#include "base/leftover.h"

#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>

#include "base/file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// As if it had been there for `minutes`.
void age(const std::string& path, int minutes) {
  const time_t then = time(nullptr) - 60 * minutes;
  const timespec times[2] = {{then, 0}, {then, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

class Leftover : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::create("leftover");
    ASSERT_TRUE(made);
    place_ = std::make_unique<TempDir>(std::move(*made));
  }
  std::string folder(const std::string& name) {
    const std::string path = *place_ / name;
    EXPECT_TRUE(make_folder(path + "/below"));
    EXPECT_TRUE(write_file(path + "/below/file", "x"));
    return path;
  }
  std::unique_ptr<TempDir> place_;
};

TEST_F(Leftover, AFolderThatNobodyHoldsAnyMoreGoes) {
  const std::string held = folder("ours.aaaaaa"), dropped = folder("ours.bbbbbb");
  auto claim = claim_folder(held);
  ASSERT_TRUE(claim);
  ASSERT_TRUE(claim_folder(dropped));   // given up at once
  age(held, 2);
  age(dropped, 2);
  sweep_claimed_folders(place_->path(), "ours");
  EXPECT_TRUE(fs::exists(held));
  EXPECT_FALSE(fs::exists(dropped));
}

TEST_F(Leftover, AKilledProcessHoldsNothing) {
  const std::string path = folder("ours.cccccc");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto claim = claim_folder(path);
    if (!claim || write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  age(path, 2);
  sweep_claimed_folders(place_->path(), "ours");
  EXPECT_TRUE(fs::exists(path)) << "held by a process that runs";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  sweep_claimed_folders(place_->path(), "ours");
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Leftover, WhatIsYoungOrNotOursStays) {
  const std::string young = folder("ours.dddddd"), unmarked = folder("ours.eeeeee"), longer = folder("ours.ffffffg"), other = folder("else.hhhhhh");
  for (const std::string& path : {young, longer, other}) ASSERT_TRUE(claim_folder(path));
  for (const std::string& path : {unmarked, longer, other}) age(path, 2);
  const std::string empty = *place_ / "ours.iiiiii";
  ASSERT_TRUE(make_folder(empty));
  age(empty, 2);
  ASSERT_EQ(symlink(unmarked.c_str(), (*place_ / "ours.jjjjjj").c_str()), 0);
  sweep_claimed_folders(place_->path(), "ours");
  for (const std::string& path : {young, unmarked, longer, other}) EXPECT_TRUE(fs::exists(path + "/below/file")) << path;
  EXPECT_FALSE(fs::exists(empty)) << "killed between making the folder and claiming it";
  EXPECT_TRUE(fs::is_symlink(*place_ / "ours.jjjjjj"));
}

TEST_F(Leftover, UnfinishedFilesAndFoldersGo) {
  ASSERT_TRUE(write_file(*place_ / "0123.json", "kept"));
  ASSERT_TRUE(write_file(*place_ / "0123.json.Ab3dE6", "half"));
  ASSERT_TRUE(write_file(*place_ / "4567.Ab3dE6", "being written"));
  const std::string half = folder("new.Ab3dE7");
  for (const std::string& path : {*place_ / "0123.json", *place_ / "0123.json.Ab3dE6", half}) age(path, 20);
  sweep_unfinished(place_->path());
  EXPECT_TRUE(fs::exists(*place_ / "0123.json"));
  EXPECT_TRUE(fs::exists(*place_ / "4567.Ab3dE6"));
  EXPECT_FALSE(fs::exists(*place_ / "0123.json.Ab3dE6"));
  EXPECT_FALSE(fs::exists(half));
  sweep_unfinished(place_->path(), 0);
  EXPECT_TRUE(fs::exists(*place_ / "0123.json"));
  EXPECT_FALSE(fs::exists(*place_ / "4567.Ab3dE6")) << "nobody else can be writing it";
}

}  // namespace
}  // namespace kw
