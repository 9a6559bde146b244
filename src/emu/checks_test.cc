// Seeded bugs and their correct twins: what the checks of a launch find, and that they find nothing in correct code.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>

#include "emu/emulator.h"
#include "ptx/parser.h"

namespace kw::emu {
namespace {

// Every kernel: %r1 = tid, %r2 = ctaid, %r3 = global thread, %rd1 = a (16384 words, a[i] = i), %rd2 = b (16384 words,
// nobody wrote them), %rd3 = c (zeros), %rd11 = a + 16 * tid, %r11 = s + 4 * tid; 8 KB of shared memory s.
constexpr const char* kBefore = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c) {
  .reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<60>; .reg .b64 %rd<60>;
  .shared .align 128 .b8 s[8192];
  .local .align 16 .b8 l[64];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
  mad.lo.s32 %r3, %r2, %r3, %r1;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
  mul.wide.u32 %rd10, %r1, 16; add.s64 %rd11, %rd1, %rd10;
  mov.u32 %r10, s; shl.b32 %r12, %r1, 2; add.s32 %r11, %r10, %r12;
)";
constexpr const char* kAfter = "\n  ret;\n}\n";
// b[global thread] = %r50.
constexpr const char* kStore = "\n  mul.wide.u32 %rd50, %r3, 4; add.s64 %rd51, %rd2, %rd50; st.global.u32 [%rd51], %r50;\n";

struct Case {
  const char* name;
  uint32_t grid, block;
  std::string body;
  std::set<Finding::Kind> expected;      // kinds found, whatever the schedule
  const char* message = "";              // part of some finding's
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

constexpr auto kRace = Finding::Kind::kRace;
constexpr auto kUninitialised = Finding::Kind::kUninitialisedRead;

LaunchReport launch(const Case& c, Options options) {
  auto module = ptx::parse(kBefore + c.body + kAfter, "case.ptx");
  EXPECT_TRUE(module.has_value()) << format_error(module.error());
  if (!module) return {};
  auto memory = std::move(*Memory::create(1 << 28, true));
  auto program = Program::load(std::make_shared<const ptx::Module>(std::move(*module)), *memory);
  EXPECT_TRUE(program.has_value()) << format_error(program.error());
  if (!program) return {};
  std::vector<uint32_t> words(16384);
  std::iota(words.begin(), words.end(), 0);
  uint64_t params[3] = {*memory->allocate(65536, "a"), *memory->allocate(65536, "b"), *memory->allocate(65536, "c")};
  EXPECT_TRUE(memory->write(params[0], words.data(), 65536).has_value());
  const uint8_t zero = 0;
  EXPECT_TRUE(memory->fill(params[2], &zero, 1, 65536).has_value());
  Launch launch;
  launch.program = program->get();
  launch.kernel = "k";
  launch.grid = {c.grid, 1, 1};
  launch.block = {c.block, 1, 1};
  launch.params.resize(24);
  std::memcpy(launch.params.data(), params, 24);
  auto report = run(launch, options);
  EXPECT_TRUE(report.has_value()) << format_error(report.error());
  return report ? std::move(*report) : LaunchReport{};
}

class Checks : public testing::TestWithParam<Case> {};

TEST_P(Checks, Finds) {
  const Case& c = GetParam();
  for (const auto completion : {Options::Completion::kEager, Options::Completion::kLate}) {
    for (const int threads : {1, 2}) {
      for (const uint64_t seed : {0, 1, 2}) {
        Options options;
        options.check_races = options.check_uninitialised = options.count = true;
        options.threads = threads;
        options.schedule_seed = seed;
        options.async_completion = completion;
        const LaunchReport report = launch(c, options);
        std::set<Finding::Kind> kinds;
        std::string all;
        for (const Finding& finding : report.findings) {
          kinds.insert(finding.kind);
          all += fmt::format("{} x{}: {}\n    {} (line {}, block {}, warp {}, lane {}, thread {})\n", name_of(finding.kind),
                             finding.count, finding.message, finding.party.instruction, finding.party.ptx_line,
                             finding.party.block[0], finding.party.warp, finding.party.lane, finding.party.thread[0]);
          EXPECT_FALSE(finding.party.instruction.empty()) << finding.message;
          EXPECT_NE(finding.party.ptx_line, 0u);
          if (finding.kind != kRace) continue;
          ASSERT_TRUE(finding.other.has_value()) << finding.message;
          all += fmt::format("    {} (line {}, block {}, warp {}, lane {})\n", finding.other->instruction,
                             finding.other->ptx_line, finding.other->block[0], finding.other->warp, finding.other->lane);
          EXPECT_FALSE(finding.other->instruction.empty()) << finding.message;
        }
        ASSERT_TRUE(kinds == c.expected) << all;
        EXPECT_NE(all.find(c.message), std::string::npos) << all;
        if (seed == 0 && threads == 1 && completion == Options::Completion::kEager && getenv("KW_SHOW")) std::fputs(all.c_str(), stdout);
      }
    }
  }
}

// ── Shared memory ────────────────────────────────────────────────────────────────────────────────────────

const std::string kWriteOwn = "st.shared.u32 [%r11], %r1;\n";
const std::string kReadReversed =
    "mov.u32 %r20, 255; sub.s32 %r20, %r20, %r1; shl.b32 %r20, %r20, 2; add.s32 %r20, %r10, %r20; ld.shared.u32 %r50, [%r20];\n";
const std::string kBar = "bar.sync 0;\n";

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
    Shared, Checks,
    testing::Values(
        Case{"barrier", 4, 256, kWriteOwn + kBar + kReadReversed + kStore, {}},
        Case{"no_barrier", 4, 256, kWriteOwn + kReadReversed + kStore, {kRace, kUninitialised}, "shared memory"},
        Case{"reused_with_one_barrier", 1, 256, kWriteOwn + kBar + kReadReversed + kWriteOwn + kStore, {kRace}, "read"},
        Case{"reused_with_two_barriers", 1, 256, kWriteOwn + kBar + kReadReversed + kBar + kWriteOwn + kStore, {}},
        Case{"copy_waited", 2, 256, kCopy + kCommit + "cp.async.wait_group 0;\n" + kBar + kReadReversed + kStore, {}},
        Case{"copy_not_waited", 2, 256, kCopy + kCommit + kBar + kReadReversed + kStore, {kRace}, "not waited"},
        Case{"copy_waited_without_barrier", 1, 256, kCopy + "cp.async.wait_all;\n" + kReadReversed + kStore, {kRace, kUninitialised}},
        Case{"wait_count_right", 1, 256, kCopy + kCommit + kCopy2 + kCommit + "cp.async.wait_group 1;\n" + kBar + read_at(0) + kStore, {}},
        Case{"wait_count_wrong", 1, 256, kCopy + kCommit + kCopy2 + kCommit + "cp.async.wait_group 1;\n" + kBar + read_at(4096) + kStore, {kRace}, "not waited"},
        Case{"own_copy_not_waited", 1, 32, kCopy + kCommit + read_at(0) + kStore, {kRace}, "not waited"},
        Case{"pipeline", 2, 256, pipeline(true), {}},
        Case{"pipeline_one_barrier_too_few", 2, 256, pipeline(false), {kRace}, "cp.async"},
        Case{"mbarrier", 1, 64, mbarrier(true), {}},
        Case{"named_barrier", 1, 64, named_barrier(true), {}},
        Case{"histogram", 1, 256, histogram(true), {}},
        Case{"histogram_without_barrier", 1, 256, histogram(false), {kRace}},
        Case{"lanes_store_different_values", 1, 32, "st.shared.u32 [s], %r1;\n", {kRace}, "same instruction"},
        Case{"lanes_store_one_value", 1, 32, "st.shared.u32 [s], %r2;\n", {}},
        Case{"divergent_lanes_synchronised", 1, 32, divergent(true), {}},
        Case{"both_sides_synchronised", 1, 32, two_sides("bar.warp.sync -1;", true), {}},
        Case{"both_sides_shuffle", 1, 32, two_sides("shfl.sync.idx.b32 %r30, %r1, 0, 31, -1;", true), {kRace}, "divergent"},
        Case{"both_sides_vote", 1, 32, two_sides("vote.sync.ballot.b32 %r30, %p1, -1;", true), {kRace}, "divergent"},
        Case{"shuffle_of_the_whole_warp", 1, 32, two_sides("shfl.sync.idx.b32 %r30, %r1, 0, 31, -1;", false), {}},
        Case{"lanes_in_step", 1, 32, "setp.ge.u32 %p1, %r1, 16; mov.u32 %r50, 0;\n@%p1 bra DONE;\nst.shared.u32 [%r11], %r1;\n"
             "shfl.sync.bfly.b32 %r30, %r1, 1, 31, 0xffff;\nxor.b32 %r31, %r11, 4;\nld.shared.u32 %r50, [%r31];\nDONE:\n" + std::string(kStore), {}},
        Case{"divergent_lanes", 1, 32, divergent(false), {kRace}, "divergent"},
        Case{"bytes_of_a_word", 1, 256, kByteAddress + "add.s32 %r20, %r10, %r20; st.shared.u8 [%r20], %r1; ld.shared.u8 %r50, [%r20];\n" + kStore, {}},
        Case{"uninitialised_shared", 1, 32, read_at(512) + kStore, {kUninitialised}, "offset 512 of 's'"},
        Case{"uninitialised_local", 1, 32, "st.local.u32 [l+4], %r1; ld.local.u32 %r50, [l+4]; ld.local.u32 %r50, [l+8];\n" + std::string(kStore), {kUninitialised}, "local"},
        Case{"shared_out_of_bounds", 1, 32, "ld.shared.u32 %r50, [%r11+8128];\n" + std::string(kStore), {Finding::Kind::kOutOfBounds}, "shared memory"}),
    [](const auto& info) { return info.param.name; });

// Whether the unwaited read sees uninitialised memory depends on the schedule, the race does not.
TEST(Checks, RaceIsFoundInEveryOrderOfWarps) {
  for (const std::string& body : {mbarrier(false), named_barrier(false)}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Options options;
      options.check_races = true;
      options.schedule_seed = seed;
      const LaunchReport report = launch(Case{"", 1, 64, body, {}}, options);
      ASSERT_EQ(report.findings.size(), 1u);
      EXPECT_EQ(report.findings[0].kind, kRace);
    }
  }
}

// ── Global memory ────────────────────────────────────────────────────────────────────────────────────────

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
    Global, Checks,
    testing::Values(
        Case{"blocks_apart", 8, 128, kOne + kStore, {}},
        Case{"blocks_write_the_same", 8, 128, "st.global.u32 [%rd2+128], %r2;\n", {kRace}, "race"},
        Case{"block_reads_what_another_writes", 8, 32, "mul.wide.u32 %rd20, %r3, 4; add.s64 %rd20, %rd20, %rd3; st.global.u32 [%rd20], %r3; ld.global.u32 %r50, [%rd3+64];\n" + std::string(kStore), {kRace}, "no order"},
        Case{"bytes_of_blocks", 4, 128, "mul.wide.u32 %rd20, %r1, 4; cvt.u64.u32 %rd21, %r2; add.s64 %rd20, %rd20, %rd21; add.s64 %rd20, %rd20, %rd2; st.global.u8 [%rd20], %r2;\n", {}},
        Case{"warps_of_a_block", 1, 64, "and.b32 %r20, %r1, 31; mul.wide.u32 %rd20, %r20, 4; add.s64 %rd20, %rd20, %rd2; st.global.u32 [%rd20], %r1;\n", {kRace}, "warp"},
        Case{"lanes_of_a_warp", 1, 32, "st.global.u32 [%rd2], %r1;\n", {kRace}, "same instruction"},
        Case{"exchange_through_global", 1, 64, kOne + kStore + kBar + "xor.b32 %r20, %r1, 32; mul.wide.u32 %rd20, %r20, 4; add.s64 %rd20, %rd20, %rd2; ld.global.u32 %r21, [%rd20];\n", {}},
        Case{"sum_by_red", 8, 128, "red.global.add.u32 [%rd3], 1;\n", {}},
        Case{"sum_by_float_red", 8, 64, "red.global.add.f32 [%rd3], 0f3f800000;\n", {}},
        Case{"red_and_read", 8, 32, "red.global.add.u32 [%rd3], 1; ld.global.u32 %r50, [%rd3];\n" + std::string(kStore), {kRace}},
        Case{"last_block_done", 4, 64, last_block(true), {}},
        Case{"last_block_done_without_fence", 4, 64, last_block(false), {kRace}, "release"},
        Case{"release_acquire", 2, 1, flag("st.release.gpu.global.u32 [%rd3], 1", "ld.acquire.gpu.global.u32 %r20, [%rd3]"), {}},
        Case{"fences", 2, 1, flag("fence.acq_rel.gpu; st.volatile.global.u32 [%rd3], 1", "ld.volatile.global.u32 %r20, [%rd3]; fence.acq_rel.gpu"), {}},
        Case{"relaxed", 2, 1, flag("st.relaxed.gpu.global.u32 [%rd3], 1", "ld.relaxed.gpu.global.u32 %r20, [%rd3]"), {kRace}, "block 1 reads"},
        Case{"uninitialised_global", 1, 32, "mul.wide.u32 %rd20, %r1, 4; add.s64 %rd20, %rd20, %rd2; ld.global.u32 %r50, [%rd20+128];\n" + std::string(kStore), {kUninitialised}, "offset 128 of 'b'"},
        Case{"tail_out_of_bounds", 1, 96, "mul.wide.u32 %rd20, %r1, 4; add.s64 %rd20, %rd20, %rd1; ld.global.u32 %r50, [%rd20+65280];\n" + std::string(kStore), {Finding::Kind::kOutOfBounds}, "past the end of 'a'"},
        Case{"tail_guarded", 1, 96, "setp.ge.s32 %p1, %r1, 64; mul.wide.u32 %rd20, %r1, 4; add.s64 %rd20, %rd20, %rd1; mov.u32 %r50, 0; @!%p1 ld.global.u32 %r50, [%rd20+65280];\n" + std::string(kStore), {}},
        Case{"misaligned_vector", 1, 32, "mul.wide.u32 %rd20, %r1, 4; add.s64 %rd20, %rd20, %rd1; ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%rd20];\n", {Finding::Kind::kMisaligned}, "multiple of 16"},
        Case{"null_pointer", 1, 32, "mov.u64 %rd20, 0; ld.global.u32 %r20, [%rd20];\n", {Finding::Kind::kOutOfBounds}, "null"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace kw::emu
