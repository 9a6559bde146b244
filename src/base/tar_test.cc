#include "base/tar.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/subprocess.h"

namespace kw {
namespace {

const std::vector<TarMember> kMembers{{"index/a", "one\n"}, {"empty", ""}, {std::string(100, 'n'), "x"}};

TEST(Tar, ComesBackAsItWas) {
  const auto bytes = write_tar(kMembers);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->size() % 512, 0u);
  const auto read = read_tar(*bytes, "t");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), kMembers.size());
  for (size_t i = 0; i < kMembers.size(); ++i) {
    EXPECT_EQ((*read)[i].name, kMembers[i].name);
    EXPECT_EQ((*read)[i].content, kMembers[i].content);
  }
  EXPECT_TRUE(read_tar(*write_tar({}), "t")->empty());
}

// The other implementation of the format.
TEST(Tar, TheToolTarReadsItAndWritesWhatWeRead) {
  const auto folder = TempDir::create("kw-tar-test");
  ASSERT_TRUE(folder);
  const auto tar = find_program("tar");
  if (!tar) GTEST_SKIP() << "no tar";
  ASSERT_TRUE(write_file(*folder / "a.tar", *write_tar(kMembers)));
  const auto listed = run_process({.argv = {*tar, "-tf", *folder / "a.tar"}});
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->out, "index/a\nempty\n" + std::string(100, 'n') + "\n") << listed->err;
  ASSERT_TRUE(write_file(*folder / "f", std::string(700, 'q')));
  const auto made = run_process({.argv = {*tar, "--format=ustar", "-C", folder->path(), "-cf", *folder / "b.tar", "f"}});
  ASSERT_TRUE(made && made->succeeded());
  const auto bytes = read_file(*folder / "b.tar");
  ASSERT_TRUE(bytes);
  const auto read = read_tar(*bytes, "b.tar");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->front().content, std::string(700, 'q'));
}

TEST(Tar, WhatIsCutShortOrAlteredIsAnError) {
  const std::string bytes = *write_tar(kMembers);
  for (size_t size = 0; size < bytes.size(); size += 100) {
    const auto read = read_tar(std::string_view(bytes).substr(0, size), "t");
    ASSERT_FALSE(read) << size;
    EXPECT_NE(read.error().message.find("cut short"), std::string::npos) << read.error().message;
  }
  for (size_t i = 0; i < 512; ++i) {   // any byte of a header but those of the sum itself
    if (i >= 148 && i < 156) continue;
    std::string other = bytes;
    other[i] ^= 1;
    EXPECT_FALSE(read_tar(other, "t")) << i;
  }
  EXPECT_FALSE(read_tar(std::string(4096, 'x'), "t"));
}

TEST(Tar, NamesAndSizesHaveBounds) {
  EXPECT_FALSE(write_tar({{std::string(101, 'n'), ""}}));
  EXPECT_FALSE(write_tar({{"", ""}}));
}

}  // namespace
}  // namespace kw
