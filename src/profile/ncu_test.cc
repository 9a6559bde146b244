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

constexpr char kTable[] = R"csv(==PROF== Connected to process 71 (/usr/bin/kw)
==PROF== Profiling "scale": 0%....50%....100% - 9 passes
==PROF== Disconnected from process 71
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes_read.sum","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum","smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio","smsp__average_warps_issue_stalled_selected_per_issue_active.ratio","smsp__inst_executed.sum"
"","","","","","","","","","","","byte","%","ns","inst","inst",""
"0","71","kw","host","_Z5scalePKfPfi","1","7","(256, 1, 1)","(16384, 1, 1)","0","9.0","16,778,240","83.5","6,880","9.0","1.0","1,048,576"
"1","71","kw","host","_Z3addPKfPfi","1","7","(256, 1, 1)","(8, 1, 1)","0","9.0","n/a","5","2,000","3.0","1.0","64"
)csv";

TEST(NcuTable, IsReadInOneUnit) {
  const auto launches = parse_ncu(kTable);
  ASSERT_TRUE(launches) << format_error(launches.error());
  ASSERT_EQ(launches->size(), 2u);
  const NcuLaunch& first = launches->front();
  EXPECT_EQ(first.kernel, "_Z5scalePKfPfi");
  EXPECT_EQ(first.counters[Counter::kDramRead], 16778240);
  EXPECT_DOUBLE_EQ(first.counters.of(Counter::kDramShare), 0.835);
  EXPECT_DOUBLE_EQ(first.counters.of(Counter::kSeconds), 6.88e-6);
  EXPECT_DOUBLE_EQ(first.counters.stall_share("long_scoreboard"), 0.9);
  EXPECT_DOUBLE_EQ(first.counters.warp_latency(), 10);
  EXPECT_FALSE((*launches)[1].counters[Counter::kDramRead]) << "n/a is no number";
  EXPECT_FALSE(first.counters[Counter::kOccupancy]) << "nor is what is not there";
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
  EXPECT_DOUBLE_EQ(all.of(Counter::kSeconds), 8.88e-6);
  EXPECT_DOUBLE_EQ(all.of(Counter::kInstructions), 1048640);
  EXPECT_NEAR(all.of(Counter::kDramShare), (0.835 * 6.88 + 0.05 * 2) / 8.88, 1e-12);
  EXPECT_NEAR(all.stalls.at("long_scoreboard"), (9 * 6.88 + 3 * 2) / 8.88, 1e-12);
  EXPECT_FALSE(all[Counter::kDramRead]) << "of one launch it is not known";
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
  EXPECT_NE(std::find(read->without.begin(), read->without.end(), "lts__t_sector_hit_rate.pct"), read->without.end());
  EXPECT_EQ(std::find(read->without.begin(), read->without.end(), "gpu__time_duration.sum"), read->without.end());
}

TEST_F(FakeNcu, IsAskedAgainWithoutWhatItDoesNotKnow) {
  is("echo x >> $here/calls\ncase $metrics in *gmma*) echo '==ERROR== Failed to find metric smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio' > $log; exit 1;; esac\n"
     "cp $here/table $log\n");
  const auto read = run_ncu({"/bin/true"}, h200(), 20);
  ASSERT_TRUE(read) << format_error(read.error());
  EXPECT_EQ(read->without.front(), stall_metric("gmma"));
  EXPECT_EQ(*read_file(folder_ / "calls"), "x\nx\n");
}

TEST_F(FakeNcu, RefusalsSayWhy) {
  is("echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters' > $log; exit 1\n");
  EXPECT_NE(refusal().find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
  is("cp $here/table $log; echo '==ERROR== LibraryNotLoaded' >&2; exit 9\n");
  EXPECT_NE(refusal().find("gVisor"), std::string::npos) << refusal();
  is("echo '==WARNING== No kernels were profiled.' > $log\n");
  EXPECT_NE(refusal().find("No kernels were profiled"), std::string::npos) << refusal();
  is("echo 'error: there is no GPU 3' >&2; exit 2\n");
  EXPECT_NE(refusal().find("there is no GPU 3"), std::string::npos) << refusal();
  is("head -c 820 $here/table > $log\n");
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
