// Launches small kernels with every check on and compares what is found with what was seeded.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>

#include "emu/emulator.h"
#include "ptx/parser.h"

namespace kw::emu {

// Every kernel: %r1 = tid, %r2 = ctaid, %r3 = global thread, %rd1 = a (16384 words, a[i] = i), %rd2 = b (16384 words,
// nobody wrote them), %rd3 = c (zeros), %rd11 = a + 16 * tid, %r11 = s + 4 * tid; 8 KB of shared memory s.
inline constexpr const char* kBefore = R"(.version 8.0
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
inline constexpr const char* kAfter = "\n  ret;\n}\n";
// b[global thread] = %r50.
inline constexpr const char* kStore = "\n  mul.wide.u32 %rd50, %r3, 4; add.s64 %rd51, %rd2, %rd50; st.global.u32 [%rd51], %r50;\n";
inline const std::string kBar = "bar.sync 0;\n";

struct CheckCase {
  const char* name;
  uint32_t grid, block;
  std::string body;
  std::set<Finding::Kind> expected;      // kinds found, whatever the schedule
  const char* message = "";              // part of some finding's
};

inline std::ostream& operator<<(std::ostream& out, const CheckCase& c) { return out << c.name; }

inline constexpr auto kRace = Finding::Kind::kRace;
inline constexpr auto kUninitialised = Finding::Kind::kUninitialisedRead;

inline LaunchReport launch(const CheckCase& c, Options options) {
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

// What is found does not depend on threads, schedule or completion of copies.
inline void expect_findings(const CheckCase& c) {
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

}  // namespace kw::emu
