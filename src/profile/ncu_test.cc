// ncu is another program: its place is taken here by a script that prints what it prints.
#include "profile/ncu.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "base/file.h"
#include "base/rng.h"

namespace kw::profile {
namespace {

const arch::Target& h200() { return **arch::find_target("sm_90"); }

// ncu 2025.3.1 on an H200 of kernels/reduction.cu, 24 of its 292 columns.
constexpr char kTable[] = R"csv(==WARNING== Note: Running with unmodified GPU clocks. If not controlled otherwise, profiling results may be inconsistent.
==PROF== Connected to process 12308 (/usr/bin/kw)
==PROF== Disconnected from process 12308
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","device__attribute_display_name","dram__bytes_read.avg","dram__bytes_read.sum","dram__bytes_write.sum","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum","launch__cluster_scheduling_policy","launch__kernel_name","launch__registers_per_thread","lts__t_sector_hit_rate.pct","smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio","smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio","smsp__inst_executed.sum"
"","","","","","","","","","","","","byte","byte","byte","%","ns","","","register/thread","%","inst","inst","inst"
"0","12308","kw","127.0.0.1","_ZN47_GLOBAL__N__bfb7b470_12_reduction_cu_fa0d7d02_912sum_segmentsILi4EEEvPKfPfl","1","13","(256, 1, 1)","(1024, 1, 1)","0","9.0","NVIDIA H200","1,398,298.67","67,118,336","2,380,032","78.99","18,304","PolicySpread","","32","0.98","7.13","135.27","1,598,464"
"1","12308","kw","127.0.0.1","_ZN47_GLOBAL__N__bfb7b470_12_reduction_cu_fa0d7d02_914sum_short_rowsILi4EEEvPKfPfli","1","13","(256, 1, 1)","(1, 1, 1)","0","9.0","NVIDIA H200","186.67","8,960","0","0.07","2,688","PolicySpread","","30","158.42","0","5.46","202"
)csv";

TEST(NcuTable, IsReadInOneUnit) {
  const auto launches = parse_ncu(kTable);
  ASSERT_TRUE(launches) << format_error(launches.error());
  ASSERT_EQ(launches->size(), 2u);
  const NcuLaunch& first = launches->front();
  EXPECT_EQ(first.kernel, "_ZN47_GLOBAL__N__bfb7b470_12_reduction_cu_fa0d7d02_912sum_segmentsILi4EEEvPKfPfl");
  EXPECT_EQ(first.counters[Counter::kDramRead], 67118336) << "the sum, not the average";
  EXPECT_DOUBLE_EQ(first.counters.of(Counter::kDramShare), 0.7899);
  EXPECT_DOUBLE_EQ(first.counters.of(Counter::kSeconds), 18.304e-6);
  EXPECT_DOUBLE_EQ(first.counters.of(Counter::kL2Hits), 0.0098);
  EXPECT_DOUBLE_EQ(first.counters.warp_latency(), 142.4);
  EXPECT_DOUBLE_EQ(first.counters.stall_share("long_scoreboard"), 135.27 / 142.4);
  EXPECT_FALSE((*launches)[1].counters[Counter::kL2Hits]) << "158 % is no share of hits";
  EXPECT_EQ((*launches)[1].counters[Counter::kDramWritten], 0);
  EXPECT_FALSE(first.counters[Counter::kOccupancy]) << "what is not there";
}

std::string table(const std::string& header, const std::string& units, const std::string& row) {
  return "\"ID\",\"Kernel Name\"," + header + "\n\"\",\"\"," + units + "\n\"0\",\"k\"," + row + "\n";
}

TEST(NcuTable, TakesEveryWayToWriteANumber) {
  const auto seconds = [](const char* unit, const char* value) -> std::optional<double> {
    const auto launches = parse_ncu(table("gpu__time_duration.sum", unit, value));
    return launches ? launches->front().counters[Counter::kSeconds] : std::nullopt;
  };
  EXPECT_DOUBLE_EQ(seconds("\"us\"", "\"12\"").value_or(0), 12e-6);
  EXPECT_DOUBLE_EQ(seconds("nsecond", "2000").value_or(0), 2e-6);
  EXPECT_DOUBLE_EQ(seconds("\"ms\"", "\"1,234.5\"").value_or(0), 1.2345);
  EXPECT_EQ(seconds("s", "1e-3"), 1e-3);
  for (const char* none : {"", "\"\"", "n/a", "nan", "inf", "-1", "12x", "1e999", "0x10", "\"1 2\""}) EXPECT_EQ(seconds("ns", none), std::nullopt) << none;
  EXPECT_EQ(seconds("byte", "12"), std::nullopt) << "not a time";
  EXPECT_EQ(seconds("fortnight", "12"), std::nullopt);
}

TEST(NcuTable, TakesNamesWithQuotesCommasAndLines) {
  const auto launches = parse_ncu("ID,Kernel Name,smsp__inst_executed.sum\r\n,,\r\n0,\"f<\"\"a,\nb\"\">(int)\",7\r\n");
  ASSERT_TRUE(launches) << format_error(launches.error());
  EXPECT_EQ(launches->front().kernel, "f<\"a,\nb\">(int)");
  EXPECT_EQ(launches->front().counters[Counter::kInstructions], 7);
}

TEST(NcuTable, ErrorsNameTheLine) {
  const auto message = [](const std::string& text) {
    const auto launches = parse_ncu(text);
    return launches ? std::string("read") : launches.error().message;
  };
  EXPECT_EQ(message(""), "ncu printed no table");
  EXPECT_EQ(message("==ERROR== nothing\n"), "ncu printed no table");
  EXPECT_NE(message("\"ID\",\"Name\"\n").find("Kernel Name"), std::string::npos);
  EXPECT_EQ(message("\"ID\",\"Kernel Name\"\n\"\",\"\"\n"), "ncu's table has no launch");
  EXPECT_NE(message("\"ID\",\"Kernel Name\"\n\"\",\"\"\n\"0\"\n").find("line 3"), std::string::npos);
  EXPECT_NE(message("\"ID\",\"Kernel Name\"\n\"0\",\"k\",\"1\"\n").find("line 2"), std::string::npos);
  EXPECT_NE(message("\"ID\",\"Kernel Name\"\n\"0\",\"k\n").find("quoted"), std::string::npos);
  EXPECT_NE(message("\"ID\",\"Kernel Name\"\n\"0\",\"k\"x\n").find("line 2"), std::string::npos);
}

// Whatever is cut off or changed: a table or an error, and numbers that counters can have.
TEST(NcuTable, SurvivesWhatIsNoTable) {
  const std::string whole = kTable;
  const auto look = [](const std::string& text) {
    const auto launches = parse_ncu(text);
    if (!launches) return;
    for (const NcuLaunch& launch : *launches)
      for (const auto& value : launch.counters.values) EXPECT_TRUE(!value || (*value >= 0 && std::isfinite(*value)));
  };
  for (size_t size = 0; size <= whole.size(); ++size) look(whole.substr(0, size));
  Rng random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = whole;
    for (int n = 0; n < 4; ++n) {
      const size_t at = random.below(text.size());
      constexpr std::string_view kSigns("\",\n=0-e.\0\xff" , 10);
      if (random.below(3) == 0) text.erase(at, random.below(40));
      else if (random.below(2) == 0) text[at] = kSigns[random.below(kSigns.size())];
      else text.insert(at, text.substr(random.below(text.size()), random.below(60)));
    }
    look(text);
  }
  look(std::string(100'000, ','));
  look("\"ID\"," + std::string(100'000, ',') + "\n");
  look("\"ID\"," + std::string(100'000, '"'));
}

TEST(Counters, OfSeveralLaunchesAddOrAreAveragedByTime) {
  HardwareCounters all;
  const auto launches = parse_ncu(kTable);
  for (const NcuLaunch& launch : *launches) all.add(launch.counters);
  EXPECT_EQ(all.launches, 2u);
  EXPECT_DOUBLE_EQ(all.of(Counter::kSeconds), 20.992e-6);
  EXPECT_DOUBLE_EQ(all.of(Counter::kInstructions), 1598666);
  EXPECT_NEAR(all.of(Counter::kDramShare), (0.7899 * 18.304 + 0.0007 * 2.688) / 20.992, 1e-12);
  EXPECT_NEAR(all.stalls.at("long_scoreboard"), (135.27 * 18.304 + 5.46 * 2.688) / 20.992, 1e-9);
  EXPECT_FALSE(all[Counter::kL2Hits]) << "of one launch it is not known";
}

TEST(NcuMetrics, AreThoseOfTheArchitecture) {
  const auto has = [](const char* target, const std::string& metric) {
    const auto metrics = ncu_metrics(**arch::find_target(target));
    EXPECT_EQ(std::set<std::string>(metrics.begin(), metrics.end()).size(), metrics.size()) << target;
    return std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
  };
  EXPECT_TRUE(has("sm_90", stall_metric("gmma")));
  EXPECT_FALSE(has("sm_80", stall_metric("gmma")));
  EXPECT_FALSE(has("sm_100", stall_metric("gmma")));
  EXPECT_TRUE(has("sm_75", "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active"));
  EXPECT_FALSE(has("sm_80", "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active"));
}

class FakeNcu : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("KW_NCU"); }
  // $log is the file that --log-file names, $metrics what --metrics does.
  void is(const std::string& body) {
    const std::string script = folder_ / "ncu";
    ASSERT_TRUE(write_file(folder_ / "table", kTable));
    ASSERT_TRUE(write_file(script, "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'NVIDIA (R) Nsight Compute'; echo 'Version 2025.3.1.0 (build 1)'; exit 0; }\n"
                                   "log=; metrics=\nwhile [ $# -gt 0 ]; do case $1 in --log-file) log=$2; shift;; --metrics) metrics=$2; shift;; esac; shift; done\n"
                                   "here=" + folder_.path() + "\n" + body));
    ASSERT_EQ(::chmod(script.c_str(), 0755), 0);
    ::setenv("KW_NCU", script.c_str(), 1);
  }
  std::string refusal(double deadline_s = 20) {
    const auto read = run_ncu({"/bin/true"}, h200(), deadline_s);
    return read ? "read" : read.error().message;
  }
  TempDir folder_ = *TempDir::create("kw-fake-ncu");
};

TEST_F(FakeNcu, IsRunAndRead) {
  is("cp $here/table $log\n");
  const auto read = run_ncu({"/bin/true"}, h200(), 20);
  ASSERT_TRUE(read) << format_error(read.error());
  EXPECT_EQ(read->version, "2025.3.1.0");
  EXPECT_EQ(read->launches.size(), 2u);
  EXPECT_NE(std::find(read->without.begin(), read->without.end(), "sm__warps_active.avg.pct_of_peak_sustained_active"), read->without.end())
      << "2025.3 leaves out what it does not know, and exits with 0";
  EXPECT_EQ(std::find(read->without.begin(), read->without.end(), "gpu__time_duration.sum"), read->without.end());
}

// As other versions say it.
TEST_F(FakeNcu, IsAskedAgainWithoutWhatItDoesNotKnow) {
  const std::string gmma = stall_metric("gmma"), l2 = "lts__throughput.avg.pct_of_peak_sustained_elapsed";
  is("echo x >> $here/calls\ncase $metrics in\n"
     "*gmma*) echo '==PROF== Connected to process 7 (/usr/bin/kw)\n==ERROR== Failed to find metric regex:^smsp__average_warps_issue_stalled_gmma_per_issue_active\\.(ratio)$' > $log; exit 1;;\n"
     "*lts__throughput*) echo '==ERROR== Failed to access the following 1 metrics: " + l2 + "' > $log; exit 1;;\nesac\ncp $here/table $log\n");
  const auto read = run_ncu({"/bin/true"}, h200(), 20);
  ASSERT_TRUE(read) << format_error(read.error());
  ASSERT_GE(read->without.size(), 2u);
  EXPECT_EQ(read->without[0], gmma);
  EXPECT_EQ(read->without[1], l2);
  EXPECT_EQ(*read_file(folder_ / "calls"), "x\nx\nx\n");
}

TEST_F(FakeNcu, RefusalsSayWhy) {
  is("echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.' > $log; exit 1\n");
  EXPECT_NE(refusal().find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
  const std::string remark = "echo '==WARNING== Note: Running with unmodified GPU clocks. If not controlled otherwise, profiling results may be inconsistent.' > $log\n",
                    library = "echo '==ERROR== An error was reported by the counter measurement library:' >> $log\n";
  is(remark + library + "echo '==ERROR== Failed to initialize the profiler: LibraryNotLoaded. Check that a compatible driver library is loaded.' >> $log; exit 9\n");
  EXPECT_NE(refusal().find("gVisor"), std::string::npos) << refusal();
  is(remark + library + "echo '==ERROR== Failed to initialize the profiler: UnknownError' >> $log; exit 9\n");
  EXPECT_NE(refusal().find("(exit code 9): Failed to initialize the profiler: UnknownError"), std::string::npos) << refusal();
  is(remark + "echo '==WARNING== No kernels were profiled.' >> $log\n");
  EXPECT_NE(refusal().find("No kernels were profiled"), std::string::npos) << refusal();
  is("echo 'error: there is no GPU 3' >&2; exit 2\n");
  EXPECT_NE(refusal().find("there is no GPU 3"), std::string::npos) << refusal();
  is("head -c 1300 $here/table > $log\n");
  EXPECT_NE(refusal().find("ncu's table"), std::string::npos) << refusal();
  is("kill -9 $$\n");
  EXPECT_NE(refusal().find("SIGKILL"), std::string::npos) << refusal();
  is("sleep 60\n");
  EXPECT_NE(refusal(0.2).find("did not end"), std::string::npos);
}

TEST_F(FakeNcu, MayBeForbiddenOrAbsent) {
  ::setenv("KW_NCU", "", 1);
  EXPECT_NE(refusal().find("KW_NCU"), std::string::npos);
  ::setenv("KW_NCU", "/no/such/ncu", 1);
  EXPECT_NE(refusal(), "read");
}

}  // namespace
}  // namespace kw::profile
