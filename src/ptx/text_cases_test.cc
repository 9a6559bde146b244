// Runs every case of tests/ptx/*.test. A file holds cases separated by lines of ====:
//
//   # What the case shows.
//   VERB [module] [target=sm_80] [version=9.0]
//   PTX
//   ----
//   EXPECTED
//
// Without `module` the PTX is the body of a kernel that has registers %p %h %r %d %f %e %q.
// roundtrip      parses, prints; EXPECTED is the print of the body (or module); tokens must be the same
// parse-error    EXPECTED: "line:column: regex of the message", then a regex for each note
// verify-error   the same for every error that verification finds
// verify-ok      parses and verifies without complaint; nothing is expected
// KW_UPDATE=1 in the environment rewrites EXPECTED.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "ptx/parser.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"
#include "ptx/token_stream_for_test.h"

namespace kw::ptx {
namespace {

constexpr std::string_view kPrologue =
    ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<300>; .reg .b64 %d<99>; .reg .f32 %f<300>; .reg .f64 %e<9>; .reg .b128 %q<9>;";

struct Case {
  std::string comment, verb_line, verb, body, expected;
  bool module = false;
  std::string target = "sm_80", version = "9.0";
};

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Case> read_cases(const std::filesystem::path& path) {
  std::vector<Case> cases;
  std::istringstream file(read(path));
  std::string line;
  Case current;
  enum class Part { kHead, kBody, kExpected } part = Part::kHead;
  const auto flush = [&] {
    if (!current.verb.empty()) cases.push_back(current);
    current = {};
    part = Part::kHead;
  };
  while (std::getline(file, line)) {
    if (line == "====") {
      flush();
    } else if (part == Part::kHead) {
      if (line.empty() || line[0] == '#') {
        current.comment += line + "\n";
        continue;
      }
      current.verb_line = line;
      std::istringstream words(line);
      words >> current.verb;
      for (std::string word; words >> word;) {
        if (word == "module") current.module = true;
        else if (word.starts_with("target=")) current.target = word.substr(7);
        else if (word.starts_with("version=")) current.version = word.substr(8);
        else current.verb = "unknown option " + word;
      }
      part = Part::kBody;
    } else if (line == "----" && part == Part::kBody) {
      part = Part::kExpected;
    } else {
      (part == Part::kBody ? current.body : current.expected) += line + "\n";
    }
  }
  flush();
  return cases;
}

void write_cases(const std::filesystem::path& path, const std::vector<Case>& cases) {
  std::ofstream file(path, std::ios::binary);
  for (size_t i = 0; i < cases.size(); ++i)
    file << (i == 0 ? "" : "====\n") << cases[i].comment << cases[i].verb_line << "\n" << cases[i].body << "----\n" << cases[i].expected;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// "line:column: message" and the notes, a line each; lines count from the case's own first line.
std::vector<std::string> lines_of(const Error& error, int offset) {
  std::vector<std::string> lines;
  const int line = error.span ? error.span->line - offset : 0;
  lines.push_back(fmt::format("{}:{}: {}", line, error.span ? error.span->column : 0, error.message));
  for (const std::string& note : error.notes) lines.push_back("  note: " + note);
  return lines;
}

class TextCase : public testing::Test {
 public:
  TextCase(std::filesystem::path path, size_t index) : path_(std::move(path)), index_(index) {}

  void TestBody() override {
    const std::vector<Case> cases = read_cases(path_);
    ASSERT_LT(index_, cases.size());
    const Case& one = cases[index_];
    const int offset = one.module ? 0 : 5;
    const std::string text = one.module ? one.body
                                        : fmt::format(".version {}\n.target {}\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{ {}\n{}}}\n",
                                                      one.version, one.target, kPrologue, one.body);
    auto module = parse(text, "case.ptx");
    std::vector<std::string> found;
    if (one.verb == "parse-error") {
      ASSERT_FALSE(module.has_value()) << "parsed, but should not";
      EXPECT_TRUE(!module.error().notes.empty() || module.error().message.starts_with("expected ")) << "an error without a remedy: " << module.error().message;
      found = lines_of(module.error(), offset);
    } else {
      ASSERT_TRUE(module.has_value()) << format_error(module.error());
      if (one.verb == "roundtrip") {
        const std::string printed = print(*module);
        EXPECT_EQ(tokens_of(printed), tokens_of(text));
        auto again = parse(printed, "printed.ptx");
        ASSERT_TRUE(again.has_value()) << format_error(again.error());
        EXPECT_EQ(print(*again), printed);
        return compare_print(cases, one, printed);
      }
      for (const Error& error : verify(*module, 50)) {
        EXPECT_FALSE(error.notes.empty()) << "an error without a remedy: " << error.message;
        for (std::string& line : lines_of(error, offset)) found.push_back(std::move(line));
      }
      if (one.verb == "verify-ok") {
        EXPECT_TRUE(found.empty()) << testing::PrintToString(found);
        return;
      }
      ASSERT_EQ(one.verb, "verify-error") << "unknown verb";
      EXPECT_FALSE(found.empty()) << "verifies, but should not";
    }
    if (std::getenv("KW_UPDATE") != nullptr) {
      std::string expected;
      for (const std::string& line : found) expected += escaped(line) + "\n";
      return update(cases, expected);
    }
    std::vector<std::string> expected;
    std::istringstream lines(one.expected);
    for (std::string line; std::getline(lines, line);) expected.push_back(line);
    ASSERT_EQ(found.size(), expected.size()) << testing::PrintToString(found);
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(std::regex_match(found[i], std::regex(expected[i]))) << "found:    " << found[i] << "\nexpected: " << expected[i];
  }

 private:
  void compare_print(const std::vector<Case>& cases, const Case& one, const std::string& printed) {
    std::string shown = printed;
    if (!one.module) {  // the body's statements, without the prologue's registers
      const size_t begin = printed.find("%q<9>;\n") + 7;
      shown = printed.substr(begin, printed.rfind('}') - begin);
    }
    if (std::getenv("KW_UPDATE") != nullptr) return update(cases, shown);
    EXPECT_EQ(shown, one.expected);
  }
  void update(std::vector<Case> cases, std::string expected) {
    cases[index_].expected = std::move(expected);
    write_cases(path_, cases);
  }

  std::filesystem::path path_;
  size_t index_;
};

const bool kRegistered = [] {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(KW_SOURCE_DIR "/tests/ptx"))
    if (entry.path().extension() == ".test") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    const std::vector<Case> cases = read_cases(path);
    for (size_t i = 0; i < cases.size(); ++i)
      testing::RegisterTest("PtxText", fmt::format("{}_{}", path.stem().string(), i + 1).c_str(), nullptr, nullptr, path.c_str(), 1,
                            [path, i]() -> TextCase* { return new TextCase(path, i); });
  }
  return true;
}();

TEST(PtxTextFiles, AreRegistered) { EXPECT_TRUE(kRegistered); }

}  // namespace
}  // namespace kw::ptx
