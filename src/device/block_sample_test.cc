#include "device/block_sample.h"

#include <sys/resource.h>

#include "device/any_device_for_test.h"

namespace kw::device {
namespace {

// `n` elements, more than any test would want to fill.
plan::Plan large_plan(uint32_t n) {
  plan::Plan plan = add_plan(n);
  for (plan::Buffer& buffer : plan.buffers) {
    buffer.bytes = uint64_t{4} * n;
    buffer.shape = {static_cast<int64_t>(n)};
  }
  return plan;
}

TEST(BlockSample, CountsBlocksOfALaunchOfAnySize) {
  auto sample = BlockSample::load(large_plan(1u << 30));   // 8 GB in two buffers
  ASSERT_TRUE(sample) << format_error(sample.error());
  std::vector<uint8_t> tile(uint64_t{1} << 20, 1);
  ASSERT_TRUE((*sample)->fill("x", tile));
  const std::vector<uint64_t> blocks = {0, 12345, (1u << 25) - 1};
  auto report = (*sample)->run(0, blocks, {});
  ASSERT_TRUE(report) << format_error(report.error());
  ASSERT_TRUE(report->completed) << report->findings.front().message;
  EXPECT_EQ(report->counters.blocks, 3u);
  EXPECT_EQ(report->counters.global.load_bytes, 3u * 2 * 128);   // x, and the bias by every lane
  EXPECT_EQ(report->counters.global.store_bytes, 3u * 128);
  EXPECT_EQ(report->counters.launch_sectors, 3u * 8 + 1);
  EXPECT_FALSE(report->sites.empty());
  ASSERT_TRUE((*sample)->forget());
  EXPECT_FALSE(*(*sample)->communicates(0));
  rusage use{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &use), 0);
  EXPECT_LT(use.ru_maxrss, 1 << 20) << "KiB: buffers that nobody touches cost nothing";
}

TEST(BlockSample, BoundsStay) {
  plan::Plan plan = large_plan(1u << 20);
  std::get<plan::Launch>(plan.steps[0].action).grid[0] += 1;
  const uint32_t more = (1u << 20) + 1;
  std::memcpy(std::get<plan::Launch>(plan.steps[0].action).params.data() + 16, &more, 4);
  auto sample = BlockSample::load(plan);
  ASSERT_TRUE(sample) << format_error(sample.error());
  const std::vector<uint64_t> inner = {17}, last = {1u << 15};
  EXPECT_TRUE((*sample)->run(0, inner, {})->completed);
  auto report = (*sample)->run(0, last, {});
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->completed);
  ASSERT_FALSE(report->findings.empty());
  EXPECT_EQ(report->findings[0].kind, emu::Finding::Kind::kOutOfBounds);
  EXPECT_FALSE((*sample)->run(0, std::vector<uint64_t>{(1u << 15) + 1}, {})) << "no such block";
}

TEST(BlockSample, SmallMovesAreMadeAndLargeOnesLeftOut) {
  plan::Plan plan = large_plan(1u << 28);
  plan::Step fill;
  plan::Fill ones;
  ones.to.buffer = 1;
  ones.pattern = {1, 2, 3, 4};
  ones.row_bytes = ones.pitch = 64;
  ones.rows = 1;
  fill.action = ones;
  plan.steps.push_back(fill);
  ones.row_bytes = ones.pitch = uint64_t{1} << 30;
  fill.action = ones;
  plan.steps.push_back(fill);
  auto sample = BlockSample::load(plan);
  ASSERT_TRUE(sample) << format_error(sample.error());
  EXPECT_TRUE((*sample)->move(1));
  EXPECT_TRUE((*sample)->move(2));
  rusage use{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &use), 0);
  EXPECT_LT(use.ru_maxrss, 1 << 20);
}

}  // namespace
}  // namespace kw::device
