// What a launch brings about besides control: traps, output, memory, counts, limits. Instructions are tested by the
// text cases of tests/emu.
#include <gtest/gtest.h>

#include <numeric>

#include "emu/run_text_for_test.h"

namespace kw::emu {
namespace {

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
