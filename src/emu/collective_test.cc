// Collectives whose lanes stand at different instructions.
#include "emu/run_text_for_test.h"

namespace kw::emu {
namespace {

TEST(Collective, WarpBarrierInBothSidesOfABranch) {
  Ran r = run_text(kernel(R"(
  .shared .align 4 .b32 s[32];
  mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3;
  mov.u32 %r5, 31; sub.u32 %r5, %r5, %r1; shl.b32 %r5, %r5, 2; add.u32 %r5, %r2, %r5;
  setp.lt.u32 %p1, %r1, 10;
  @%p1 bra A;
  st.shared.u32 [%r4], %r1;
  bar.warp.sync -1;
  ld.shared.u32 %r0, [%r5];
  bra STORE;
A:
  add.u32 %r6, %r1, 100;
  st.shared.u32 [%r4], %r6;
  bar.warp.sync -1;
  ld.shared.u32 %r0, [%r5];
)"), {.options = {.check_races = true}});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], 31 - i < 10 ? 131 - i : 31 - i);
}

// Every collective with its operands in other registers on each side; f(i) is what lane i gives.
struct Case { const char* name; const char* left; const char* right; uint32_t (*want)(uint32_t lane); };

uint32_t given(uint32_t i) { return i < 12 ? i * 3 : i + 100; }
uint32_t greatest() { return 131; }

class TwoSides : public testing::TestWithParam<Case> {};

TEST_P(TwoSides, MeetInOneOperation) {
  const Case& c = GetParam();
  Ran r = run_text(kernel(std::string(R"(
  .reg .b32 %m<4>; .reg .b64 %w<4>;
  mov.u32 %m1, -1; mov.u32 %m2, 31;
  sub.u32 %r7, %m2, %r1;
  setp.lt.u32 %p1, %r1, 12;
  @%p1 bra A;
  add.u32 %r8, %r1, 100;
  cvt.u64.u32 %w1, %r8;
  setp.gt.u32 %p4, %r8, 120;
)") + c.right + R"(
  bra STORE;
A:
  mul.lo.u32 %r9, %r1, 3;
  cvt.u64.u32 %w2, %r9;
  setp.gt.u32 %p5, %r9, 120;
)" + c.left), {});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], c.want(i)) << "lane " << i;
}

INSTANTIATE_TEST_SUITE_P(
    All, TwoSides,
    testing::Values(
        Case{"shfl", "shfl.sync.idx.b32 %r10|%p2, %r9, %r7, 31, -1; selp.u32 %r0, %r10, 0, %p2;",
             "shfl.sync.idx.b32 %r11|%p3, %r8, %r7, %m2, %m1; selp.u32 %r0, %r11, 0, %p3;", [](uint32_t i) { return given(31 - i); }},
        Case{"ballot", "vote.sync.ballot.b32 %r0, %p5, -1;", "vote.sync.ballot.b32 %r0, %p4, %m1;", [](uint32_t) { return 0xffe00000u; }},
        Case{"any", "vote.sync.any.pred %p6, %p5, -1; selp.u32 %r0, 1, 0, %p6;",
             "vote.sync.any.pred %p7, %p4, -1; selp.u32 %r0, 1, 0, %p7;", [](uint32_t) { return 1u; }},
        Case{"match", "match.any.sync.b64 %r0, %w2, -1;", "match.any.sync.b64 %r0, %w1, -1;", [](uint32_t i) { return 1u << i; }},
        Case{"redux", "redux.sync.max.u32 %r0, %r9, -1;", "redux.sync.max.u32 %r0, %r8, -1;", [](uint32_t) { return greatest(); }}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Collective, DisjointMasksInTwoBranches) {
  Ran r = run_text(kernel(R"(
  setp.lt.u32 %p1, %r1, 16;
  @%p1 bra A;
  shfl.sync.bfly.b32 %r0, %r1, 1, 31, 0xffff0000;
  bra STORE;
A:
  shfl.sync.bfly.b32 %r0, %r1, 2, 31, 0x0000ffff;
)"), {});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], i < 16 ? i ^ 2 : i ^ 1);
}

TEST(Collective, LanesInsideAndOutsideAFunction) {
  // Lanes call the same function from two places: two frames, one instruction.
  Ran r = run_text(kernel(R"(
  setp.lt.u32 %p1, %r1, 16;
  @%p1 bra A;
  call (%r0), sum, (%r1);
  bra STORE;
A:
  call (%r0), sum, (5);
)", R"(
.func (.reg .b32 %o) sum(.reg .b32 %i) { redux.sync.add.u32 %o, %i, -1; ret; }
)"), {});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], 16u * 5 + (16 + 31) * 8);
}

TEST(Collective, WhileAnotherLaneSpins) {
  // Lane 0 waits for what lane 1 writes after a barrier of the other lanes, which stand at two instructions.
  Ran r = run_text(kernel(R"(
  .shared .align 4 .b32 flag;
  mov.u32 %r2, flag; st.shared.u32 [%r2], 0; bar.warp.sync -1;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra SPIN;
  setp.lt.u32 %p2, %r1, 9;
  @%p2 bra A;
  bar.warp.sync 0xfffffffe;
  bra STORE;
SPIN:
  ld.volatile.shared.u32 %r0, [%r2];
  setp.eq.u32 %p3, %r0, 0;
  @%p3 bra SPIN;
  bra STORE;
A:
  bar.warp.sync 0xfffffffe;
  st.volatile.shared.u32 [%r2], 7;
)"), {});
  EXPECT_CLEAN(r);
  EXPECT_EQ(r.out[0], 7u);
}

TEST(Collective, DifferentOperationsNeverMeet) {
  Ran r = run_text(kernel(R"(
  setp.lt.u32 %p1, %r1, 16;
  @%p1 bra A;
  shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;
  bra STORE;
A:
  shfl.sync.idx.b32 %r0, %r1, 2, 31, -1;
)"), {});
  ASSERT_EQ(r.report.findings.size(), 1u);
  EXPECT_EQ(r.report.findings[0].kind, Finding::Kind::kDeadlock);
  EXPECT_TRUE(r.report.findings[0].other.has_value());
}

}  // namespace
}  // namespace kw::emu
