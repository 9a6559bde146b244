#include "codesearch/index.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"

namespace kw::codesearch {
namespace {

namespace fs = std::filesystem;

class IndexTest : public testing::Test {
 protected:
  void put(const std::string& path, std::string_view text) {
    fs::create_directories(fs::path(folder_ / path).parent_path());
    ASSERT_TRUE(write_file(folder_ / path, text).has_value());
  }
  Index make() { return std::move(*index(Roots{{{"r", folder_.path()}}, {}})); }
  static std::string places(const std::vector<Passage>& found) {
    std::string out;
    for (const Passage& passage : found) out += passage.path + ":" + std::to_string(passage.from) + "-" + std::to_string(passage.to) + " ";
    return out;
  }
  TempDir folder_ = std::move(*TempDir::create("kw-codesearch"));
};

TEST_F(IndexTest, FindsByNameByPartByCommentBySynonym) {
  put("a.cu", "// Waits for copies.\n__device__ void cpAsyncWait() {}\n");
  put("b.cu", "__device__ void multiply() { asm(\"wgmma.mma_async.sync\"); }\n");
  put("softmax.cu", "__global__ void k(float* x) { x[0] = 1; }\n");
  const Index index = make();
  EXPECT_EQ(places(index.find("cp.async")), "r/a.cu:1-2 r/b.cu:1-1 ");   // async is in both
  EXPECT_EQ(places(index.find("waiting for a copy")), "r/a.cu:1-2 ");
  EXPECT_EQ(places(index.find("tensor core")), "r/b.cu:1-1 ");
  EXPECT_EQ(places(index.find("softmax")), "r/softmax.cu:1-1 ");
  EXPECT_EQ(places(index.find("how is it")), "");
  EXPECT_EQ(places(index.find("unheard")), "");
  const Passage passage = index.find("cp.async").at(0);
  EXPECT_EQ(passage.name, "cpAsyncWait");
  EXPECT_EQ(passage.text, index.read(passage.path, passage.from, passage.to).value());
}

TEST_F(IndexTest, EqualsComeByPathAndLine) {
  for (const char* name : {"c.h", "a.h", "b.h"}) put(name, "int needle;\n");
  EXPECT_EQ(places(make().find("needle")), "r/a.h:1-1 r/b.h:1-1 r/c.h:1-1 ");
}

TEST_F(IndexTest, KeepsToTheBudget) {
  std::string text;
  for (int i = 0; i < 5; ++i) text += "# needle\n" + std::string("line\nline\n\n");
  put("a.md", text);
  put("b.md", text);
  const Index index = make();
  EXPECT_EQ(index.find("needle", {8, 16'000, 2}).size(), 4u);
  EXPECT_EQ(index.find("needle", {3, 16'000, 2}).size(), 3u);
  const auto cut = index.find("needle", {8, 30, 2});   // a passage has 19 bytes: nine of the second
  EXPECT_EQ(places(cut), "r/a.md:1-3 r/a.md:5-5 ");
  EXPECT_TRUE(cut.at(1).cut);
  EXPECT_FALSE(cut.at(0).cut);
  EXPECT_EQ(cut.at(1).text, "# needle\n");
  EXPECT_TRUE(index.find("needle", {8, 5, 2}).empty());
  EXPECT_TRUE(index.find("needle", {8, 0, 2}).empty());
  EXPECT_TRUE(index.find("needle", {0, 16'000, 2}).empty());
}

TEST_F(IndexTest, LinesThatSayNothingAreNoPassage) {
  put("needle.h", "// ------\n\n" + std::string("int a() {\n") + "  return 1;\n  // 1\n  // 2\n  // 3\n  // 4\n  // 5\n  // 6\n}\n\n// =====\n");
  for (const Passage& passage : make().find("needle")) EXPECT_LE(passage.from, 3u);
}

// Bytes that no editor writes: found or not, nothing crashes, and what is shown is text.
TEST_F(IndexTest, AnyBytes) {
  uint64_t state = 11;
  const auto draw = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  const char* extensions[] = {".cu", ".py", ".md", ".txt", ".h"};
  for (int i = 0; i < 60; ++i) {
    std::string bytes;
    for (uint64_t n = draw(20'000); n > 0; --n) bytes += draw(30) == 0 ? '\n' : static_cast<char>(1 + draw(255));
    put("random" + std::to_string(i) + extensions[i % 5], bytes + " needle");
  }
  put("line.cu", "needle " + std::string(kMostFileBytes - 100, '{'));
  put("words.txt", [&] { std::string text; while (text.size() < kMostFileBytes - 50) text += std::to_string(draw(1u << 30)) + "x "; return text; }());
  put("comment.h", "needle /*" + std::string(500'000, '*'));
  put("ifs.h", [] { std::string text = "needle\n"; for (int i = 0; i < 50'000; ++i) text += "#if {\n{\n#else\n"; return text; }());
  put("empty.h", "");
  const Index index = make();
  const auto found = index.find("needle", {100, 100'000, 3});
  EXPECT_GT(found.size(), 50u);
  for (const Passage& passage : found) {
    EXPECT_EQ(passage.text.find('\x1b'), std::string::npos);
    EXPECT_EQ(index.read(passage.path, passage.from, passage.to).value(), passage.text);
  }
  for (int i = 0; i < 500; ++i) {
    std::string question;
    for (uint64_t n = draw(300); n > 0; --n) question += static_cast<char>(draw(256));
    size_t characters = 0;
    for (const Passage& passage : index.find(question, {5, 3000, 2})) characters += passage.text.size();
    EXPECT_LE(characters, 3000u);
  }
  EXPECT_LE(index.find(std::string(1 << 20, 'x') + " needle").size(), 8u);
}

}  // namespace
}  // namespace kw::codesearch
