#include <gtest/gtest.h>

#include <algorithm>

#include "emu/run_text_for_test.h"

namespace kw::emu {
namespace {

// Each thread loads a word three times, a line after its neighbour's; then all add to the first word.
constexpr const char* kText = R"(
.visible .entry k(.param .u64 out)
{
  .reg .b64 %rd<4>;
  .reg .b32 %r<6>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 128;
  add.s64 %rd3, %rd1, %rd2;
  mov.u32 %r2, 0;
$again:
  ld.global.u32 %r3, [%rd3];
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 3;
  @%p1 bra $again;
  atom.global.add.u32 %r4, [%rd1], 1;
  ret;
}
)";

Ran run_counted(int threads) {
  Setup setup;
  setup.grid = {2, 1, 1};
  setup.block = {64, 1, 1};
  setup.words = 64 * 32;
  setup.options.count = setup.options.count_sites = true;
  setup.options.threads = threads;
  return run_text(kText, setup);
}

const SiteCounters* site_with(const LaunchReport& report, std::string_view text) {
  const auto at = std::find_if(report.sites.begin(), report.sites.end(), [&](const auto& site) { return site.party.instruction.find(text) != std::string::npos; });
  return at == report.sites.end() ? nullptr : &*at;
}

TEST(SiteCounters, TellWhatEachInstructionDid) {
  for (const int threads : {1, 2}) {
    const Ran ran = run_counted(threads);
    ASSERT_FALSE(ran.error) << ran.error->message;
    ASSERT_TRUE(ran.report.completed);
    const SiteCounters* load = site_with(ran.report, "ld.global");
    ASSERT_NE(load, nullptr);
    EXPECT_EQ(load->warps, 2u * 2 * 3);          // blocks, warps, times
    EXPECT_EQ(load->threads, 32u * 12);
    EXPECT_EQ(load->requests, 12u);
    EXPECT_EQ(load->bytes, 4u * 32 * 12);
    EXPECT_EQ(load->sectors, 32u * 12);          // none shares a sector
    EXPECT_EQ(load->space, ptx::Space::kGlobal);
    EXPECT_EQ(load->instruction_class, Counters::kLoad);
    const SiteCounters* atomic = site_with(ran.report, "atom.global");
    ASSERT_NE(atomic, nullptr);
    EXPECT_EQ(atomic->requests, 4u);
    EXPECT_EQ(atomic->address_passes, 4u * 32);  // all lanes name one word
    EXPECT_EQ(atomic->addresses, 1u);
    EXPECT_EQ(ran.report.counters.block_sectors_load, 2u * 64);
    EXPECT_EQ(ran.report.counters.block_sectors, 2u * 64);       // the atomic is in one that is loaded
    EXPECT_EQ(ran.report.counters.launch_sectors, 64u);
    EXPECT_EQ(ran.report.counters.launch_pages, 3u);              // 64 lines of 128 bytes, from within the first
  }
}

TEST(SiteCounters, AddUpToTheCountersByClass) {
  const Ran ran = run_counted(1);
  std::array<uint64_t, Counters::kClasses> warps{};
  for (const SiteCounters& site : ran.report.sites) warps[site.instruction_class] += site.warps;
  EXPECT_EQ(warps, ran.report.counters.warp_instructions);
  EXPECT_TRUE(std::is_sorted(ran.report.sites.begin(), ran.report.sites.end(),
                             [](const auto& a, const auto& b) { return a.party.ptx_line < b.party.ptx_line; }));
  // Blocks and warps do the same.
  EXPECT_EQ(ran.report.counters.busiest_block * 2, ran.report.warp_instructions);
  EXPECT_EQ(ran.report.counters.busiest_warps * 2, ran.report.warp_instructions);
}

TEST(SiteCounters, AreLeftOutUnlessAskedFor) {
  emu::Setup setup;
  setup.words = 64 * 32;
  setup.options.count = true;
  EXPECT_TRUE(run_text(kText, setup).report.sites.empty());
}

}  // namespace
}  // namespace kw::emu
