// Seeded bugs in global memory and their correct twins.
#include "emu/checks_for_test.h"

namespace kw::emu {
namespace {

class GlobalChecks : public testing::TestWithParam<CheckCase> {};

TEST_P(GlobalChecks, Finds) { expect_findings(GetParam()); }

const std::string kOne = "mov.u32 %r50, 1;\n";

std::string last_block(bool fence) {
  return R"(
  mul.wide.u32 %rd20, %r2, 4; add.s64 %rd21, %rd2, %rd20;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra WAIT;
  st.global.u32 [%rd21], %r2;
)" + std::string(fence ? "fence.acq_rel.gpu;\n" : "") + R"(
  atom.global.inc.u32 %r20, [%rd3], 3;
  st.shared.u32 [s], %r20;
WAIT:
  bar.sync 0;
  ld.shared.u32 %r21, [s];
  setp.ne.s32 %p2, %r21, 3;
  @%p2 bra END;
)" + std::string(fence ? "fence.acq_rel.gpu;\n" : "") + R"(
  setp.gt.s32 %p3, %r1, 3;
  @%p3 bra END;
  mul.wide.u32 %rd22, %r1, 4; add.s64 %rd23, %rd2, %rd22;
  ld.global.u32 %r22, [%rd23];
  st.global.u32 [%rd23+1024], %r22;
END:
)";
}

std::string flag(const char* store, const char* load) {
  return fmt::format(R"(
  setp.ne.s32 %p1, %r2, 0;
  @%p1 bra CONSUMER;
  st.global.u32 [%rd2], 7;
  {};
  bra END;
CONSUMER:
  {};
  setp.eq.s32 %p2, %r20, 0;
  @%p2 bra CONSUMER;
  ld.global.u32 %r21, [%rd2];
  st.global.u32 [%rd2+64], %r21;
END:
)", store, load);
}

INSTANTIATE_TEST_SUITE_P(
    Global, GlobalChecks,
    testing::Values(
        CheckCase{"blocks_apart", 8, 128, kOne + kStore, {}},
        CheckCase{"blocks_write_the_same", 8, 128, "st.global.u32 [%rd2+128], %r2;\n", {kRace}, "race"},
        CheckCase{"block_reads_what_another_writes", 8, 32, "mul.wide.u32 %rd20, %r3, 4; add.s64 %rd20, %rd20, %rd3; st.global.u32 [%rd20], %r3; ld.global.u32 %r50, [%rd3+64];\n" + std::string(kStore), {kRace}, "no order"},
        CheckCase{"bytes_of_blocks", 4, 128, "mul.wide.u32 %rd20, %r1, 4; cvt.u64.u32 %rd21, %r2; add.s64 %rd20, %rd20, %rd21; add.s64 %rd20, %rd20, %rd2; st.global.u8 [%rd20], %r2;\n", {}},
        CheckCase{"warps_of_a_block", 1, 64, "and.b32 %r20, %r1, 31; mul.wide.u32 %rd20, %r20, 4; add.s64 %rd20, %rd20, %rd2; st.global.u32 [%rd20], %r1;\n", {kRace}, "warp"},
        CheckCase{"lanes_of_a_warp", 1, 32, "st.global.u32 [%rd2], %r1;\n", {kRace}, "same instruction"},
        CheckCase{"exchange_through_global", 1, 64, kOne + kStore + kBar + "xor.b32 %r20, %r1, 32; mul.wide.u32 %rd20, %r20, 4; add.s64 %rd20, %rd20, %rd2; ld.global.u32 %r21, [%rd20];\n", {}},
        CheckCase{"sum_by_red", 8, 128, "red.global.add.u32 [%rd3], 1;\n", {}},
        CheckCase{"sum_by_float_red", 8, 64, "red.global.add.f32 [%rd3], 0f3f800000;\n", {}},
        CheckCase{"red_and_read", 8, 32, "red.global.add.u32 [%rd3], 1; ld.global.u32 %r50, [%rd3];\n" + std::string(kStore), {kRace}},
        CheckCase{"last_block_done", 4, 64, last_block(true), {}},
        CheckCase{"last_block_done_without_fence", 4, 64, last_block(false), {kRace}, "release"},
        CheckCase{"release_acquire", 2, 1, flag("st.release.gpu.global.u32 [%rd3], 1", "ld.acquire.gpu.global.u32 %r20, [%rd3]"), {}},
        CheckCase{"fences", 2, 1, flag("fence.acq_rel.gpu; st.volatile.global.u32 [%rd3], 1", "ld.volatile.global.u32 %r20, [%rd3]; fence.acq_rel.gpu"), {}},
        CheckCase{"relaxed", 2, 1, flag("st.relaxed.gpu.global.u32 [%rd3], 1", "ld.relaxed.gpu.global.u32 %r20, [%rd3]"), {kRace}, "block 1 reads"},
        CheckCase{"thousands_of_blocks", 5000, 1, "ld.relaxed.gpu.global.u32 %r20, [%rd3]; setp.gt.u32 %p1, %r2, 4990; @%p1 st.global.u32 [%rd2], %r2;\n", {kRace}, "release and acquire"},
        CheckCase{"thousands_of_blocks_apart", 5000, 1, "ld.relaxed.gpu.global.u32 %r50, [%rd3];\n" + std::string(kStore), {}},
        CheckCase{"uninitialised_global", 1, 32, "mul.wide.u32 %rd20, %r1, 4; add.s64 %rd20, %rd20, %rd2; ld.global.u32 %r50, [%rd20+128];\n" + std::string(kStore), {kUninitialised}, "offset 128 of 'b'"},
        CheckCase{"tail_out_of_bounds", 1, 96, "mul.wide.u32 %rd20, %r1, 4; add.s64 %rd20, %rd20, %rd1; ld.global.u32 %r50, [%rd20+65280];\n" + std::string(kStore), {Finding::Kind::kOutOfBounds}, "past the end of 'a'"},
        CheckCase{"tail_guarded", 1, 96, "setp.ge.s32 %p1, %r1, 64; mul.wide.u32 %rd20, %r1, 4; add.s64 %rd20, %rd20, %rd1; mov.u32 %r50, 0; @!%p1 ld.global.u32 %r50, [%rd20+65280];\n" + std::string(kStore), {}},
        CheckCase{"misaligned_vector", 1, 32, "mul.wide.u32 %rd20, %r1, 4; add.s64 %rd20, %rd20, %rd1; ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%rd20];\n", {Finding::Kind::kMisaligned}, "multiple of 16"},
        CheckCase{"null_pointer", 1, 32, "mov.u64 %rd20, 0; ld.global.u32 %r20, [%rd20];\n", {Finding::Kind::kOutOfBounds}, "null"}),
    [](const auto& info) { return info.param.name; });

TEST(GlobalChecks, MoreBlocksThanCanBeFollowedAreNotCalledClean) {
  Options options;
  options.check_races = true;
  const CheckCase many{"many", (1 << 16) + 1, 1, "ld.relaxed.gpu.global.u32 %r50, [%rd3];\n", {}};
  const LaunchReport report = launch(many, options);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, Finding::Kind::kUnsupported);
}

}  // namespace
}  // namespace kw::emu
