// A whole profile with a GPU, without one: a device that says it has a clock and a trace, and a script in ncu's place.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "base/jail.h"
#include "profile/profile.h"
#include "toolchain/toolchain.h"

namespace kw::profile {
namespace {

// Every launch takes 10 µs, 2 µs after the one before.
class ClockedPlan final : public device::LoadedPlan {
 public:
  ClockedPlan(plan::Plan plan, std::string untraced) : plan_(std::move(plan)), untraced_(std::move(untraced)) {}
  const plan::Plan& plan() const override { return plan_; }
  Status write(std::string_view, std::span<const uint8_t>) override { return {}; }
  Status read(std::string_view, std::span<uint8_t>) const override { return {}; }
  Result<std::optional<uint64_t>> first_unwritten(std::string_view) const override { return std::nullopt; }
  Status reset() override { return {}; }
  Result<device::RunReport> run(const device::RunOptions&) override { return device::RunReport(); }
  Result<device::CallReport> call(const device::CallOptions& options) override {
    device::CallReport report;
    report.completed = true;
    report.untraced = options.trace ? untraced_ : "";
    for (const plan::Step& step : plan_.steps) {
      if (const auto* launch = std::get_if<plan::Launch>(&step.action); launch != nullptr && options.trace && untraced_.empty())
        report.traced.push_back({launch->kernel, report.device_s, report.device_s + 10e-6});
      report.device_s += 12e-6;
    }
    return report;
  }

 private:
  plan::Plan plan_;
  std::string untraced_;
};

class ClockedDevice final : public device::Device {
 public:
  std::string untraced;
  device::Capabilities capabilities() const override { return {.name = "a GPU", .times = true, .dram_bytes_per_s = 2e12}; }
  Result<std::unique_ptr<device::LoadedPlan>> load(plan::Plan plan, const device::LoadOptions&) override {
    return std::unique_ptr<device::LoadedPlan>(std::make_unique<ClockedPlan>(std::move(plan), untraced));
  }
};

class WithGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!toolchain::find_nvcc()) GTEST_SKIP() << "no nvcc";
    if (jail_support().kind == JailKind::kNone) GTEST_SKIP() << "no jail";
    options_.gpu = device_;
    options_.replay = {"replay"};
  }
  void TearDown() override { ::unsetenv("KW_NCU"); }
  // Prints a table of the launches named, and keeps what it was asked for.
  void ncu_sees(const std::vector<std::string>& kernels) {
    std::string table = "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"dram__bytes_read.sum\"\n\"\",\"\",\"ns\",\"byte\"\n";
    for (size_t i = 0; i < kernels.size(); ++i) table += fmt::format("\"{}\",\"{}\",\"10,000\",\"{}\"\n", i, kernels[i], 1000 * (i + 1));
    ncu_is("while [ \"$1\" != --metrics ]; do [ \"$1\" = --log-file ] && log=$2; shift; done\nshift 2\necho \"$@\" > $here/asked\ncp \"$2\" $here/plan\ncp $here/table $log\n");
    ASSERT_TRUE(write_file(folder_ / "table", table));
  }
  void ncu_is(const std::string& body) {
    const std::string script = folder_ / "ncu";
    ASSERT_TRUE(write_file(script, "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\nhere=" + folder_.path() + "\n" + body));
    ASSERT_EQ(::chmod(script.c_str(), 0755), 0);
    ::setenv("KW_NCU", script.c_str(), 1);
  }
  Profile of(const char* name) {
    const std::string root = KW_SOURCE_DIR;
    problem_ = *problem::load_problem(root + "/problems/" + name + ".problem");
    auto result = profile(problem_, root + "/kernels/" + name + ".cu", options_);
    if (!result) {
      ADD_FAILURE() << format_error(result.error());
      return {};
    }
    return std::move(*result);
  }

  std::shared_ptr<ClockedDevice> device_ = std::make_shared<ClockedDevice>();
  TempDir folder_ = *TempDir::create("kw-fake-ncu");
  problem::Problem problem_;
  Options options_;
};

TEST_F(WithGpu, CountersComeToTheirKernels) {
  ncu_sees({"none of ours"});
  const Profile first = of("reduction");
  ASSERT_EQ(first.subject.kernels.size(), 2u);
  EXPECT_EQ(first.subject.counter_reading->why_not, "ncu saw none of the candidate's kernels");
  const std::string a = first.subject.kernels[0].mangled, b = first.subject.kernels[1].mangled;
  ncu_sees({a, b, "kw_ours"});
  const Profile whole = of("reduction");
  ASSERT_TRUE(whole.subject.kernels[0].hardware && whole.subject.kernels[1].hardware);
  EXPECT_EQ(whole.subject.kernels[0].hardware->of(Counter::kDramRead), 1000);
  EXPECT_EQ(whole.subject.kernels[1].hardware->of(Counter::kDramRead), 2000);
  EXPECT_EQ(whole.subject.counter_reading->launches, 2u);
  const std::string asked = *read_file(folder_ / "asked");
  EXPECT_EQ(asked.find("replay "), 0u) << asked;
  EXPECT_NE(asked.find("reduction.problem --workload " + whole.subject.workload.name + " --seed 1\n"), std::string::npos) << asked;
  const auto plan = plan::parse(*read_file(folder_ / "plan"), "plan");
  ASSERT_TRUE(plan) << "it was there to be replayed";
  EXPECT_EQ(plan->steps.size(), whole.subject.launches + whole.subject.other_steps);
  ASSERT_TRUE(whole.subject.measured->timeline);
  EXPECT_NEAR(whole.subject.measured->timeline->gaps(), 2e-6, 1e-9);
  const std::string text = page(whole), json = to_json(whole);
  EXPECT_NE(text.find("by ncu"), std::string::npos) << text;
  EXPECT_NE(text.find("2.0 µs after"), std::string::npos) << text;
  EXPECT_NE(json.find("\"source\": \"ncu\""), std::string::npos);
  EXPECT_NE(json.find("\"gaps\""), std::string::npos);
  EXPECT_NE(json.find("\"why_not\": null"), std::string::npos);
}

TEST_F(WithGpu, WithoutThemItIsAProfileThatSaysWhy) {
  ncu_is("echo '==ERROR== ERR_NVGPUCTRPERM' >&2; exit 1\n");
  device_->untraced = "no libcupti is found";
  const Profile whole = of("vector_add");
  EXPECT_FALSE(whole.subject.kernels[0].hardware);
  EXPECT_FALSE(whole.subject.measured->timeline);
  const std::string text = page(whole), json = to_json(whole);
  EXPECT_NE(text.find("no counters of the GPU: this user may not"), std::string::npos) << text;
  EXPECT_NE(text.find("no timeline: no libcupti"), std::string::npos) << text;
  EXPECT_NE(json.find("NVreg_RestrictProfilingToAdminUsers"), std::string::npos);
  EXPECT_NE(json.find("\"timeline\": null"), std::string::npos);
}

}  // namespace
}  // namespace kw::profile
