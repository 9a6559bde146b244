// Whose turn it is: waiting for other lanes, warps and blocks, deadlocks, limits, host threads.
#include <gtest/gtest.h>

#include <algorithm>

#include "emu/run_text_for_test.h"

namespace kw::emu {
namespace {

TEST(Emulator, SpinsOnAnotherWarp) {
  Ran r = run_text(kernel(R"(
  .shared .align 4 .b32 flag;
  .reg .b32 %q<4>;
  mov.u32 %r2, flag;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 st.shared.u32 [%r2], 0;
  bar.sync 0;
  setp.ge.u32 %p2, %r1, 32;
  @%p2 bra SET;
WAIT:
  ld.volatile.shared.u32 %r3, [%r2];
  setp.eq.u32 %p3, %r3, 0;
  @%p3 bra WAIT;
  mov.u32 %r0, %r3;
  bra STORE;
SET:
  setp.eq.u32 %p4, %r1, 40;
  @%p4 st.volatile.shared.u32 [%r2], 9;
  mov.u32 %r0, 1;
)"), {.block = {64, 1, 1}, .words = 64});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.out[i], i < 32 ? 9u : 1u);
  EXPECT_LT(r.report.warp_instructions, 300u);   // the waiting warp soon gives its turn away
}

TEST(Emulator, LanesOfOneWarpWaitForEachOther) {
  // A lock taken lane by lane: the holder's way out lies behind the others' loop.
  Ran r = run_text(kernel(R"(
  .shared .align 4 .b32 lock[2];
  mov.u32 %r2, lock;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 st.shared.v2.u32 [%r2], {0, 0};
  bar.sync 0;
TRY:
  atom.shared.cas.b32 %r3, [%r2], 0, 1;
  setp.ne.u32 %p2, %r3, 0;
  @%p2 bra TRY;
  ld.volatile.shared.u32 %r4, [%r2+4];
  add.u32 %r0, %r4, 1;
  st.volatile.shared.u32 [%r2+4], %r0;
  atom.shared.exch.b32 %r3, [%r2], 0;
)"), {});
  EXPECT_CLEAN(r);
  std::vector<uint32_t> sorted = r.out;
  std::sort(sorted.begin(), sorted.end());
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(sorted[i], i + 1);
}

TEST(Emulator, SpinForEverIsADeadlock) {
  Ran r = run_text(kernel(R"(
  .shared .align 4 .b32 flag;
  mov.u32 %r2, flag;
  st.shared.u32 [%r2], 0;
WAIT:
  ld.volatile.shared.u32 %r3, [%r2];
  setp.eq.u32 %p3, %r3, 0;
  @%p3 bra WAIT;
)"), {.block = {64, 1, 1}, .words = 64});
  ASSERT_FALSE(r.error.has_value());
  ASSERT_EQ(r.report.findings.size(), 1u);
  EXPECT_EQ(r.report.findings[0].kind, Finding::Kind::kDeadlock);
}

TEST(Emulator, StepLimitStopsALoopThatCounts) {
  Ran r = run_text(kernel("LOOP:\n add.u32 %r0, %r0, 1;\n bra LOOP;"), {.options = {.max_warp_instructions = 1'000'000}});
  ASSERT_EQ(r.report.findings.size(), 1u);
  EXPECT_EQ(r.report.findings[0].kind, Finding::Kind::kLimit);
  Ran late = run_text(kernel("LOOP:\n add.u32 %r0, %r0, 1;\n bra LOOP;"), {.options = {.deadline_s = 0.05}});
  ASSERT_EQ(late.report.findings.size(), 1u);
  EXPECT_EQ(late.report.findings[0].kind, Finding::Kind::kLimit);
}

TEST(Emulator, BlocksWaitForEarlierBlocks) {
  // Block i waits until block i-1 published, as a decoupled look-back does.
  Ran r = run_text(R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  mov.u32 %r3, 0;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra GO;
WAIT:
  ld.acquire.gpu.global.u32 %r3, [%rd3+-4];
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra WAIT;
GO:
  add.u32 %r4, %r3, 2;
  st.release.gpu.global.u32 [%rd3], %r4;
  ret;
})", {.grid = {300, 1, 1}, .block = {1, 1, 1}, .words = 300, .options = {.schedule_seed = 3}});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 300; ++i) EXPECT_EQ(r.out[i], 2 * (i + 1));
  EXPECT_TRUE(r.program->kernel("k")->order_sensitive);
}

TEST(Emulator, ManyBlocksOnSeveralThreads) {
  for (int threads : {1, 3}) {
    for (uint64_t seed : {0u, 5u}) {
      Ran r = run_text(kernel("mov.u32 %r2, %ctaid.x; mad.lo.u32 %r0, %r2, 3, %r1;"),
                       {.grid = {100000, 1, 1}, .words = 3200000, .options = {.threads = threads, .schedule_seed = seed}});
      EXPECT_CLEAN(r);
      for (uint32_t i = 0; i < 3200000; i += 997) EXPECT_EQ(r.out[i], i / 32 * 3 + i % 32);
      EXPECT_EQ(r.report.counters.blocks, 100000u);
      EXPECT_EQ(r.report.warp_instructions, 100000u * 12);
    }
  }
}

TEST(Emulator, FindingsDoNotDependOnThreads) {
  std::string first;
  for (int threads : {1, 2, 4}) {
    Ran r = run_text(kernel(R"(
  mov.u32 %r2, %ctaid.x;
  setp.lt.u32 %p1, %r2, 37;
  @%p1 bra STORE;
  setp.eq.u32 %p2, %r1, 9;
  @%p2 trap;
)"), {.grid = {500, 1, 1}, .words = 16000, .options = {.threads = threads}});
    ASSERT_EQ(r.report.findings.size(), 1u);
    EXPECT_EQ(r.report.findings[0].party.block[0], 37u);
    EXPECT_EQ(r.report.findings[0].count, 1u);
  }
}

}  // namespace
}  // namespace kw::emu
