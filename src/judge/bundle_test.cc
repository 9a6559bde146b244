// Bundles and workers, with an emulator where a GPU is meant.
#include "judge/bundle.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <list>
#include <regex>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "base/jail.h"
#include "base/tar.h"
#include "judge/results.h"
#include "judge/worker.h"
#include "toolchain/toolchain.h"

namespace kw::judge {
namespace {

constexpr const char* kProblem = R"(problem exponential: "e to the x"
axes:
  N >= 1
inputs:
  x: f32[N]
outputs:
  y: f32[N]
reference:
  y = exp(x)
workloads:
  smallest one: N=1
  shape large: N=3000, x ~ uniform(0, 1)
  real all: N=600011 "a test"
)";
// What stands at /*1*/ is for the mistakes.
constexpr const char* kCandidate = R"(#include <kernelwright/candidate.h>
__global__ void exponential(const float* x, float* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = expf(x[i]);
}
KW_ENTRY(kw::In x, kw::Out y, cudaStream_t s) {
  /*1*/
  exponential<<<(y.size() + 63) / 64, 64, 0, s>>>(x.data<float>(), y.data<float>(), y.size()); }
)";

std::string with(const char* mistake) { return std::regex_replace(std::string(kCandidate), std::regex("/\\*1\\*/"), mistake); }

// Times are measured; whether a program was compiled before is no matter.
std::string unmeasured(const std::string& verdict) {
  return std::regex_replace(std::regex_replace(verdict, std::regex("\"seconds\": [^,\n]*"), "\"seconds\": 0"), std::regex("compiled before|nvcc [0-9.]+ for sm_80"), "compiled");
}

// Ends the process at the n-th plan that is loaded.
class Deadly final : public device::Device {
 public:
  explicit Deadly(int after) : left_(after) {}
  device::Capabilities capabilities() const override { return device_->capabilities(); }
  Result<std::unique_ptr<device::LoadedPlan>> load(plan::Plan plan, const device::LoadOptions& options) override {
    if (left_-- == 0) ::raise(SIGKILL);
    return device_->load(std::move(plan), options);
  }

 private:
  const std::unique_ptr<device::Device> device_ = device::make_emulator();
  std::atomic<int> left_;
};

class Worker : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!toolchain::find_nvcc() || jail_support().kind == JailKind::kNone) return;
    folder_ = new TempDir(*TempDir::create("kw-bundle-test"));
    const TempDir& folder = *folder_;
    ASSERT_TRUE(write_file(folder / "p.problem", kProblem));
    ASSERT_TRUE(write_file(folder / "right.cu", kCandidate));
    ASSERT_TRUE(write_file(folder / "real.cu", with("if (x.size() == 600011) { cudaMemsetAsync(y.data<float>(), 0, 600011 * 4, s); return; }")));
    ASSERT_TRUE(write_file(folder / "decided.cu", with("this is not C++;")));
    std::vector<Fixture> fixtures;
    for (const char* name : {"right", "real", "decided"}) {
      Fixture fixture;
      fixture.name = name;
      fixture.problem = folder / "p.problem";
      fixture.candidate = folder / (name + std::string(".cu"));
      fixture.targets = {"sm_80"};
      fixture.verdict = name == std::string("right") ? "correct" : name == std::string("real") ? "wrong" : "compile-error";
      if (fixture.verdict != "correct") fixture.rungs = {fixture.verdict == "wrong" ? "full" : "compile"};
      fixtures.push_back(fixture);
    }
    SuiteOptions options;
    options.judge.seed = 7;
    options.same_seed = true;
    options.judge.cache_dir = folder / "cache";
    const auto packed = pack("", fixtures, options);
    ASSERT_TRUE(packed) << format_error(packed.error());
    EXPECT_EQ(packed->packed, 2u);
    bytes_ = new std::string(packed->bytes);
  }
  static void TearDownTestSuite() {
    delete folder_;
    delete bytes_;
  }
  void SetUp() override {
    if (folder_ == nullptr) GTEST_SKIP() << "no nvcc, or no jail";
    ASSERT_NE(bytes_, nullptr);
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    results_ = *folder_ / name;
  }

  static Bundle bundle() {
    auto bundle = Bundle::parse(*bytes_, "test.kwb");
    EXPECT_TRUE(bundle) << format_error(bundle.error());
    return *bundle;
  }
  static Suite worked(const Bundle& bundle, const std::string& folder) {
    auto suite = work(bundle, folder, {device::make_emulator(), 0, 2});
    EXPECT_TRUE(suite) << format_error(suite.error());
    return suite ? *suite : Suite{};
  }
  static std::string verdict_in(const std::string& folder, size_t index) {
    const auto answer = read_answer(folder, index);
    EXPECT_TRUE(answer && *answer);
    return answer && *answer ? (*answer)->verdict : "";
  }
  // The bundle with every occurrence of a text in index and verdicts replaced, hashes mended.
  static Bundle altered(const std::string& text, const std::string& by) {
    const auto replace = [](std::string& in, const std::string& what, const std::string& with) {
      for (size_t at = 0; (at = in.find(what, at)) != std::string::npos; at += with.size()) in.replace(at, what.size(), with);
    };
    auto members = *read_tar(*bytes_, "test.kwb");
    std::string index(members[0].content);
    std::list<std::string> texts;
    for (size_t i = 1; i < members.size(); ++i) {
      std::string& content = texts.emplace_back(members[i].content);
      const std::string before = hash_hex(content);
      if (content.starts_with("{")) replace(content, text, by);
      members[i] = {"objects/" + hash_hex(content), content};
      replace(index, before, hash_hex(content));
    }
    replace(index, text, by);
    members[0] = {"index/" + hash_hex(index), index};
    auto bundle = Bundle::parse(*write_tar(members), "altered.kwb");
    EXPECT_TRUE(bundle) << format_error(bundle.error());
    return *bundle;
  }

  static inline TempDir* folder_ = nullptr;
  static inline std::string* bytes_ = nullptr;
  std::string results_;
};

TEST_F(Worker, SaysWhatTheJudgeWithThatGpuSays) {
  const Suite suite = worked(bundle(), results_);
  EXPECT_EQ(closing_line(suite), "3 of 3 as expected");
  Options options;
  options.seed = 7;
  options.cache_dir = *folder_ / "cache";
  options.gpu = device::make_emulator();
  const auto problem = problem::load_problem(*folder_ / "p.problem");
  ASSERT_TRUE(problem);
  const char* names[] = {"right", "real", "decided"};
  for (size_t i = 0; i < 3; ++i) {
    const auto verdict = evaluate(*problem, *folder_ / (names[i] + std::string(".cu")), options);
    ASSERT_TRUE(verdict) << format_error(verdict.error());
    EXPECT_EQ(unmeasured(verdict_in(results_, i)), unmeasured(to_json(*verdict))) << names[i];
  }
}

// Each life of the worker ends at some plan, the next ones later; in the end all is as if nothing had happened.
TEST_F(Worker, KilledAnywhereItGoesOn) {
  const Bundle all = bundle();
  worked(all, results_ + "/whole");
  const std::string folder = results_ + "/killed";
  int lives = 0, killed = 0;
  for (int after = 0; after < 40; after += 1 + after / 3) {
    ++lives;
    const pid_t child = ::fork();
    if (child == 0) {
      const auto suite = work(all, folder, {std::make_shared<Deadly>(after), 0, 1 + lives % 2});
      ::_exit(suite && suite->as_expected() == 3 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      break;
    }
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ++killed;
  }
  EXPECT_GE(killed, 4) << "of " << lives;
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(unmeasured(verdict_in(folder, i)), unmeasured(verdict_in(results_ + "/whole", i)));
  // What has an answer is not judged again.
  const auto again = work(all, folder, {std::make_shared<Deadly>(0), 0, 1});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->as_expected(), 3u);
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/cases")) left.insert(entry.path().filename());
  EXPECT_EQ(left, (std::set<std::string>{"0000.json", "0001.json", "0002.json"})) << "what the killed ones had unpacked is gone";
}

TEST_F(Worker, ImportBringsAStoreAndSaysWhatIsMissing) {
  const std::string store = results_ + "/store";
  worked(bundle(), results_);
  const auto suite = import_results(results_, store);
  ASSERT_TRUE(suite) << format_error(suite.error());
  EXPECT_EQ(closing_line(*suite), "3 of 3 as expected");
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::filesystem::exists(store + "/verdicts/" + hash_hex(verdict_in(results_, i)) + ".json"));
  EXPECT_TRUE(read_file(store + "/objects/" + hash_hex(kProblem)));
  std::filesystem::remove(results_ + "/cases/0001.json");
  const auto less = import_results(results_, store);
  ASSERT_TRUE(less);
  EXPECT_EQ(closing_line(*less), "2 of 3 as expected");
  EXPECT_EQ(less->cases[1].got, "no answer yet");
  ASSERT_TRUE(write_file(results_ + "/objects/" + hash_hex(kProblem), "another"));
  EXPECT_FALSE(import_results(results_, store));
  EXPECT_FALSE(import_results(*folder_ / "nowhere", store));
}

TEST_F(Worker, AFolderIsOneBundlesAndOneWorkers) {
  worked(bundle(), results_);
  const WorkerOptions options{device::make_emulator(), 0, 1};
  const auto other = work(altered("packed", "pakced"), results_, options);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("another bundle"), std::string::npos) << other.error().message;
  const auto lock = open_results(results_ + "/busy", {bundle().hash, "x", {}});
  ASSERT_TRUE(lock);
  const auto busy = work(bundle(), results_ + "/busy", options);
  ASSERT_FALSE(busy);
  EXPECT_NE(busy.error().message.find("another worker"), std::string::npos) << busy.error().message;
}

// Whoever makes a bundle may lie: that is the case's error, and nothing is written beside the results.
TEST_F(Worker, ALieIsAnError) {
  for (const auto& [text, by] : {std::pair{"\"path\": \"right.cu\"", "\"path\": \"../../escaped.cu\""},
                                 {"\"N\": 3000", "\"N\": 2999"},
                                 {"\"chosen_by_judge\": true", "\"chosen_by_judge\": false"},
                                 {"\"bytes\": 12000", "\"bytes\": 12004"},
                                 {"kernelwright/verdict/1", "kernelwright/verdict/9"}}) {
    std::filesystem::remove_all(results_);
    const Suite suite = worked(altered(text, by), results_);
    ASSERT_EQ(suite.cases.size(), 3u);
    EXPECT_EQ(suite.cases[0].got, "error") << text;
    ASSERT_EQ(suite.cases[0].why.size(), 1u);
    EXPECT_FALSE(suite.cases[0].why[0].empty());
  }
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder_->path())) EXPECT_NE(each.path().filename(), "escaped.cu");
}

// A workload without a plan is not run, and what is not run is not right.
TEST_F(Worker, EveryWorkloadNeedsItsPlan) {
  for (const size_t kept : {size_t{0}, size_t{1}}) {
    Bundle less = bundle();
    ASSERT_GT(less.cases[0].plans.size(), 1u);
    less.cases[0].plans.resize(kept);
    std::filesystem::remove_all(results_);
    const Suite suite = worked(less, results_);
    ASSERT_EQ(suite.cases.size(), 3u);
    EXPECT_EQ(suite.cases[0].got, "error");
    ASSERT_EQ(suite.cases[0].why.size(), 1u);
    EXPECT_NE(suite.cases[0].why[0].find("no plan for workload"), std::string::npos) << suite.cases[0].why[0];
  }
}

TEST_F(Worker, WhatIsCutShortOrAlteredIsNoBundle) {
  for (const size_t size : {size_t{0}, size_t{511}, bytes_->size() / 2, bytes_->size() - 1024}) {
    const auto bundle = Bundle::parse(bytes_->substr(0, size), "cut.kwb");
    ASSERT_FALSE(bundle) << size;
    EXPECT_NE(bundle.error().message.find("cut short"), std::string::npos) << bundle.error().message;
  }
  std::string other = *bytes_;
  other[other.find("exponential")] = 'E';
  const auto bundle = Bundle::parse(other, "other.kwb");
  ASSERT_FALSE(bundle);
  EXPECT_NE(bundle.error().message.find("altered"), std::string::npos) << bundle.error().message;
}

TEST(Bundle, NamesWhatIsWrongWithAnIndex) {
  const auto said = [](const std::string& index) {
    const auto bundle = Bundle::parse(*write_tar({{"index/" + hash_hex(index), index}}), "b.kwb");
    return bundle ? "" : format_error(bundle.error());
  };
  const std::string head = R"({"schema": "kernelwright/bundle/1", "folder": "", )";
  EXPECT_EQ(said(head + R"("rungs": ["full", "time"], "cases": []})"), "");
  EXPECT_NE(said("{}").find("kernelwright/bundle/1"), std::string::npos);
  EXPECT_NE(said(head + R"("rungs": ["full", "time", "sing"], "cases": []})").find("sing"), std::string::npos);
  EXPECT_NE(said(head + R"("rungs": ["full", "time"], "cases": [{"name": 1}]})").find("'name'"), std::string::npos);
  EXPECT_NE(said(head + R"("rungs": ["full", "time"], "cases": []})" + std::string("\0garbage", 8)), "") << "no text ends at a byte of 0";
  EXPECT_FALSE(Bundle::parse(*write_tar({}), "b.kwb"));
  EXPECT_FALSE(Bundle::parse(*write_tar({{"../x", ""}}), "b.kwb"));
}

}  // namespace
}  // namespace kw::judge
