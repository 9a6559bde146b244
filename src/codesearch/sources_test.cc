#include "codesearch/sources.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace kw::codesearch {
namespace {

namespace fs = std::filesystem;

class SourcesTest : public testing::Test {
 protected:
  void put(const std::string& path, std::string_view text) {
    fs::create_directories(fs::path(folder_ / path).parent_path());
    ASSERT_TRUE(write_file(folder_ / path, text).has_value());
  }
  Roots roots() { return Roots{{{"r", folder_.path()}}, {}}; }
  std::string paths(const Sources& sources) {
    std::string out;
    for (const File& file : sources.files()) out += file.path + " ";
    return out;
  }
  TempDir folder_ = std::move(*TempDir::create("kw-codesearch"));
};

TEST_F(SourcesTest, TakesTextOfKnownKindsAndCountsTheRest) {
  put("a.cu", "int a;\r\nint b;\r\n");
  put("deep/b.PY", "x = 1\n");
  put("image.png", "png");
  put("zero.h", std::string_view("a\0b", 3));
  put("large.h", std::string(kMostFileBytes + 1, 'x'));
  put(".hidden/c.h", "int c;\n");
  put(".d.h", "int d;\n");
  const auto sources = Sources::load(roots());
  ASSERT_TRUE(sources.has_value());
  EXPECT_EQ(paths(*sources), "r/a.cu r/deep/b.PY ");
  EXPECT_EQ(sources->files()[0].text, "int a;\nint b;\n");
  EXPECT_EQ(sources->left_out().other_kinds, 1u);
  EXPECT_EQ(sources->left_out().binary, 1u);
  EXPECT_EQ(sources->left_out().large, 1u);
  EXPECT_EQ(sources->left_out().cut, "");
}

TEST_F(SourcesTest, LinksAreNotFollowedAndPipesNotRead) {
  put("in/a.h", "int a;\n");
  fs::create_directory_symlink(folder_ / "in", folder_ / "in/loop");
  fs::create_symlink("/etc/passwd", folder_ / "in/secret.txt");
  ASSERT_EQ(mkfifo((folder_ / "in/pipe.h").c_str(), 0600), 0);
  const auto sources = Sources::load(roots());
  ASSERT_TRUE(sources.has_value());
  EXPECT_EQ(paths(*sources), "r/in/a.h ");
  // A root may be a link itself.
  fs::create_directory_symlink(folder_ / "in", folder_ / "link");
  EXPECT_EQ(paths(*Sources::load(Roots{{{"l", folder_ / "link"}}, {}})), "l/a.h ");
}

TEST_F(SourcesTest, OneFileUnderTwoRootsIsTakenOnce) {
  put("a/b.h", "int b;\n");
  EXPECT_EQ(paths(*Sources::load(Roots{{{"x", folder_ / "a"}, {"y", folder_.path()}, {"z", folder_ / "a/b.h"}}, {}})), "x/b.h ");
}

TEST_F(SourcesTest, BoundsCutAndSaySo) {
  for (int i = 0; i < 9; ++i) put("f" + std::to_string(i) + ".h", "int a;\n");
  Roots few = roots();
  few.most_files = 4;
  const auto by_count = Sources::load(few);
  EXPECT_EQ(paths(*by_count), "r/f0.h r/f1.h r/f2.h r/f3.h ");
  EXPECT_NE(by_count->left_out().cut, "");
  Roots small = roots();
  small.most_bytes = 15;
  const auto by_bytes = Sources::load(small);
  EXPECT_EQ(by_bytes->files().size(), 2u);
  EXPECT_NE(by_bytes->left_out().cut, "");
}

TEST_F(SourcesTest, UnreadableAndDeep) {
  put("a.h", "int a;\n");
  put("b.h", "int b;\n");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "d/";
  put(deep + "c.h", "int c;\n");
  ASSERT_EQ(chmod((folder_ / "b.h").c_str(), 0), 0);
  const auto sources = Sources::load(roots());
  ASSERT_TRUE(sources.has_value());
  EXPECT_EQ(paths(*sources), getuid() == 0 ? "r/a.h r/b.h " : "r/a.h ");   // root reads all
  EXPECT_EQ(sources->left_out().unreadable, getuid() == 0 ? 1u : 2u);
}

TEST_F(SourcesTest, ReadsLinesOfWhatItTookAndOfNothingElse) {
  put("a.h", "one\ntwo\nthree");
  put("sub/row.cu", "x\n");
  put("control.h", "a\x1b[31mb\xff\n" + std::string(2000, 'y') + "\n");
  const auto sources = Sources::load(roots());
  ASSERT_TRUE(sources.has_value());
  EXPECT_EQ(sources->read("r/a.h", 2, 3).value(), "two\nthree\n");
  EXPECT_EQ(sources->read("r/a.h", 3, 99).value(), "three\n");
  EXPECT_EQ(sources->read("r/control.h", 1, 1).value(), "a?[31mb?\n");
  EXPECT_EQ(sources->read("r/control.h", 2, 2).value(), std::string(kMostLineBytes, 'y') + "…\n");
  for (const std::string& path : std::vector<std::string>{"/etc/passwd", "r/../../etc/passwd", "r/sub/../a.h", "r//a.h", "a.h", "", "r", std::string(100'000, '/')})
    EXPECT_EQ(sources->read(path, 1, 2).error().code, ErrorCode::kNotFound) << path.substr(0, 50);
  EXPECT_EQ(sources->read("r/a.h", 0, 2).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(sources->read("r/a.h", 3, 2).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(sources->read("r/a.h", 4, 5).error().code, ErrorCode::kInvalid);
  EXPECT_NE(format_error(sources->read("row.cu", 1, 1).error()).find("did you mean r/sub/row.cu?"), std::string::npos);
  EXPECT_NE(format_error(sources->read("r/aa.h", 1, 1).error()).find("did you mean r/a.h?"), std::string::npos);
  put("long.h", [] { std::string text; for (int i = 0; i < 1000; ++i) text += "x\n"; return text; }());
  const auto again = Sources::load(roots());
  EXPECT_EQ(again->read("r/long.h", 1, kMostLinesRead + 1).error().code, ErrorCode::kLimit);
  EXPECT_TRUE(again->read("r/long.h", 601, UINT32_MAX).has_value());
}

TEST_F(SourcesTest, RootsThatAreNotThere) {
  EXPECT_EQ(roots_of({folder_ / "none"}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(roots_of({""}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Sources::load(Roots{}).error().code, ErrorCode::kNotFound);
}

TEST_F(SourcesTest, CutlassIsFoundOrSaidNotToBe) {
  const auto names = [] {
    std::string out;
    for (const Root& root : own_roots().places) out += root.name + " ";
    return out;
  };
  put("checkout/include/cutlass/a.h", "int a;\n");
  put("checkout/examples/b.cu", "int b;\n");
  setenv("KW_CUTLASS", (folder_ / "checkout").c_str(), 1);
  EXPECT_EQ(names(), "kernels include/kernelwright docs cutlass/include cutlass/examples ");
  EXPECT_TRUE(own_roots().notes.empty());
  setenv("KW_CUTLASS", (folder_ / "checkout/include").c_str(), 1);
  EXPECT_EQ(names(), "kernels include/kernelwright docs cutlass ");
  setenv("KW_CUTLASS", (folder_ / "checkout/examples").c_str(), 1);
  ASSERT_EQ(own_roots().notes.size(), 1u);
  EXPECT_NE(own_roots().notes[0].find("CUTLASS was not found"), std::string::npos);
  unsetenv("KW_CUTLASS");
}

}  // namespace
}  // namespace kw::codesearch
