// What follows from a GPU's own counters and from a trace, both made up here.
#include <gtest/gtest.h>

#include <algorithm>

#include "profile/conflicts.h"
#include "profile/profile.h"
#include "profile/tools.h"

namespace kw::profile {
namespace {

TEST(Timeline, GapsAndOverlap) {
  const Timeline t = timeline_of({{"b", 6e-6, 9e-6}, {"a", 1e-6, 4e-6}, {"c", 7e-6, 12e-6}, {"", 7e-6, 8e-6}});
  EXPECT_NEAR(t.seconds, 11e-6, 1e-12);
  EXPECT_NEAR(t.busy, 9e-6, 1e-12);
  EXPECT_NEAR(t.gaps(), 2e-6, 1e-12);
  EXPECT_NEAR(t.overlapped, 2e-6, 1e-12) << "three at once are no more than two";
  ASSERT_EQ(t.steps.size(), 4u);
  EXPECT_EQ(t.steps.front().kernel, "a");
  EXPECT_EQ(t.steps.front().begin_s, 0);
  const auto lines = lines_of(t);
  EXPECT_NE(lines[1].find("2.0 µs after"), std::string::npos) << lines[1];
  EXPECT_NE(lines[2].find("beside"), std::string::npos) << lines[2];
  EXPECT_NE(lines[3].find("copy"), std::string::npos) << lines[3];
}

TEST(Timeline, OfManyStepsOrOfNoneOrOfNonsense) {
  std::vector<device::TracedStep> many;
  for (int i = 0; i < 1000; ++i) many.push_back({"k", 2e-6 * i, 2e-6 * i + 1e-6});
  const Timeline t = timeline_of(many);
  EXPECT_NEAR(t.gaps(), 999e-6, 1e-9);
  EXPECT_EQ(t.overlapped, 0);
  const auto lines = lines_of(t);
  EXPECT_EQ(lines.size(), 17u);
  EXPECT_EQ(lines[8], "… 984 more");
  EXPECT_TRUE(timeline_of({}).steps.empty());
  EXPECT_TRUE(timeline_of({{"k", 2, 1}, {"k", NAN, 1}}).steps.empty());
}

problem::Problem scale_problem() {
  return problem::parse_problem(R"(problem scale: "a vector"
axes:
  N >= 1
inputs:
  x: f32[N] ~ normal(0, 1)
outputs:
  y: f32[N]
reference:
  y = x + 1
workloads:
  smallest one: N=1
  real large: N=25000000
)", "scale.problem").value();
}

// A candidate of one kernel that touches its 200 MB once, and 100 instructions a warp of which one is a barrier.
struct Scene {
  problem::Problem problem = scale_problem();
  Subject subject;
  Scene() {
    subject.problem = &problem;
    subject.target = *arch::find_target("sm_90");
    subject.workload = *problem.find_workload("large");
    subject.cost = *problem::cost_of(problem, subject.workload);
    add("scale");
    subject.seconds = 100e-6;
    subject.launches = 1;
  }
  Kernel& add(const std::string& name) {
    Kernel kernel;
    kernel.name = kernel.mangled = name;
    kernel.counted = true;
    kernel.launched.launches = 1;
    kernel.launched.blocks = kernel.launched.largest_blocks = 10'000;
    kernel.launched.threads = 256;
    kernel.launched.source_file = "scale.cu";
    kernel.launched.source_line = 9;
    kernel.work.dram_bytes = 200e6;
    kernel.totals.instructions = 100;
    kernel.totals.warps[emu::Counters::kBarrier] = 1;
    kernel.sites.push_back(site(emu::Counters::kLoad, ptx::Space::kGlobal, 3, 50));
    kernel.sites.push_back(site(emu::Counters::kBarrier, ptx::Space::kNone, 5, 1));
    kernel.sites.push_back(site(emu::Counters::kFloat32, ptx::Space::kNone, 7, 60));
    kernel.time.total = 50e-6;
    kernel.time.seconds[Time::kDram] = 45e-6;
    kernel.share = 1;
    HardwareCounters& h = kernel.hardware.emplace();
    h.launches = 1;
    h.values[static_cast<size_t>(Counter::kSeconds)] = 50e-6;
    h.stalls = {{"selected", 1}, {"long_scoreboard", 1}, {"wait", 1}};
    return subject.kernels.emplace_back(std::move(kernel));
  }
  static Site site(emu::Counters::Class of, ptx::Space space, uint32_t line, double warps) {
    Site site;
    site.instruction_class = of;
    site.space = space;
    site.party.source_file = "scale.cu";
    site.party.source_line = line;
    site.warps = warps;
    site.requests = of == emu::Counters::kLoad ? warps : 0;
    return site;
  }
  HardwareCounters& counters() { return *subject.kernels.front().hardware; }
  void set(Counter counter, double value) { counters().values[static_cast<size_t>(counter)] = value; }
  const Advice* said(const char* tool) {
    advice_ = advise(subject, roofline(subject));
    const auto at = std::find_if(advice_.begin(), advice_.end(), [&](const Advice& each) { return each.tool == tool; });
    return at == advice_.end() ? nullptr : &*at;
  }

 private:
  std::vector<Advice> advice_;
};

TEST(WarpStalls, NamesTheReasonThePlaceAndAGainThatRoomIsLeftFor) {
  Scene scene;
  scene.set(Counter::kIssue, 0.1);
  EXPECT_EQ(scene.said("warp_stalls"), nullptr) << "nothing takes two fifths";
  scene.counters().stalls = {{"selected", 1}, {"long_scoreboard", 7}, {"wait", 2}};
  const Advice* advice = scene.said("warp_stalls");
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->line, 3u) << "the load";
  EXPECT_NE(advice->saw.find("70 %"), std::string::npos) << advice->saw;
  EXPECT_NE(advice->saw.find("long_scoreboard"), std::string::npos);
  EXPECT_NEAR(advice->gain, 1 / 0.65, 1e-9) << "half of 70 % goes";
  scene.set(Counter::kMemoryShare, 0.76);
  EXPECT_NEAR(scene.said("warp_stalls")->gain, 1.25, 1e-9) << "the memory system is at 76 %";
  scene.set(Counter::kL2Share, 0.9);
  EXPECT_NEAR(scene.said("warp_stalls")->gain, 0.95 / 0.9, 1e-9) << "L2 at 90 %";
  scene.set(Counter::kIssue, 0.9);
  EXPECT_EQ(scene.said("warp_stalls"), nullptr) << "they issue";
  scene.set(Counter::kIssue, 0.1);
  scene.set(Counter::kDramShare, 0.77);
  EXPECT_EQ(scene.said("warp_stalls"), nullptr) << "DRAM is the reason";
}

TEST(WarpStalls, OfLoadsSayMoreAtOnceOrFewer) {
  Scene scene;
  scene.counters().stalls = {{"selected", 1}, {"long_scoreboard", 7}, {"wait", 2}};
  scene.set(Counter::kMemoryShare, 0.3);
  EXPECT_NE(scene.said("warp_stalls")->try_this.find("have more on its way"), std::string::npos);
  scene.set(Counter::kL2Share, 0.8);
  EXPECT_NE(scene.said("warp_stalls")->try_this.find("fewer and wider requests"), std::string::npos);
  EXPECT_NE(scene.said("warp_stalls")->saw.find("80 % of its peak"), std::string::npos);
}

TEST(WarpStalls, OfAShortLaunchAreItsStart) {
  Scene scene;
  scene.counters().stalls = {{"selected", 1}, {"no_instruction", 7}};
  ASSERT_NE(scene.said("warp_stalls"), nullptr);
  scene.counters().launches = 20;   // of 2.5 µs each
  EXPECT_EQ(scene.said("warp_stalls"), nullptr);
}

TEST(IssueSlots, FullOnesInAMemoryBoundProblem) {
  Scene scene;
  scene.set(Counter::kIssue, 0.65);
  scene.set(Counter::kDramShare, 0.45);
  EXPECT_EQ(scene.said("issue_slots"), nullptr);
  scene.set(Counter::kIssue, 0.8);
  scene.subject.kernels.front().totals.warps[emu::Counters::kConversion] = 40;
  const Advice* advice = scene.said("issue_slots");
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->line, 7u) << "what executes most";
  EXPECT_NE(advice->saw.find("80 % of the issue slots are used, DRAM works at 45 %"), std::string::npos) << advice->saw;
  EXPECT_NE(advice->saw.find("conversion 40 %"), std::string::npos) << advice->saw;
  EXPECT_NEAR(advice->gain, 4.0 / 3, 1e-9);
  scene.set(Counter::kL2Share, 0.85);
  EXPECT_NEAR(scene.said("issue_slots")->gain, 0.95 / 0.85, 1e-9) << "L2 has no more room";
  scene.set(Counter::kDramShare, 0.8);
  EXPECT_EQ(scene.said("issue_slots"), nullptr) << "DRAM is the limit";
}

TEST(Occupancy, IsEnoughWhereWarpsAreReady) {
  Scene scene;
  Kernel& kernel = scene.subject.kernels.front();
  kernel.resources.emplace().registers = 127;
  kernel.occupancy = arch::occupancy(*scene.subject.target, 127, 0, 256);
  kernel.work.blocks = 10'000;
  kernel.work.warps_per_block = 8;
  kernel.work.blocks_per_sm = kernel.occupancy.blocks_per_sm;
  kernel.work.load_waits = 10'000;
  kernel.time = estimate(kernel.work, *scene.subject.target);
  scene.subject.seconds = kernel.time.total;
  scene.set(Counter::kEligible, 0.5);
  EXPECT_NE(scene.said("occupancy_limiter"), nullptr);
  EXPECT_NE(scene.said("register_pressure"), nullptr);
  scene.set(Counter::kEligible, 2.5);
  EXPECT_EQ(scene.said("occupancy_limiter"), nullptr);
  EXPECT_EQ(scene.said("register_pressure"), nullptr);
}

// By the estimate a warp waits for loads; the GPU says whether.
TEST(Waiting, IsNoLongerThanWhatWasMeasured) {
  Scene scene;
  const Kernel& kernel = scene.subject.kernels.front();
  scene.counters().stalls = {{"selected", 5}, {"long_scoreboard", 1}, {"wait", 4}};
  EXPECT_NEAR(within_stalls(scene.subject, kernel, {"long_scoreboard", "barrier"}, 2), 1 / 0.9, 1e-9);
  EXPECT_NEAR(within_stalls(scene.subject, kernel, {"long_scoreboard"}, 1.05), 1.05, 1e-9);
  scene.counters().stalls.clear();
  EXPECT_EQ(within_stalls(scene.subject, kernel, {"long_scoreboard"}, 2), 2) << "not measured";
}

TEST(WarpStalls, HasWordsForEveryReasonThatIsOne) {
  for (const StallReason& reason : stall_reasons()) {
    Scene scene;
    scene.set(Counter::kIssue, 0.1);
    scene.counters().stalls = {{std::string(reason.name), 8}, {"wait", 1}};
    const bool silent = reason.name == "selected" || reason.name == "not_selected" || reason.name == "misc" || reason.name == "sleeping" || reason.name == "dispatch_stall";
    if (reason.name == "barrier") {
      EXPECT_NE(scene.said("barriers"), nullptr) << "has a tool of its own";
      EXPECT_EQ(scene.said("warp_stalls"), nullptr);
    } else {
      EXPECT_EQ(scene.said("warp_stalls") == nullptr, silent) << reason.name;
    }
  }
}

TEST(Barriers, MeasuredTimeCountsMoreThanTheirNumber) {
  Scene scene;
  Kernel& kernel = scene.subject.kernels.front();
  scene.counters().stalls = {{"selected", 1}, {"barrier", 1}};
  EXPECT_NE(scene.said("barriers"), nullptr) << "few, but half of the time goes there";
  kernel.totals.warps[emu::Counters::kBarrier] = 20;
  scene.counters().stalls = {{"selected", 1}, {"wait", 30}, {"barrier", 1}};
  EXPECT_EQ(scene.said("barriers"), nullptr) << "many, but nobody waits";
  const auto words = conflicts(scene.subject);
  ASSERT_EQ(words.size(), 1u);
  EXPECT_NE(words[0].find("one instruction in 5"), std::string::npos) << words[0];
}

TEST(DramSaturation, SpeaksWhereFewerBytesWouldDo) {
  Scene scene;
  scene.set(Counter::kDramShare, 0.9);
  scene.set(Counter::kDramRead, 100e6);
  scene.set(Counter::kDramWritten, 100e6);
  EXPECT_EQ(scene.said("dram_saturation"), nullptr) << "at the roof";
  scene.set(Counter::kDramRead, 300e6);
  ASSERT_NE(scene.said("dram_saturation"), nullptr);
  EXPECT_NEAR(scene.said("dram_saturation")->gain, 2, 1e-9);
  EXPECT_NE(scene.said("dram_saturation")->saw.find("0.40 GB for 0.20 GB"), std::string::npos);
  scene.set(Counter::kDramShare, 0.5);
  EXPECT_EQ(scene.said("dram_saturation"), nullptr);
}

TEST(DramSaturation, OfSeveralKernelsSaysFuse) {
  Scene scene;
  scene.add("second");
  for (Kernel& kernel : scene.subject.kernels) {
    kernel.share = 0.5;
    kernel.hardware->values[static_cast<size_t>(Counter::kDramShare)] = 0.9;
    kernel.hardware->values[static_cast<size_t>(Counter::kDramRead)] = 100e6;
    kernel.hardware->values[static_cast<size_t>(Counter::kDramWritten)] = 100e6;
  }
  const Advice* advice = scene.said("dram_saturation");
  ASSERT_NE(advice, nullptr);
  EXPECT_NE(advice->try_this.find("fuse"), std::string::npos);
  EXPECT_NEAR(advice->gain, 4.0 / 3, 1e-9) << "one of two kernels twice as fast";
}

TEST(L2Reuse, IsMeasuredWhereItCanBe) {
  Scene scene;
  Kernel& kernel = scene.subject.kernels.front();
  kernel.totals.block_sectors = 3200e6 / 32;   // the emulator's: 16 times
  kernel.totals.load_bytes = 3200e6;
  kernel.time.seconds[Time::kL2] = 45e-6;
  kernel.work.l2_bytes = 3200e6;
  scene.set(Counter::kL2Share, 0.2);
  scene.set(Counter::kDramRead, 100e6);
  scene.set(Counter::kL2Sectors, 3200e6 / 32);
  EXPECT_EQ(scene.said("l2_reuse"), nullptr) << "L2 is not busy";
  scene.set(Counter::kL2Share, 0.8);
  const Advice* advice = scene.said("l2_reuse");
  ASSERT_NE(advice, nullptr);
  EXPECT_NE(advice->saw.find("32 times"), std::string::npos) << advice->saw;
}

TEST(LaunchOverhead, IsThatOfTheTraceWhereThereIsOne) {
  Scene scene;
  scene.subject.launches = 10;   // by estimate a quarter of the time
  EXPECT_NE(scene.said("launch_overhead"), nullptr);
  scene.subject.measured.emplace();
  scene.subject.measured->timeline = timeline_of({{"scale", 0, 50e-6}, {"scale", 51e-6, 100e-6}});
  EXPECT_EQ(scene.said("launch_overhead"), nullptr);
  scene.subject.measured->timeline = timeline_of({{"scale", 0, 3e-6}, {"scale", 5e-6, 8e-6}});
  ASSERT_NE(scene.said("launch_overhead"), nullptr);
  EXPECT_NEAR(scene.said("launch_overhead")->gain, 8.0 / 6, 1e-9);
}

TEST(Class, IsTheGpusOwnWhereItsCountersWereRead) {
  Scene scene;
  scene.set(Counter::kMemoryShare, 0.9);
  scene.set(Counter::kComputeShare, 0.2);
  Roofline r = roofline(scene.subject);
  EXPECT_EQ(r.by_counters, Class::kMemory);
  EXPECT_TRUE(r.conflict.empty());
  scene.set(Counter::kMemoryShare, 0.2);
  scene.set(Counter::kComputeShare, 0.9);
  r = roofline(scene.subject);
  EXPECT_EQ(r.by_counters, Class::kCompute);
  EXPECT_NE(r.conflict.find("90 %"), std::string::npos) << r.conflict;
  scene.set(Counter::kComputeShare, 0.51);
  scene.set(Counter::kMemoryShare, 0.72);
  scene.set(Counter::kL2Share, 0.82);
  EXPECT_EQ(roofline(scene.subject).by_counters, Class::kMemory) << "L2 counts as memory";
  scene.set(Counter::kL2Share, 0);
  scene.set(Counter::kMemoryShare, 0.2);
  scene.set(Counter::kComputeShare, 0.1);
  EXPECT_EQ(roofline(scene.subject).by_counters, Class::kLatency);
  scene.add("unread").hardware.reset();
  EXPECT_FALSE(roofline(scene.subject).memory_share) << "of all kernels or of none";
}

TEST(Conflicts, SayWhatTheEstimateGotWrong) {
  Scene scene;
  EXPECT_TRUE(conflicts(scene.subject).empty());
  scene.set(Counter::kDramShare, 0.1);
  scene.set(Counter::kDramRead, 40e6);
  scene.set(Counter::kDramWritten, 0);
  scene.set(Counter::kLoadSectors, 3200);
  scene.set(Counter::kLoadRequests, 100);
  scene.subject.kernels.front().totals.load_sectors = 400;
  scene.subject.kernels.front().totals.load_requests = 100;
  const auto words = conflicts(scene.subject);
  ASSERT_EQ(words.size(), 3u);
  EXPECT_NE(words[0].find("DRAM takes the time, which the GPU shows at 10 %"), std::string::npos) << words[0];
  EXPECT_NE(words[1].find("40.0 MB, 200.0 MB by estimate"), std::string::npos) << words[1];
  EXPECT_NE(words[2].find("32.0 sectors on the GPU and 4.0"), std::string::npos) << words[2];
  scene.subject.measured.emplace().seconds = 30e-6;
  EXPECT_NE(conflicts(scene.subject)[0].find("3.3 times the measured time"), std::string::npos) << conflicts(scene.subject)[0];
  scene.subject.measured->seconds = 60e-6;
  EXPECT_EQ(conflicts(scene.subject).size(), 3u) << "a factor below two";
}

TEST(Metrics, OfTheGpuAreMeasured) {
  Scene scene;
  scene.set(Counter::kDramRead, 100e6);
  const auto list = metrics_of(scene.subject, roofline(scene.subject));
  const auto find = [&](const char* name) { return std::find_if(list.begin(), list.end(), [&](const Metric& m) { return m.name == name; }); };
  ASSERT_NE(find("bytes read from DRAM"), list.end());
  EXPECT_EQ(find("bytes read from DRAM")->grade, Grade::kMeasured);
  EXPECT_EQ(find("bytes read from DRAM")->source, "ncu");
  ASSERT_NE(find("of them: wait"), list.end());
  EXPECT_DOUBLE_EQ(find("of them: wait")->value, 1.0 / 3);
  EXPECT_EQ(find("occupancy achieved"), list.end()) << "not read";
}

}  // namespace
}  // namespace kw::profile
