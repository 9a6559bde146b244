// Every fixture of tests/judge and tests/triton (docs/formats/fixture.md), one GoogleTest case each, judged end to end: compiler and
// host code in the jail, device code on the emulator. Besides the verdict each case must keep the judge's house
// clean: no process of the candidate left, no temporary file left, no secret of the environment in what is said.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/jail.h"
#include "judge/evaluate.h"
#include "judge/fixture.h"
#include "judge/page.h"
#include "toolchain/toolchain.h"

namespace kw::judge {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSecretName = "KW_TEST_SECRET";
constexpr const char* kSecret = "hunter2-e1c5b7";
constexpr uint64_t kSeed = 20250611;

std::string source(const std::string& relative) { return std::string(KW_SOURCE_DIR) + "/" + relative; }

// Why nothing can be judged here; empty when it can.
std::string missing() {
  if (auto nvcc = toolchain::find_nvcc(); !nvcc) return nvcc.error().message;
  const JailSupport& jail = jail_support();
  return jail.kind == JailKind::kNone ? "no jail on this machine: " + jail.remedy : "";
}

std::string missing_triton() {
  const auto triton = toolchain::find_triton();
  return triton ? "" : triton.error().message;
}

// Processes that run a program of this candidate, by its key in the cache.
std::vector<std::string> left_running(const std::string& key) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const fs::path program = fs::read_symlink(entry.path() / "exe", ignored);
    if (!key.empty() && program.string().find(key) != std::string::npos) out.push_back(entry.path().string());
  }
  return out;
}

size_t columns(std::string_view line) {
  return static_cast<size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

class JudgeCase : public testing::Test {
 public:
  JudgeCase(Fixture fixture, std::string target) : fixture_(std::move(fixture)), target_(std::move(target)) {}

  void SetUp() override {
    static const std::string reason = missing();
    if (!reason.empty()) GTEST_SKIP() << reason;
    static const std::string no_triton = missing_triton();
    if (fixture_.candidate.ends_with(".py") && !no_triton.empty()) GTEST_SKIP() << no_triton;
    // Outside what is judged, so that a leftover in either shows.
    const std::string folder = std::string(KW_CASES_BUILD_DIR) + "/" + fixture_.name + "." + target_;
    fs::remove_all(folder);
    temporary_ = folder + "/tmp";
    ASSERT_TRUE(make_folder(temporary_));
    ::setenv("TMPDIR", temporary_.c_str(), 1);
    ::setenv(kSecretName, kSecret, 1);
    auto candidate = materialise(fixture_, folder);
    ASSERT_TRUE(candidate) << format_error(candidate.error());
    candidate_ = *candidate;
  }

  void TestBody() override {
    auto problem = problem::load_problem(fixture_.problem);
    ASSERT_TRUE(problem) << format_error(problem.error());
    judge::Options options;
    options.target = target_;
    options.seed = kSeed;
    options.cache_dir = std::string(KW_CASES_BUILD_DIR) + "/cache";
    if (fixture_.host_deadline_s > 0) options.host_deadline_s = fixture_.host_deadline_s;
    if (fixture_.record_deadline_s > 0) options.record_deadline_s = fixture_.record_deadline_s;
    if (fixture_.kernel_deadline_s > 0) options.kernel_deadline_s = fixture_.kernel_deadline_s;
    auto verdict = judge::evaluate(*problem, candidate_, options);
    ASSERT_TRUE(verdict) << format_error(verdict.error());

    const std::string page = judge::page(*verdict, source_text_of(candidate_));
    for (const std::string& why : mismatches(fixture_, *verdict, page)) ADD_FAILURE() << why << "\n" << page;
    const std::string json = judge::to_json(*verdict);
    check_house(*verdict, page, json);
    if (std::getenv("KW_SHOW_PAGES") != nullptr) std::fputs(page.c_str(), stdout);
  }

 private:
  void check_house(const judge::Verdict& verdict, const std::string& page, const std::string& json) {
    const auto parsed = nlohmann::json::parse(json, nullptr, false);
    ASSERT_TRUE(parsed.is_object()) << json;
    EXPECT_EQ(parsed.value("verdict", ""), fixture_.verdict);
    EXPECT_EQ(page.find(kSecret), std::string::npos) << page;
    EXPECT_EQ(json.find(kSecret), std::string::npos) << json;
    EXPECT_EQ(page.find('\x1b'), std::string::npos) << "a candidate's escape sequence reaches the terminal";
    size_t lines = 0;
    std::istringstream in(page);
    // The first line names the candidate by the path it was given, however long; a word is not broken.
    for (std::string line; std::getline(in, line); ++lines) {
      const std::string word = line.substr(std::min(line.find_first_not_of(' '), line.size()));
      if (lines > 0 && word.find(' ') != std::string::npos) {
        EXPECT_LE(columns(line), 100u) << line;
      }
    }
    EXPECT_LE(lines, 70u) << page;
    EXPECT_TRUE(left_running(verdict.candidate_hash).empty());
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(temporary_, ignored)) ADD_FAILURE() << "left behind: " << entry.path();
  }

  const Fixture fixture_;
  const std::string target_;
  std::string candidate_, temporary_;
};

int register_cases(const std::string& folder) {
  auto fixtures = find_fixtures(source(folder));
  if (!fixtures) {
    std::fputs(format_error(fixtures.error()).c_str(), stderr);
    return -1;
  }
  int registered = 0;
  for (const Fixture& fixture : *fixtures) {
    for (const std::string& target : fixture.targets) {
      testing::RegisterTest(fs::path(folder).filename().c_str(), (fixture.name + "." + target).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [fixture, target]() -> testing::Test* { return new JudgeCase(fixture, target); });
      ++registered;
    }
  }
  return registered;
}

}  // namespace
}  // namespace kw::judge

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (kw::judge::register_cases("tests/judge") <= 0 || kw::judge::register_cases("tests/triton") <= 0) {
    std::fputs("no cases, or one that cannot be read\n", stderr);
    return 1;
  }
  return RUN_ALL_TESTS();
}
