// A sample of a launch's blocks against all of them, and against a shorter workload whose blocks do the same.
#include "profile/sample.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/jail.h"
#include "profile/collect.h"
#include "profile/scale.h"
#include "profile/shorten.h"
#include "toolchain/arguments.h"
#include "toolchain/toolchain.h"

namespace kw::profile {
namespace {

TEST(Strata, StandForEveryBlockOnce) {
  for (const std::array<uint32_t, 3>& grid : std::vector<std::array<uint32_t, 3>>{
           {1, 1, 1}, {2, 1, 1}, {33, 1, 1}, {1056, 1, 1}, {2147483647, 1, 1}, {1, 65535, 3}, {2, 2, 2}, {40, 3, 1}, {64, 64, 1}, {3, 1000, 7}, {100000, 65535, 65535}}) {
    for (const uint64_t most : {2, 9, 32, 96}) {
      const auto strata = strata_of(grid, most);
      const uint64_t blocks = uint64_t{grid[0]} * grid[1] * grid[2];
      std::set<uint64_t> seen;
      uint64_t of = 0, chosen = 0;
      for (const Stratum& each : strata) {
        ASSERT_FALSE(each.blocks.empty());
        EXPECT_LE(each.of, strata.front().of);
        EXPECT_LE(each.blocks.size(), each.of);
        of += each.of;
        chosen += each.blocks.size();
        seen.insert(each.blocks.begin(), each.blocks.end());
      }
      EXPECT_EQ(of, blocks);
      EXPECT_EQ(seen.size(), chosen) << "no block twice";
      EXPECT_LT(*seen.rbegin(), blocks);
      EXPECT_LE(chosen, most + 2 * strata.size());
      EXPECT_GE(chosen, std::min(most, blocks));
      EXPECT_TRUE(blocks > most || chosen == blocks);
    }
  }
}

TEST(Strata, HaveTheEdgesApart) {
  const auto strata = strata_of({64, 32, 5}, 32);
  ASSERT_EQ(strata.size(), 9u);
  EXPECT_EQ(strata.front().of, 62u * 30 * 5);
  for (const Stratum& each : strata) {
    std::set<std::pair<int, int>> parts;
    for (const uint64_t block : each.blocks) {
      const uint64_t x = block % 64, y = block / 64 % 32;
      parts.insert({x == 0 ? 0 : x == 63 ? 2 : 1, y == 0 ? 0 : y == 31 ? 2 : 1});
    }
    EXPECT_EQ(parts.size(), 1u);
  }
}

// The mean of anything that grows along an axis comes out, whichever axis it is: causal attention's work.
TEST(Strata, AreEvenAlongEveryAxis) {
  const std::array<uint32_t, 3> grid = {96, 40, 12};
  for (size_t axis = 0; axis < 3; ++axis) {
    double mean = 0;
    for (const Stratum& each : strata_of(grid, 96)) {
      for (const uint64_t block : each.blocks) {
        const std::array<uint64_t, 3> at = {block % grid[0], block / grid[0] % grid[1], block / grid[0] / grid[1]};
        mean += static_cast<double>(at[axis]) * each.weight() / (96.0 * 40 * 12);
      }
    }
    EXPECT_NEAR(mean / ((grid[axis] - 1) / 2.0), 1, 0.05) << axis;
  }
}

struct Both {
  Totals sampled, shortened;
  uint64_t blocks = 0, of = 0;
  static double ratio(double a, double b) { return a == b ? 1 : a / std::max(1.0, b); }
  double instructions() const { return ratio(sampled.instructions, shortened.instructions); }
  double load_bytes() const { return ratio(sampled.load_bytes, shortened.load_bytes); }
  double load_sectors() const { return ratio(sampled.load_sectors, shortened.load_sectors); }
  double store_sectors() const { return ratio(sampled.store_sectors, shortened.store_sectors); }
  double block_sectors() const { return ratio(sampled.block_sectors, shortened.block_sectors); }
  double worst() const {
    double most = 0;
    for (const double each : {instructions(), load_bytes(), load_sectors(), store_sectors(), block_sectors()}) most = std::max(most, std::abs(each - 1));
    return most;
  }
};

class Sampled : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!toolchain::find_nvcc()) GTEST_SKIP() << "no nvcc";
    if (jail_support().kind == JailKind::kNone) GTEST_SKIP() << "no jail";
  }
};

class AgainstShortened : public Sampled {};

// Kernels whose real launch can be shortened: the sample of the real one says the same.
TEST_P(AgainstShortened, Agrees) {
  const std::string root = KW_SOURCE_DIR, name = GetParam();
  const auto problem = problem::load_problem(root + "/problems/" + name + ".problem");
  ASSERT_TRUE(problem) << format_error(problem.error());
  const std::string source = root + "/kernels/" + name + ".cu";
  Options options;
  auto subject = collect(*problem, source, options);
  ASSERT_TRUE(subject) << format_error(subject.error());
  ASSERT_EQ(subject->counted_as, CountedAs::kShortened) << "not one for this test";
  const auto nvcc = toolchain::find_nvcc();
  auto compiled = toolchain::compile(*nvcc, {.path = source, .target = options.target});
  ASSERT_TRUE(compiled);
  auto recorded = toolchain::record(std::get<toolchain::Compiled>(*compiled), toolchain::arguments_of(*problem, subject->workload));
  ASSERT_TRUE(recorded);
  const plan::Plan& plan = std::get<plan::Plan>(*recorded);
  const auto launches = sample(*problem, subject->workload, plan);
  ASSERT_TRUE(launches) << format_error(launches.error());
  const bool uniform = name == "vector_add" || name == "gemm_f16" || name == "gemv";   // every block does the same
  for (const Kernel& kernel : subject->kernels) {
    Kernel by_sample;
    Both both;
    both.shortened = kernel.totals;
    for (const LaunchCounts& each : *launches) {
      if (std::get<plan::Launch>(plan.steps[each.step].action).kernel != kernel.mangled) continue;
      by_sample.counters.add(each.counters);
      for (const Site& site : each.sites) add_site(by_sample.sites, site);
      both.blocks += each.blocks;
      both.of += each.counters.blocks;
    }
    both.sampled = totals_of(by_sample);
    EXPECT_EQ(both.of, kernel.launched.blocks);
    EXPECT_LT(both.worst(), 0.03) << fmt::format("{}: {} of {} blocks; instructions {:.3f}, load bytes {:.3f}, load sectors {:.3f}, store sectors {:.3f}, by blocks {:.3f}", kernel.name, both.blocks,
                                                 both.of, both.instructions(), both.load_bytes(), both.load_sectors(), both.store_sectors(), both.block_sectors());
    if (uniform) {
      EXPECT_LT(both.worst(), 1e-9) << kernel.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, AgainstShortened, ::testing::Values("vector_add", "row_softmax", "transpose", "sum_middle_axis", "gemm_f16", "gemv", "attention_causal", "rms_norm_residual", "cross_entropy",
                                                              "layer_norm_backward", "max_pool2d", "swiglu", "histogram"), [](const auto& info) { return std::string(info.param); });


class OfRealLaunch : public Sampled {
 protected:
  Subject of(const problem::Problem& problem, const std::string& candidate, const std::string& workload = "") {
    Options options;
    options.workload = workload;
    auto subject = collect(problem, candidate, options);
    if (subject) return std::move(*subject);
    ADD_FAILURE() << format_error(subject.error());
    return {};
  }
  problem::Problem problem(const std::string& name) { return *problem::load_problem(root_ + "/problems/" + name + ".problem"); }
  std::string source(const std::string& text) {
    const std::string path = folder_ / "candidate.cu";
    EXPECT_TRUE(write_file(path, "#include <kernelwright/candidate.h>\n" + text));
    return path;
  }
  static double floor_of(const Subject& subject) { return subject.cost.needed_bytes / (subject.target->part.dram_gbps * 1e9); }

  const std::string root_ = KW_SOURCE_DIR;
  TempDir folder_ = *TempDir::create("kw-sampled");
};

// Grids that fill the GPU: at least the floor, and about what a kernel takes that goes about it another way.
TEST_F(OfRealLaunch, PersistentKernelsTakeAboutAsLongAsOthers) {
  struct Case {
    std::string problem, fixture, workload;
  };
  for (const Case& each : std::vector<Case>{{"vector_add", "add_persistent", "stream"}, {"sum_middle_axis", "sum_split", "bias"}, {"row_softmax", "softmax_persistent", "scores"}}) {
    const problem::Problem asked = problem(each.problem);
    const Subject persistent = of(asked, root_ + "/tests/profile/persistent/" + each.fixture + ".cu", each.workload);
    const Subject other = of(asked, root_ + "/kernels/" + each.problem + ".cu", each.workload);
    EXPECT_EQ(persistent.counted_as, CountedAs::kSampled) << each.fixture;
    EXPECT_LT(persistent.sampled_blocks, persistent.all_blocks / 4) << each.fixture;
    EXPECT_EQ(other.counted_as, CountedAs::kShortened) << each.problem;
    EXPECT_GE(persistent.seconds, floor_of(persistent)) << each.fixture;
    EXPECT_LT(persistent.seconds, 1.5 * other.seconds) << each.fixture;
    EXPECT_GT(persistent.seconds, other.seconds / 1.5) << each.fixture;
  }
}

// Every third block leaves at once where there are many elements: with blocks that go by the size, and with a grid that does not.
TEST_F(OfRealLaunch, WhoDoesLessThereIsFasterThanTheFloor) {
  const problem::Problem asked = problem("vector_add");
  for (const char* grid : {"(n + 255) / 256", "1000"}) {
    const Subject subject = of(asked, source(std::string(R"(
__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  if (n > 8000000 && blockIdx.x % 3 != 0) return;
  for (int64_t i = blockIdx.x * int64_t{256} + threadIdx.x; i < n; i += gridDim.x * int64_t{256}) y[i] = a[i] + b[i];
}
KW_ENTRY(kw::In a, kw::In b, kw::Out y, cudaStream_t stream) {
  const int64_t n = y.size();
  add<<<)") + grid + R"(, 256, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), n);
}
)"));
    ASSERT_EQ(subject.counted_as, CountedAs::kSampled) << grid;
    EXPECT_LT(subject.seconds, 0.9 * floor_of(subject)) << grid;
  }
}

// One of all blocks would do everybody's work.
TEST_F(OfRealLaunch, BlocksThatShareOutWorkAreNotSampled) {
  const problem::Problem asked = problem("vector_add");
  const Subject subject = of(asked, source(R"(
__device__ int taken;
__global__ void add(const float* a, const float* b, float* y, int64_t n) {
  __shared__ int tile;
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) tile = atomicAdd(&taken, 1);
    __syncthreads();
    const int64_t i = tile * int64_t{1024} + threadIdx.x;
    if (tile * int64_t{1024} >= n) return;
    if (i < n) y[i] = a[i] + b[i];
  }
}
__global__ void none() { taken = 0; }
KW_ENTRY(kw::In a, kw::In b, kw::Out y, cudaStream_t stream) {
  none<<<1, 1, 0, stream>>>();
  add<<<864, 1024, 0, stream>>>(a.data<float>(), b.data<float>(), y.data<float>(), y.size());
}
)"));
  EXPECT_EQ(subject.counted_as, CountedAs::kScaled);
  ASSERT_FALSE(subject.notes.empty());
  EXPECT_NE(subject.notes.back().find("cannot be sampled: what a block of"), std::string::npos) << subject.notes.back();
}

TEST_F(OfRealLaunch, BuffersOfManyGigabytesCostLittle) {
  const auto asked = problem::parse_problem(R"(problem large_add: "Sum of two vectors"
axes:
  N >= 1
inputs:
  a: f32[N] ~ normal(0, 1)
  b: f32[N] ~ normal(0, 1)
outputs:
  y: f32[N]
reference:
  y = a + b
workloads:
  emulator scaled: N=65536
  real     large:  N=700000000
)", "large.problem");
  ASSERT_TRUE(asked) << format_error(asked.error());
  const Subject subject = of(*asked, root_ + "/tests/profile/persistent/add_persistent.cu");
  ASSERT_EQ(subject.counted_as, CountedAs::kSampled);
  EXPECT_GT(subject.seconds, floor_of(subject));
  rusage use{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &use), 0);
  EXPECT_LT(use.ru_maxrss, 1 << 20) << "KiB, of 8.4 GB";
}

}  // namespace
}  // namespace kw::profile
