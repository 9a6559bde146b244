// Launches: limits of the target, blocks that wait for each other, what a stopped launch reports, barriers of a block
// met at several places.
#include <algorithm>
#include <numeric>

#include "emu/run_text_for_test.h"

namespace kw::emu {
namespace {

TEST(Launch, WarpsAtDifferentSyncthreads) {
  const std::string text = kernel(R"(
  setp.lt.u32 %p1, %r1, 32;
  @%p1 bra A;
  BARRIER;
  mov.u32 %r0, 1;
  bra STORE;
A:
  BARRIER;
  mov.u32 %r0, 2;
)");
  const auto with = [&](const char* barrier) {
    std::string t = text;
    for (size_t at; (at = t.find("BARRIER")) != t.npos;) t.replace(at, 7, barrier);
    return run_text(t, {.block = {64, 1, 1}, .words = 64});
  };
  Ran r = with("bar.sync 0");
  ASSERT_FALSE(r.error.has_value());
  EXPECT_TRUE(r.report.completed);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.out[i], i < 32 ? 2u : 1u);
  ASSERT_EQ(r.report.findings.size(), 1u);
  const Finding& f = r.report.findings[0];
  EXPECT_EQ(f.kind, Finding::Kind::kBarrierDivergence);
  EXPECT_FALSE(f.fatal);
  ASSERT_TRUE(f.other.has_value());
  EXPECT_NE(f.party.ptx_line, f.other->ptx_line);
  EXPECT_NE(f.message.find("different barriers"), std::string::npos) << f.message;
  for (const char* named : {"bar.sync 0, 64", "bar.sync 1, 64", "bar.sync 2", "barrier.sync 3, 64"}) {
    Ran quiet = with(named);
    EXPECT_CLEAN(quiet) << named;
  }
}

constexpr const char* kTrapsInBlock37 = R"(
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, 0;
LOOP:
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p3, %r3, %r2;
  @%p3 bra LOOP;
  setp.lt.u32 %p1, %r2, 37;
  @%p1 bra STORE;
  setp.eq.u32 %p2, %r1, 9;
  @%p2 trap;
)";

TEST(Launch, StoppedLaunchesReportTheSameForAnyNumberOfThreads) {
  for (uint64_t seed : {0u, 4u}) {
    std::string first;
    for (int threads : {1, 2, 4}) {
      for (int again = 0; again < 3; ++again) {
        Ran r = run_text(kernel(kTrapsInBlock37), {.grid = {500, 1, 1}, .words = 16000,
                                                   .options = {.check_races = true, .count = true, .threads = threads, .schedule_seed = seed}});
        ASSERT_FALSE(r.error.has_value());
        std::string all = fmt::format("{} {} {} {}\n", r.report.completed, r.report.warp_instructions,
                                      r.report.counters.blocks, r.report.counters.global.store_bytes);
        for (const Finding& f : r.report.findings) all += fmt::format("{} {} {} {}\n", name_of(f.kind), f.party.block[0], f.count, f.message);
        if (first.empty()) first = all;
        EXPECT_EQ(all, first) << threads;
        EXPECT_FALSE(r.report.completed);
      }
    }
  }
}

TEST(Launch, LimitsAreThoseOfTheTarget) {
  const std::string text = kernel("mov.u32 %r0, 1;");
  Ran turing = run_text(text, {.dynamic_shared = 65536, .head = ".version 8.0\n.target sm_75\n.address_size 64\n"});
  EXPECT_FALSE(turing.error.has_value());
  Ran too_much = run_text(text, {.dynamic_shared = 65537, .head = ".version 8.0\n.target sm_75\n.address_size 64\n"});
  ASSERT_TRUE(too_much.error.has_value());
  EXPECT_NE(too_much.error->message.find("sm_75"), std::string::npos) << too_much.error->message;
  EXPECT_FALSE(run_text(text, {.dynamic_shared = 163 << 10}).error.has_value());   // sm_80
}

// Block 0 waits for a flag that block `last` sets.
std::string waits_for_block(const char* last) {
  return kernel(std::string(R"(
  .reg .b64 %w<4>;
  ld.param.u64 %w1, [out];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r0, 3;
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra WAIT;
  setp.ne.u32 %p2, %r2, )") + last + R"(;
  @%p2 bra STORE;
  st.release.gpu.global.u32 [%w1+40000], 9;
  bra STORE;
WAIT:
  ld.acquire.gpu.global.u32 %r0, [%w1+40000];
  setp.eq.u32 %p3, %r0, 0;
  @%p3 bra WAIT;
)");
}

TEST(Launch, ABlockWaitsForOneThatIsInFlight) {
  Ran r = run_text(waits_for_block("107"), {.grid = {200, 1, 1}, .words = 10001, .dynamic_shared = 163 << 10});
  EXPECT_CLEAN(r);
  EXPECT_EQ(r.out[0], 9u);
}

TEST(Launch, FullBlocksThatWaitForEverAreFoundSoon) {
  std::string text = waits_for_block("900");
  text.replace(text.find("setp.eq.u32 %p1, %r2, 0;"), 24, "setp.lt.u32 %p1, %r2, 390;");
  Ran r = run_text(text, {.grid = {40, 1, 1}, .block = {1024, 1, 1}, .words = 40 * 1024 + 1});
  ASSERT_EQ(r.report.findings.size(), 1u);
  EXPECT_EQ(r.report.findings[0].kind, Finding::Kind::kDeadlock);
}

TEST(Launch, ABlockWaitsForOneThatCanNeverStart) {
  // An A100 holds 108 blocks with so much shared memory. All of them wait.
  std::string text = waits_for_block("199");
  text.replace(text.find("setp.eq.u32 %p1, %r2, 0;"), 24, "setp.lt.u32 %p1, %r2, 190;");
  Ran r = run_text(text, {.grid = {200, 1, 1}, .words = 10001, .dynamic_shared = 163 << 10});
  ASSERT_FALSE(r.error.has_value());
  ASSERT_EQ(r.report.findings.size(), 1u);
  EXPECT_EQ(r.report.findings[0].kind, Finding::Kind::kDeadlock);
  EXPECT_NE(r.report.findings[0].message.find("92 of the grid's 200 blocks have not started"), std::string::npos)
      << r.report.findings[0].message;
}

TEST(Launch, OneWarpPollsWhileAnotherCountsInMemory) {
  // The worker's registers take few states: what it counts is in shared memory, and two registers follow one bit.
  Ran r = run_text(kernel(R"(
  .shared .align 4 .b32 cell[2];
  mov.u32 %r2, cell;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 st.shared.v2.u32 [%r2], {0, 0};
  bar.sync 0;
  setp.lt.u32 %p2, %r1, 32;
  @%p2 bra WAIT;
WORK:
  ld.volatile.shared.u32 %r3, [%r2];
  add.u32 %r3, %r3, 1;
  st.volatile.shared.u32 [%r2], %r3;
  setp.lt.u32 %p3, %r3, 3000000;
  mov.u32 %r3, 0;
  @%p3 bra WORK;
  st.volatile.shared.u32 [%r2+4], 1;
  bra STORE;
WAIT:
  ld.volatile.shared.u32 %r0, [%r2+4];
  setp.eq.u32 %p4, %r0, 0;
  @%p4 bra WAIT;
)"), {.block = {64, 1, 1}, .words = 64});
  EXPECT_CLEAN(r);
  EXPECT_EQ(r.out[5], 1u);
}

TEST(Launch, NanosleepPassesTime) {
  Ran r = run_text(kernel(R"(
  .reg .b64 %t<4>;
  mov.u64 %t1, %globaltimer;
  mov.u32 %r0, 0;
LOOP:
  add.u32 %r0, %r0, 1;
  nanosleep.u32 1000;
  mov.u64 %t2, %globaltimer;
  sub.u64 %t3, %t2, %t1;
  setp.lt.u64 %p1, %t3, 100000;
  @%p1 bra LOOP;
)"), {});
  EXPECT_CLEAN(r);
  EXPECT_GT(r.out[0], 50u);
  EXPECT_LE(r.out[0], 100u);
}

TEST(Launch, ASeedIsAnotherTimeAndPlace) {
  const std::string text = kernel(R"(
  .reg .b64 %t<2>;
  mov.u64 %t1, %globaltimer;
  shr.u64 %t1, %t1, 32;
  cvt.u32.u64 %r0, %t1;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra STORE;
  mov.u32 %r0, %smid;
)");
  const auto with = [&](uint64_t seed) { return run_text(text, {.block = {32, 1, 1}, .words = 32, .options = {.schedule_seed = seed}}).out; };
  EXPECT_EQ(with(0)[0], 0u);
  EXPECT_EQ(with(0)[1], 0u);
  for (const uint64_t seed : {1, 2, 3}) {
    EXPECT_NE(with(seed)[0], 0u);
    EXPECT_NE(with(seed)[1], 0u);
    EXPECT_EQ(with(seed), with(seed));
  }
  EXPECT_NE(with(1)[0], with(2)[0]);
}

TEST(Launch, WarpidIsAPlaceOnTheMultiprocessor) {
  const Ran r = run_text(kernel("mov.u32 %r0, %warpid;"), {.grid = {2, 1, 1}, .block = {64, 1, 1}, .words = 128});
  EXPECT_CLEAN(r);
  EXPECT_NE(r.out[0], r.out[32]);
  EXPECT_NE(r.out[0], r.out[64]) << "another block's first warp";
}

TEST(Launch, DiscardedBytesAreNobodys) {
  const auto discarding = [](const char* then) {
    return "ld.param.u64 %rd4, [out]; st.global.u32 [%rd4], 7; discard.global.L2 [%rd4], 128; mov.u32 %r0, 1;" + std::string(then);
  };
  Options options;
  options.check_uninitialised = true;
  const Ran lost = run_text(kernel(discarding("ld.global.u32 %r0, [%rd4];")), {.block = {1, 1, 1}, .options = options});
  ASSERT_EQ(lost.report.findings.size(), 1u);
  EXPECT_EQ(lost.report.findings[0].kind, Finding::Kind::kUninitialisedRead);
  const Ran written = run_text(kernel(discarding("st.global.u32 [%rd4], 8; ld.global.u32 %r0, [%rd4];")), {.block = {1, 1, 1}, .options = options});
  EXPECT_CLEAN(written);
  EXPECT_EQ(written.out[0], 8u);
  const Ran beyond = run_text(kernel("ld.param.u64 %rd4, [out]; discard.global.L2 [%rd4+128], 128;"), {.block = {1, 1, 1}});
  ASSERT_EQ(beyond.report.findings.size(), 1u);
  EXPECT_EQ(beyond.report.findings[0].kind, Finding::Kind::kOutOfBounds);
}

constexpr const char* kHopper = ".version 8.3\n.target sm_90a\n.address_size 64\n";

TEST(Launch, AClusterOfOneBlock) {
  Ran r = run_text(kernel(R"(
  .shared .align 4 .b32 s[32];
  griddepcontrol.wait;
  setmaxnreg.inc.sync.aligned.u32 40;
  mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;
  mov.u32 %r4, %cluster_ctarank;
  mapa.shared::cluster.u32 %r5, %r2, %r4;
  st.shared::cluster.u32 [%r5], %r1;
  ld.shared.u32 %r6, [%r2];
  getctarank.shared::cluster.u32 %r7, %r5;
  mov.u32 %r8, %cluster_nctarank;
  mad.lo.u32 %r0, %r8, 100, %r6;
  add.u32 %r0, %r0, %r7;
  griddepcontrol.launch_dependents;
)"), {.head = kHopper});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], 100 + i);
  Ran other = run_text(kernel("mapa.shared::cluster.u32 %r0, %r1, 1;"), {.head = kHopper});
  ASSERT_EQ(other.report.findings.size(), 1u);
  EXPECT_EQ(other.report.findings[0].kind, Finding::Kind::kInvalidOperand);
}

TEST(Launch, StackOfAFunction) {
  // Each lane takes another amount; a call must not disturb it, and a restored stack is used again.
  Ran r = run_text(kernel(R"(
  .reg .b64 %t<9>;
  cvt.u64.u32 %t1, %r1;
  add.u64 %t1, %t1, 4;
  stacksave.u64 %t2;
  alloca.u64 %t3, %t1, 16;
  st.local.u32 [%t3], %r1;
  call (%r2), deep, (%r1);
  cvta.local.u64 %t4, %t3;
  ld.u32 %r3, [%t4];
  stackrestore.u64 %t2;
  alloca.u64 %t5, 8, 16;
  sub.u64 %t6, %t5, %t3;
  cvt.u32.u64 %r4, %t6;
  mad.lo.u32 %r0, %r3, 1000, %r2;
  add.u32 %r0, %r0, %r4;
)", R"(
.func (.reg .b32 %o) deep(.reg .b32 %i) {
  .local .align 4 .b32 here[8]; .reg .b64 %t<4>;
  mov.u64 %t1, here; st.local.u32 [%t1], 77; st.local.u32 [%t1+28], 78; ld.local.u32 %o, [%t1]; add.u32 %o, %o, %i; ret;
}
)"), {.options = {.check_uninitialised = true}});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], i * 1000 + 77 + i);
  Ran over = run_text(kernel("alloca.u64 %rd5, 10000000; ld.local.u32 %r0, [%rd5];"), {});
  ASSERT_EQ(over.report.findings.size(), 1u);
  EXPECT_EQ(over.report.findings[0].kind, Finding::Kind::kStackOverflow);
}

TEST(Launch, AddressOfAFunctionParameter) {
  Ran r = run_text(kernel(R"(
  { .param .align 4 .b8 a[16]; .param .b32 b; .param .b32 o;
  st.param.b32 [a], 10; st.param.b32 [a+4], 20; st.param.b32 [a+8], 30; st.param.b32 [a+12], 40;
  and.b32 %r2, %r1, 3;
  st.param.b32 [b], %r2;
  call.uni (o), pick, (a, b);
  ld.param.b32 %r0, [o]; }
)", R"(
.func (.param .b32 result) pick(.param .align 4 .b8 values[16], .param .b32 index) {
  .reg .b32 %r<9>; .reg .b64 %t<9>;
  ld.param.u32 %r1, [index];
  mov.b64 %t1, values;
  mul.wide.u32 %t2, %r1, 4;
  add.u64 %t3, %t1, %t2;
  ld.param.u32 %r2, [%t3];
  ld.local.u32 %r3, [%t3];
  cvta.local.u64 %t4, %t3;
  ld.u32 %r4, [%t4];
  ld.u32 %r5, [%t3];
  add.u32 %r2, %r2, %r3; add.u32 %r4, %r4, %r5; add.u32 %r2, %r2, %r4;
  st.param.b32 [result], %r2;
  ret;
}
)"), {.options = {.check_uninitialised = true}});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], 4 * 10 * (i % 4 + 1));
}

TEST(Launch, VectorsOf256Bits) {
  Ran r = run_text(kernel(R"(
  .shared .align 32 .b8 s[1024];
  .reg .b64 %w<9>;
  mov.u32 %r2, s; shl.b32 %r3, %r1, 5; add.u32 %r2, %r2, %r3;
  add.u32 %r3, %r1, 1; add.u32 %r4, %r1, 2; add.u32 %r5, %r1, 3; add.u32 %r6, %r1, 4;
  add.u32 %r7, %r1, 5; add.u32 %r8, %r1, 6; add.u32 %r9, %r1, 7;
  st.shared.v8.b32 [%r2], {%r1, %r3, %r4, %r5, %r6, %r7, %r8, %r9};
  ld.shared.v4.b64 {%w1, %w2, %w3, %w4}, [%r2];
  shr.u64 %w4, %w4, 32;
  cvt.u32.u64 %r10, %w4;
  cvt.u32.u64 %r11, %w2;
  mad.lo.u32 %r0, %r10, 1000, %r11;
)"), {.head = ".version 8.8\n.target sm_100\n.address_size 64\n", .options = {.check_races = true, .count = true}});
  EXPECT_CLEAN(r);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], (i + 7) * 1000 + i + 2);
}

TEST(Launch, LateCopiesAreMadeWhenTheirLaneExits) {
  Ran r = run_text(kernel(R"(
  .shared .align 16 .b8 s[16];
  .reg .b64 %w<3>;
  mov.u32 %r2, s; ld.param.u64 %w1, [out];
  setp.ge.u32 %p1, %r1, 32;
  @%p1 bra OTHER;
  setp.eq.u32 %p2, %r1, 0;
  @%p2 st.global.u32 [%w1+240], 55;
  @%p2 cp.async.ca.shared.global [%r2], [%w1+240], 4;
  exit;
OTHER:
  bar.sync 0;
  ld.shared.u32 %r0, [%r2];
)"), {.block = {64, 1, 1}, .words = 64, .options = {.async_completion = Options::Completion::kLate}});
  EXPECT_CLEAN(r);
  for (uint32_t i = 32; i < 64; ++i) EXPECT_EQ(r.out[i], 55u);
}

TEST(Launch, ChosenBlocksRunAndNoOthers) {
  const std::string text = kernel("add.u32 %r0, %r1, 1;");
  for (int threads : {1, 2}) {
    const std::vector<uint64_t> blocks = {3, 9, 0};
    Ran some = run_text(text, {.grid = {5, 2, 1}, .words = 320, .options = {.count = true, .threads = threads, .blocks = blocks}});
    EXPECT_CLEAN(some);
    for (uint32_t i = 0; i < 160; ++i) EXPECT_EQ(some.out[i] != 0, i / 32 == 0 || i / 32 == 3 || i / 32 == 4) << i;   // block 9 is (4, 1)
    EXPECT_EQ(some.report.counters.blocks, 3u);
    Ran all = run_text(text, {.grid = {5, 2, 1}, .words = 320, .options = {.count = true, .threads = threads}});
    EXPECT_EQ(some.report.counters.global.store_bytes * 10, all.report.counters.global.store_bytes * 3);
  }
  const std::vector<uint64_t> none = {10};
  EXPECT_TRUE(run_text(text, {.grid = {5, 2, 1}, .words = 320, .options = {.blocks = none}}).error.has_value());
}

TEST(Launch, WaitingForABlockThatWasNotChosenIsADeadlock) {
  const std::string text = R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %ctaid.x;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 st.release.gpu.global.u32 [%rd1], 1;
WAIT:
  ld.acquire.gpu.global.u32 %r2, [%rd1];
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra WAIT;
  ret;
})";
  EXPECT_CLEAN(run_text(text, {.grid = {4, 1, 1}, .block = {1, 1, 1}}));
  const std::vector<uint64_t> late = {2, 3};
  const Ran r = run_text(text, {.grid = {4, 1, 1}, .block = {1, 1, 1}, .options = {.blocks = late}});
  EXPECT_FALSE(r.report.completed);
  ASSERT_FALSE(r.report.findings.empty());
  EXPECT_EQ(r.report.findings[0].kind, Finding::Kind::kDeadlock);
}

}  // namespace
}  // namespace kw::emu
