// Barriers of a block and of the grid.
#include <gtest/gtest.h>

#include "emu/run_text_for_test.h"

namespace kw::emu {
namespace {

// Reverses through shared memory.
const char* kReverse = R"(
  .shared .align 4 .b32 s[256];
  mov.u32 %r2, s;
  shl.b32 %r3, %r1, 2;
  add.u32 %r4, %r2, %r3;
  st.shared.u32 [%r4], %r1;
  bar.sync 0;
  mov.u32 %r5, %ntid.x;
  sub.u32 %r6, %r5, %r1;
  sub.u32 %r6, %r6, 1;
  shl.b32 %r6, %r6, 2;
  add.u32 %r6, %r2, %r6;
  ld.shared.u32 %r0, [%r6];
)";

TEST(Emulator, BarrierOrdersWarps) {
  for (uint64_t seed : {0u, 1u, 2u}) {
    Ran r = run_text(kernel(kReverse), {.block = {200, 1, 1}, .words = 200, .options = {.schedule_seed = seed}});
    EXPECT_CLEAN(r);
    for (uint32_t i = 0; i < 200; ++i) EXPECT_EQ(r.out[i], 199 - i);
    EXPECT_EQ(r.report.counters.barriers, 1u);
  }
}

TEST(Emulator, ExitedThreadsAreNotWaitedFor) {
  Ran r = run_text(kernel(R"(
  setp.ge.u32 %p1, %r1, 40;
  @%p1 exit;
  bar.sync 0;
  mov.u32 %r0, 7;
)"), {.block = {128, 1, 1}, .words = 128});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(r.out[i], i < 40 ? 7u : 0u);
}

TEST(Emulator, BarrierReductions) {
  Ran r = run_text(kernel(R"(
  setp.lt.u32 %p1, %r1, 70;
  barrier.red.popc.u32 %r2, 1, %p1;
  barrier.red.and.pred %p2, 2, %p1;
  barrier.red.or.pred %p3, 3, !%p1;
  selp.u32 %r3, 1000, 0, %p2;
  selp.u32 %r4, 2000, 0, %p3;
  add.u32 %r0, %r2, %r3;
  add.u32 %r0, %r0, %r4;
)"), {.block = {96, 1, 1}, .words = 96});
  EXPECT_CLEAN(r);
  for (uint32_t v : r.out) EXPECT_EQ(v, 2070u);
}

TEST(Emulator, NamedBarriersBetweenProducersAndConsumers) {
  Ran r = run_text(kernel(R"(
  .shared .align 4 .b32 s[32];
  mov.u32 %r2, s; and.b32 %r3, %r1, 31; shl.b32 %r3, %r3, 2; add.u32 %r4, %r2, %r3;
  setp.ge.u32 %p1, %r1, 32;
  @%p1 bra PRODUCE;
  bar.sync 3, 64;
  ld.shared.u32 %r0, [%r4];
  bra STORE;
PRODUCE:
  add.u32 %r5, %r1, 500;
  st.shared.u32 [%r4], %r5;
  bar.arrive 3, 64;
  mov.u32 %r0, 1;
)"), {.block = {64, 1, 1}, .words = 64});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], i + 532);
}

TEST(Emulator, MissingArrivalIsADeadlock) {
  Ran r = run_text(kernel("bar.sync 5, 96;"), {.block = {64, 1, 1}, .words = 64});
  ASSERT_EQ(r.report.findings.size(), 1u);
  const Finding& f = r.report.findings[0];
  EXPECT_EQ(f.kind, Finding::Kind::kDeadlock);
  EXPECT_NE(f.message.find("barrier 5: 64 of 96 threads"), std::string::npos) << f.message;
  EXPECT_FALSE(r.report.completed);
}

TEST(Emulator, AlignedBarrierInDivergentCode) {
  Ran r = run_text(kernel(R"(
  setp.lt.u32 %p1, %r1, 10;
  @%p1 bra A;
  bar.sync 0;
  bra STORE;
A:
  bar.sync 0;
)"), {});
  ASSERT_EQ(r.report.findings.size(), 1u);
  EXPECT_EQ(r.report.findings[0].kind, Finding::Kind::kBarrierDivergence) << r.report.findings[0].message;
  ASSERT_TRUE(r.report.findings[0].other.has_value());
  EXPECT_NE(r.report.findings[0].other->ptx_line, r.report.findings[0].party.ptx_line);
  // Without .aligned the two sides meet.
  Ran ok = run_text(kernel(R"(
  setp.lt.u32 %p1, %r1, 10;
  @%p1 bra A;
  barrier.sync 0;
  mov.u32 %r0, 1;
  bra STORE;
A:
  barrier.sync 0;
  mov.u32 %r0, 2;
)"), {});
  ASSERT_FALSE(ok.error.has_value()) << format_error(*ok.error);
  EXPECT_TRUE(ok.report.completed);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(ok.out[i], i < 10 ? 2u : 1u);
}

TEST(Emulator, BadBarriers) {
  for (const char* text : {"bar.sync 16;", "bar.sync 1, 33;", "bar.sync 1, 0;"}) {
    Ran r = run_text(kernel(text), {});
    ASSERT_EQ(r.report.findings.size(), 1u) << text;
    EXPECT_EQ(r.report.findings[0].kind, Finding::Kind::kInvalidOperand) << text;
  }
}

TEST(Emulator, CooperativeGridSync) {
  // What cooperative_groups::this_grid().sync() does with the driver's workspace.
  Ran r = run_text(kernel(R"(
  .reg .b64 %w<4>;
  mov.u32 %r2, %envreg2; mov.u32 %r3, %envreg1;
  mov.b64 %w1, {%r2, %r3};
  bar.sync 0;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra JOIN;
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %nctaid.x;
  setp.eq.u32 %p2, %r4, 0;
  sub.u32 %r6, 0x80000001, %r5;
  selp.b32 %r7, %r6, 1, %p2;
  membar.gl;
  atom.global.add.u32 %r8, [%w1+4], %r7;
SPIN:
  ld.volatile.global.u32 %r9, [%w1+4];
  xor.b32 %r10, %r9, %r8;
  setp.ge.s32 %p3, %r10, 0;
  @%p3 bra SPIN;
JOIN:
  bar.sync 0;
  mov.u32 %r0, 4;
)"), {.grid = {50, 1, 1}, .block = {64, 1, 1}, .words = 3200, .cooperative = true});
  EXPECT_CLEAN(r);
  for (uint32_t v : r.out) EXPECT_EQ(v, 4u);
  Ran many = run_text(kernel("mov.u32 %r0, 1;"), {.grid = {100000, 1, 1}, .block = {64, 1, 1}, .cooperative = true});
  ASSERT_TRUE(many.error.has_value());
  EXPECT_EQ(many.error->code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace kw::emu
