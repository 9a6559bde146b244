// Divergence, loops, indexed branches, calls.
#include <gtest/gtest.h>

#include <array>

#include "emu/run_text_for_test.h"

namespace kw::emu {
namespace {

TEST(Emulator, StraightLine) {
  Ran r = run_text(kernel("add.u32 %r0, %r1, 5;"), {});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], i + 5);
}

TEST(Emulator, DivergentBranchesMeetAgain) {
  Ran r = run_text(kernel(R"(
  and.b32 %r2, %r1, 1;
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra EVEN;
  mul.lo.u32 %r0, %r1, 10;
  bra JOIN;
EVEN:
  add.u32 %r0, %r1, 100;
JOIN:
  add.u32 %r0, %r0, 1;
)"), {});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], (i % 2 == 0 ? i + 100 : i * 10) + 1);
  EXPECT_EQ(r.report.counters.divergent_branches, 1u);
  EXPECT_EQ(r.report.counters.branches, 2u);
}

TEST(Emulator, LoopsOfDifferentLength) {
  Ran r = run_text(kernel(R"(
  mov.u32 %r0, 0; mov.u32 %r3, 0;
LOOP:
  add.u32 %r0, %r0, %r3;
  add.u32 %r3, %r3, 1;
  setp.le.u32 %p1, %r3, %r1;
  @%p1 bra LOOP;
)"), {});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], i * (i + 1) / 2);
}

TEST(Emulator, NestedDivergenceInLoops) {
  // Collatz steps: lanes leave the loop at different times and take both sides inside.
  Ran r = run_text(kernel(R"(
  add.u32 %r2, %r1, 1; mov.u32 %r0, 0;
LOOP:
  setp.eq.u32 %p1, %r2, 1;
  @%p1 bra DONE;
  and.b32 %r3, %r2, 1;
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra HALVE;
  mad.lo.u32 %r2, %r2, 3, 1;
  bra NEXT;
HALVE:
  shr.u32 %r2, %r2, 1;
NEXT:
  add.u32 %r0, %r0, 1;
  bra LOOP;
DONE:
)"), {.block = {64, 1, 1}, .words = 64});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t n = i + 1, steps = 0;
    while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; ++steps; }
    EXPECT_EQ(r.out[i], steps);
  }
}

TEST(Emulator, GuardsAndExitOfSomeLanes) {
  Ran r = run_text(kernel(R"(
  setp.ge.u32 %p1, %r1, 20;
  @%p1 exit;
  mov.u32 %r0, 1;
  setp.lt.u32 %p2, %r1, 5;
  @%p2 mov.u32 %r0, 2;
  @!%p2 add.u32 %r0, %r0, 5;
)"), {});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], i >= 20 ? 0u : i < 5 ? 2u : 6u);
}

TEST(Emulator, IndexedBranch) {
  Ran r = run_text(kernel(R"(
  and.b32 %r2, %r1, 3;
  TS: .branchtargets A, B, C, A;
  brx.idx %r2, TS;
A: mov.u32 %r0, 10; bra STORE;
B: mov.u32 %r0, 20; bra STORE;
C: mov.u32 %r0, 30; bra STORE;
)"), {});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], (std::array<uint32_t, 4>{10, 20, 30, 10})[i % 4]);
  Ran bad = run_text(kernel("TS: .branchtargets A, A;\n brx.idx %r1, TS;\nA: mov.u32 %r0, 10;"), {});
  ASSERT_EQ(bad.report.findings.size(), 1u);
  EXPECT_EQ(bad.report.findings[0].kind, Finding::Kind::kInvalidOperand);
  EXPECT_FALSE(bad.report.completed);
}

TEST(Emulator, ValuesSurviveOnTheOtherSideOfABranch) {
  // %r5 is live for some lanes while others write registers that die at once.
  Ran r = run_text(kernel(R"(
  add.u32 %r5, %r1, 1000;
  setp.lt.u32 %p1, %r1, 16;
  @%p1 bra A;
  mov.u32 %r6, 1; mov.u32 %r7, 2; mov.u32 %r8, 3;
  add.u32 %r6, %r6, %r7; add.u32 %r6, %r6, %r8;
  mov.u32 %r0, %r6;
  bra STORE;
A:
  mov.u32 %r0, %r5;
)"), {});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], i < 16 ? i + 1000 : 6);
}

constexpr const char* kFactorial = R"(
.func (.param .b32 result) fact(.param .b32 n) {
  .reg .pred %p<3>; .reg .b32 %r<8>;
  ld.param.u32 %r1, [n];
  setp.gt.u32 %p1, %r1, 1;
  @%p1 bra MORE;
  mov.u32 %r2, 1;
  bra OUT;
MORE:
  sub.u32 %r3, %r1, 1;
  {
  .param .b32 a; .param .b32 b;
  st.param.b32 [a], %r3;
  call.uni (b), fact, (a);
  ld.param.b32 %r4, [b];
  }
  mul.lo.u32 %r2, %r4, %r1;
OUT:
  st.param.b32 [result], %r2;
  ret;
}
)";

TEST(Emulator, RecursionOfDifferentDepthPerLane) {
  Ran r = run_text(kernel(R"(
  and.b32 %r2, %r1, 7;
  {
  .param .b32 a; .param .b32 b;
  st.param.b32 [a], %r2;
  call.uni (b), fact, (a);
  ld.param.b32 %r0, [b];
  }
)", kFactorial), {});
  EXPECT_CLEAN(r);
  const uint32_t want[] = {1, 1, 2, 6, 24, 120, 720, 5040};
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], want[i & 7]);
}

TEST(Emulator, EndlessRecursionOverflowsTheStack) {
  Ran r = run_text(kernel(R"(
  {
  .param .b32 a; .param .b32 b;
  st.param.b32 [a], 1000000;
  call.uni (b), fact, (a);
  ld.param.b32 %r0, [b];
  }
)", kFactorial), {});
  ASSERT_FALSE(r.error.has_value());
  ASSERT_EQ(r.report.findings.size(), 1u);
  EXPECT_EQ(r.report.findings[0].kind, Finding::Kind::kStackOverflow);
  EXPECT_TRUE(r.report.findings[0].fatal);
}

TEST(Emulator, RegisterParametersAndIndirectCalls) {
  Ran r = run_text(kernel(R"(
  .reg .b64 %t<4>;
  mov.u64 %t1, twice; mov.u64 %t2, thrice;
  and.b32 %r2, %r1, 1;
  setp.eq.u32 %p1, %r2, 0;
  selp.b64 %t3, %t1, %t2, %p1;
  P: .callprototype (.reg .b32 _) _ (.reg .b32 _);
  call (%r0), %t3, (%r1), P;
)", R"(
.func (.reg .b32 %o) twice(.reg .b32 %i) { add.u32 %o, %i, %i; ret; }
.func (.reg .b32 %o) thrice(.reg .b32 %i) { .reg .b32 %x; add.u32 %x, %i, %i; add.u32 %o, %x, %i; ret; }
)"), {});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], i % 2 == 0 ? 2 * i : 3 * i);
}

TEST(Emulator, BadFunctionPointer) {
  Ran r = run_text(kernel(R"(
  .reg .b64 %t<4>;
  mov.u64 %t1, 1234;
  P: .callprototype (.reg .b32 _) _ (.reg .b32 _);
  call (%r0), %t1, (%r1), P;
)"), {});
  ASSERT_FALSE(r.error.has_value()) << format_error(*r.error);
  ASSERT_EQ(r.report.findings.size(), 1u);
  EXPECT_EQ(r.report.findings[0].kind, Finding::Kind::kInvalidOperand);
}

}  // namespace
}  // namespace kw::emu
