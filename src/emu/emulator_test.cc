// Control: divergence, loops, calls, barriers, deadlocks, scheduling, output, limits. Instructions are tested by the
// text cases of tests/emu.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

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

TEST(Emulator, TrapNamesItsPlace) {
  Ran r = run_text(kernel("setp.eq.u32 %p1, %r1, 37;\n@%p1 trap;"), {.grid = {4, 1, 1}, .block = {64, 1, 1}, .words = 256});
  ASSERT_EQ(r.report.findings.size(), 1u);
  const Finding& f = r.report.findings[0];
  EXPECT_EQ(f.kind, Finding::Kind::kTrap);
  EXPECT_EQ(f.party.warp, 1u);
  EXPECT_EQ(f.party.lane, 5u);
  EXPECT_EQ(f.party.thread[0], 37u);
  EXPECT_EQ(f.party.block[0], 0u);
  EXPECT_NE(f.party.instruction.find("trap"), std::string::npos);
  EXPECT_GT(f.party.ptx_line, 3u);
}

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

TEST(Emulator, Printf) {
  Ran r = run_text(R"(
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 fmt[48] = {37,100,124,37,53,46,50,102,124,37,115,124,37,108,108,120,124,37,45,52,100,124,37,99,37,37,124,37,42,100,10,0};
.global .align 1 .b8 str[4] = {104,105,33,0};
.visible .entry k(.param .u64 out) {
  .local .align 8 .b8 depot[64];
  .reg .b64 %SP; .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .pred %p;
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
  setp.gt.u32 %p, %r1, 1;
  @%p exit;
  mov.u64 %rd1, depot;
  cvta.local.u64 %SP, %rd1;
  neg.s32 %r3, %r1;
  st.local.u32 [%rd1], %r3;
  st.local.f64 [%rd1+8], 0d400921FB54442D18;
  mov.u64 %rd2, str; cvta.global.u64 %rd3, %rd2;
  st.local.u64 [%rd1+16], %rd3;
  st.local.u64 [%rd1+24], 0x123456789ab;
  st.local.u32 [%rd1+32], %r2;
  st.local.u32 [%rd1+36], 88;
  st.local.u32 [%rd1+40], 4;
  st.local.u32 [%rd1+44], 7;
  mov.u64 %rd4, fmt; cvta.global.u64 %rd5, %rd4;
  {
  .param .b64 p0; .param .b64 p1; .param .b32 q;
  st.param.b64 [p0], %rd5; st.param.b64 [p1], %SP;
  call.uni (q), vprintf, (p0, p1);
  ld.param.b32 %r4, [q];
  }
  ret;
})", {.grid = {2, 1, 1}});
  EXPECT_CLEAN(r);
  EXPECT_EQ(r.report.output,
            "0| 3.14|hi!|123456789ab|0   |X%|   7\n-1| 3.14|hi!|123456789ab|0   |X%|   7\n"
            "0| 3.14|hi!|123456789ab|1   |X%|   7\n-1| 3.14|hi!|123456789ab|1   |X%|   7\n");
}

TEST(Emulator, FailedAssertion) {
  Ran r = run_text(kernel(R"(
  .reg .b64 %t<3>;
  setp.ne.u32 %p1, %r1, 3;
  @%p1 bra OK;
  mov.u64 %t1, msg; cvta.global.u64 %t2, %t1;
  { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
  st.param.b64 [a], %t2; st.param.b64 [b], %t2; st.param.b32 [c], 42; st.param.b64 [d], %t2; st.param.b64 [e], 1;
  call.uni __assertfail, (a, b, c, d, e); }
OK:
)", ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
    ".global .align 1 .b8 msg[4] = {120, 62, 48, 0};\n"), {});
  ASSERT_FALSE(r.error.has_value()) << format_error(*r.error);
  ASSERT_EQ(r.report.findings.size(), 1u);
  EXPECT_EQ(r.report.findings[0].kind, Finding::Kind::kTrap);
  EXPECT_EQ(r.report.findings[0].message, "assertion 'x>0' failed in x>0 (x>0:42)");
  EXPECT_EQ(r.report.findings[0].party.lane, 3u);
}

TEST(Emulator, DeviceHeap) {
  Ran r = run_text(kernel(R"(
  .reg .b64 %t<4>;
  { .param .b64 a; .param .b64 b; st.param.b64 [a], 64; call.uni (b), malloc, (a); ld.param.b64 %t1, [b]; }
  st.u32 [%t1], %r1;
  ld.u32 %r0, [%t1];
  { .param .b64 a; st.param.b64 [a], %t1; call.uni free, (a); }
)", ".extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n"), {});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], i);
}

TEST(Emulator, InitialValuesAndSymbols) {
  Ran r = run_text(kernel(R"(
  .reg .b64 %t<9>;
  ld.global.u64 %t1, [pointer];
  ld.global.u32 %r2, [%t1];
  ld.const.u32 %r3, [grid+12];
  ld.global.f32 %f1, [real];
  cvt.rzi.u32.f32 %r4, %f1;
  ld.global.u64 %t2, [table+8];
  P: .callprototype (.reg .b32 _) _ (.reg .b32 _);
  call (%r5), %t2, (%r1), P;
  add.u32 %r0, %r2, %r3; add.u32 %r0, %r0, %r4; add.u32 %r0, %r0, %r5;
)", R"(
.global .align 4 .u32 data[3] = {100, 200, 300};
.global .align 8 .u64 pointer = generic(data)+4;
.const .align 4 .u32 grid[2][2] = {{1, 2}, {3, 4000}};
.global .align 4 .f32 real = 0f42280000;
.func (.reg .b32 %o) same(.reg .b32 %i) { mov.u32 %o, %i; ret; }
.global .align 8 .u64 table[2] = {0, same};
)"), {});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], 200 + 4000 + 42 + i);
}

TEST(Emulator, ThreeDimensionsAndDynamicShared) {
  Ran r = run_text(R"(
.extern .shared .align 16 .b8 dyn[];
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<20>; .reg .b64 %rd<8>;
  .shared .align 4 .b8 fixed[20];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
  mad.lo.u32 %r4, %r3, 3, %r2; mad.lo.u32 %r4, %r4, 4, %r1;
  mov.u32 %r5, dyn; shl.b32 %r6, %r4, 2; add.u32 %r6, %r6, %r5;
  st.shared.u32 [%r6], %r4;
  ld.shared.u32 %r7, [%r6];
  mov.u32 %r8, %dynamic_smem_size; add.u32 %r7, %r7, %r8;
  mov.u32 %r9, %ctaid.y; mad.lo.u32 %r10, %r9, 24, %r4;
  mad.lo.u32 %r7, %r5, 1000, %r7;
  ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r10, 4; add.s64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r7;
  ret;
})", {.grid = {1, 2, 1}, .block = {4, 3, 2}, .words = 48, .dynamic_shared = 96});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 48; ++i) EXPECT_EQ(r.out[i], i % 24 + 96 + 32000);
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

TEST(Emulator, InstructionCounts) {
  Ran r = run_text(kernel(R"(
  setp.lt.u32 %p1, %r1, 8;
  @%p1 bra A;
  mov.u32 %r0, 1;
  bra STORE;
A:
  add.u32 %r0, %r1, 1;
  add.u32 %r0, %r0, 1;
)"), {});
  EXPECT_CLEAN(r);
  const Counters& c = r.report.counters;
  EXPECT_EQ(std::accumulate(c.thread_instructions.begin(), c.thread_instructions.end(), uint64_t{0}),
            32u * (1 + 2 + 9) + 24u * 2 + 8u * 2);
  EXPECT_EQ(std::accumulate(c.warp_instructions.begin(), c.warp_instructions.end(), uint64_t{0}), 16u);
  EXPECT_EQ(r.report.warp_instructions, 16u);
}

TEST(Emulator, RegistersShareSlots) {
  std::string body = "mov.u32 %r0, 0;\n.reg .b32 %q<2001>;\n";
  for (int i = 0; i < 2000; ++i) {
    body += "add.u32 %q" + std::to_string(i) + ", %r1, " + std::to_string(i % 7) + ";\n";
    body += "add.u32 %r0, %r0, %q" + std::to_string(i) + ";\n";
  }
  Ran r = run_text(kernel(body), {});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], 2000 * i + 5995);
  EXPECT_LT(r.program->kernel("k")->register_bytes_per_warp, 4000u);
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

TEST(Emulator, LaunchesOutsideTheLimits) {
  const std::string text = kernel("mov.u32 %r0, 1;");
  EXPECT_TRUE(run_text(text, {.grid = {0, 1, 1}}).error.has_value());
  EXPECT_TRUE(run_text(text, {.grid = {1, 70000, 1}}).error.has_value());
  EXPECT_TRUE(run_text(text, {.block = {2000, 1, 1}}).error.has_value());
  EXPECT_TRUE(run_text(text, {.block = {1, 1, 65}}).error.has_value());
  EXPECT_TRUE(run_text(text, {.dynamic_shared = 300000}).error.has_value());
  EXPECT_TRUE(run_text(text, {.more = {1}}).error.has_value());
}

TEST(Emulator, UnknownInstructionIsNamed) {
  Ran r = run_text(kernel("mov.u32 %r0, 1;\n griddepcontrol.wait;"), {});   // of sm_90
  ASSERT_TRUE(r.error.has_value());
  EXPECT_EQ(r.error->code, ErrorCode::kUnsupported);
  EXPECT_NE(r.error->message.find("griddepcontrol.wait"), std::string::npos);
  ASSERT_TRUE(r.error->span.has_value());
  EXPECT_GT(r.error->span->line, 3);
}

}  // namespace
}  // namespace kw::emu
