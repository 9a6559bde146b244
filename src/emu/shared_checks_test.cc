// Seeded bugs in shared and local memory and their correct twins.
#include "emu/checks_for_test.h"

namespace kw::emu {
namespace {

class SharedChecks : public testing::TestWithParam<CheckCase> {};

TEST_P(SharedChecks, Finds) { expect_findings(GetParam()); }

const std::string kWriteOwn = "st.shared.u32 [%r11], %r1;\n";
const std::string kReadReversed =
    "mov.u32 %r20, 255; sub.s32 %r20, %r20, %r1; shl.b32 %r20, %r20, 2; add.s32 %r20, %r10, %r20; ld.shared.u32 %r50, [%r20];\n";

const std::string kCopy = "mul.lo.s32 %r21, %r1, 16; add.s32 %r21, %r10, %r21; cp.async.cg.shared.global [%r21], [%rd11], 16;\n";
const std::string kCopy2 = "cp.async.cg.shared.global [%r21+4096], [%rd11], 16;\n";
const std::string kCommit = "cp.async.commit_group;\n";
std::string read_at(int offset) { return fmt::format("ld.shared.u32 %r50, [%r11+{}];\n", offset); }

std::string pipeline(bool last_barrier) {
  return R"(
  mul.lo.s32 %r21, %r1, 16; add.s32 %r22, %r10, %r21;
  cp.async.cg.shared.global [%r22], [%rd11], 16;
  cp.async.commit_group;
  mov.u32 %r30, 0; mov.u32 %r50, 0;
LOOP:
  add.s32 %r31, %r30, 1; and.b32 %r32, %r31, 1; shl.b32 %r32, %r32, 12; add.s32 %r33, %r22, %r32;
  cp.async.cg.shared.global [%r33], [%rd11], 16;
  cp.async.commit_group;
  cp.async.wait_group 1;
  bar.sync 0;
  and.b32 %r34, %r30, 1; shl.b32 %r34, %r34, 12;
  mov.u32 %r35, 255; sub.s32 %r35, %r35, %r1; shl.b32 %r35, %r35, 4; add.s32 %r35, %r35, %r34; add.s32 %r35, %r35, %r10;
  ld.shared.u32 %r36, [%r35];
  add.s32 %r50, %r50, %r36;
)" + std::string(last_barrier ? "bar.sync 0;\n" : "") + R"(
  mov.u32 %r30, %r31;
  setp.lt.s32 %p1, %r30, 6;
  @%p1 bra LOOP;
  cp.async.wait_all;
)" + kStore;
}

std::string mbarrier(bool wait) {
  return R"(
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared.b64 [s+4096], 32;
INITIALISED:
  bar.sync 0;
  setp.ge.s32 %p2, %r1, 32;
  @%p2 bra CONSUMER;
  st.shared.u32 [%r11], %r1;
  mbarrier.arrive.shared.b64 %rd30, [s+4096];
  mov.u32 %r50, 1;
  bra DONE;
CONSUMER:
)" + std::string(wait ? "mbarrier.test_wait.parity.shared.b64 %p3, [s+4096], 0;\n@!%p3 bra CONSUMER;\n" : "") + R"(
  ld.shared.u32 %r50, [%r11+-128];
DONE:
)" + kStore;
}

std::string named_barrier(bool sync) {
  return R"(
  mov.u32 %r50, 1;
  setp.ge.s32 %p2, %r1, 32;
  @%p2 bra CONSUMER;
  st.shared.u32 [%r11], %r1;
  bar.arrive 1, 64;
  bra DONE;
CONSUMER:
)" + std::string(sync ? "bar.sync 1, 64;\n" : "bar.arrive 1, 64;\n") + R"(
  ld.shared.u32 %r50, [%r11+-128];
DONE:
)" + kStore;
}

std::string histogram(bool barrier) {
  return kWriteOwn + kBar + "and.b32 %r20, %r1, 15; shl.b32 %r20, %r20, 2; add.s32 %r20, %r10, %r20; setp.ge.s32 %p1, %r1, 128;\n"
         "@!%p1 atom.shared.add.u32 %r21, [%r20], 1;\n" +
         (barrier ? kBar : "") + "mov.u32 %r50, 0;\n@%p1 ld.shared.u32 %r50, [%r20];\n" + kStore;
}

std::string divergent(bool sync) {
  return "setp.ge.s32 %p1, %r1, 16; mov.u32 %r50, 0;\n@%p1 bra UPPER;\nst.shared.u32 [%r11], %r1;\nUPPER:\n" +
         std::string(sync ? "bar.warp.sync 0xffffffff;\n" : "") + "@%p1 ld.shared.u32 %r50, [%r11+-64];\n" + kStore;
}

const std::string kByteAddress = "and.b32 %r20, %r1, 63; shl.b32 %r20, %r20, 2; shr.u32 %r21, %r1, 6; add.s32 %r20, %r20, %r21;\n";

// Lanes 0-15 store, `collective`, lanes 16-31 load: each half executes the collective in its own branch, or all at once.
std::string two_sides(const std::string& collective, bool apart) {
  const std::string inside = apart ? collective : "", between = apart ? "" : "JOIN0:\n" + collective + "\n@%p1 bra READ;\nbra DONE;\n";
  return "mov.u32 %r50, 0; setp.ge.u32 %p1, %r1, 16;\n@%p1 bra " + std::string(apart ? "READ" : "JOIN0") +
         ";\nst.shared.u32 [%r11], %r1;\n" + inside + "\n" + (apart ? "bra DONE;\n" : between) + "READ:\n" + inside +
         "\nld.shared.u32 %r50, [%r11+-64];\nDONE:\n" + kStore;
}

INSTANTIATE_TEST_SUITE_P(
    Shared, SharedChecks,
    testing::Values(
        CheckCase{"barrier", 4, 256, kWriteOwn + kBar + kReadReversed + kStore, {}},
        CheckCase{"no_barrier", 4, 256, kWriteOwn + kReadReversed + kStore, {kRace, kUninitialised}, "shared memory"},
        CheckCase{"reused_with_one_barrier", 1, 256, kWriteOwn + kBar + kReadReversed + kWriteOwn + kStore, {kRace}, "read"},
        CheckCase{"reused_with_two_barriers", 1, 256, kWriteOwn + kBar + kReadReversed + kBar + kWriteOwn + kStore, {}},
        CheckCase{"copy_waited", 2, 256, kCopy + kCommit + "cp.async.wait_group 0;\n" + kBar + kReadReversed + kStore, {}},
        CheckCase{"copy_not_waited", 2, 256, kCopy + kCommit + kBar + kReadReversed + kStore, {kRace}, "not waited"},
        CheckCase{"copy_waited_without_barrier", 1, 256, kCopy + "cp.async.wait_all;\n" + kReadReversed + kStore, {kRace, kUninitialised}},
        CheckCase{"wait_count_right", 1, 256, kCopy + kCommit + kCopy2 + kCommit + "cp.async.wait_group 1;\n" + kBar + read_at(0) + kStore, {}},
        CheckCase{"wait_count_wrong", 1, 256, kCopy + kCommit + kCopy2 + kCommit + "cp.async.wait_group 1;\n" + kBar + read_at(4096) + kStore, {kRace}, "not waited"},
        CheckCase{"own_copy_not_waited", 1, 32, kCopy + kCommit + read_at(0) + kStore, {kRace}, "not waited"},
        CheckCase{"pipeline", 2, 256, pipeline(true), {}},
        CheckCase{"pipeline_one_barrier_too_few", 2, 256, pipeline(false), {kRace}, "cp.async"},
        CheckCase{"mbarrier", 1, 64, mbarrier(true), {}},
        CheckCase{"named_barrier", 1, 64, named_barrier(true), {}},
        CheckCase{"histogram", 1, 256, histogram(true), {}},
        CheckCase{"histogram_without_barrier", 1, 256, histogram(false), {kRace}},
        CheckCase{"lanes_store_different_values", 1, 32, "st.shared.u32 [s], %r1;\n", {kRace}, "same instruction"},
        CheckCase{"lanes_store_one_value", 1, 32, "st.shared.u32 [s], %r2;\n", {}},
        CheckCase{"divergent_lanes_synchronised", 1, 32, divergent(true), {}},
        CheckCase{"both_sides_synchronised", 1, 32, two_sides("bar.warp.sync -1;", true), {}},
        CheckCase{"both_sides_shuffle", 1, 32, two_sides("shfl.sync.idx.b32 %r30, %r1, 0, 31, -1;", true), {kRace}, "divergent"},
        CheckCase{"both_sides_vote", 1, 32, two_sides("vote.sync.ballot.b32 %r30, %p1, -1;", true), {kRace}, "divergent"},
        CheckCase{"shuffle_of_the_whole_warp", 1, 32, two_sides("shfl.sync.idx.b32 %r30, %r1, 0, 31, -1;", false), {}},
        CheckCase{"lanes_in_step", 1, 32, "setp.ge.u32 %p1, %r1, 16; mov.u32 %r50, 0;\n@%p1 bra DONE;\nst.shared.u32 [%r11], %r1;\n"
             "shfl.sync.bfly.b32 %r30, %r1, 1, 31, 0xffff;\nxor.b32 %r31, %r11, 4;\nld.shared.u32 %r50, [%r31];\nDONE:\n" + std::string(kStore), {}},
        CheckCase{"divergent_lanes", 1, 32, divergent(false), {kRace}, "divergent"},
        CheckCase{"bytes_of_a_word", 1, 256, kByteAddress + "add.s32 %r20, %r10, %r20; st.shared.u8 [%r20], %r1; ld.shared.u8 %r50, [%r20];\n" + kStore, {}},
        CheckCase{"uninitialised_shared", 1, 32, read_at(512) + kStore, {kUninitialised}, "offset 512 of 's'"},
        CheckCase{"uninitialised_local", 1, 32, "st.local.u32 [l+4], %r1; ld.local.u32 %r50, [l+4]; ld.local.u32 %r50, [l+8];\n" + std::string(kStore), {kUninitialised}, "local"},
        CheckCase{"shared_out_of_bounds", 1, 32, "ld.shared.u32 %r50, [%r11+8128];\n" + std::string(kStore), {Finding::Kind::kOutOfBounds}, "shared memory"}),
    [](const auto& info) { return info.param.name; });

// Whether the unwaited read sees uninitialised memory depends on the schedule, the race does not.
TEST(CheckedRaces, RaceIsFoundInEveryOrderOfWarps) {
  for (const std::string& body : {mbarrier(false), named_barrier(false)}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Options options;
      options.check_races = true;
      options.schedule_seed = seed;
      const LaunchReport report = launch(CheckCase{"", 1, 64, body, {}}, options);
      ASSERT_EQ(report.findings.size(), 1u);
      EXPECT_EQ(report.findings[0].kind, kRace);
    }
  }
}

}  // namespace
}  // namespace kw::emu
