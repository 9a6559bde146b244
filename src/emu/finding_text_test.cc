// Places and names of findings, from hand-written line information to the text that people read.
#include "emu/finding_text.h"

#include <gtest/gtest.h>

#include <cstring>

#include "emu/emulator.h"
#include "ptx/parser.h"

namespace kw::emu {
namespace {

// Two warps; the files' numbers are not their positions.
LaunchReport run_racing(const std::string& body, uint32_t dynamic_shared = 0) {
  const std::string text = R"(.version 8.0
.target sm_80
.address_size 64
.file 4 "/toolkit/include/sm_20.hpp"
.file 2 "/project/include/kernelwright/copy.cuh"
.file 1 "/project/kernels/softmax.cu"
.extern .shared .align 16 .b8 _ZN12_GLOBAL__N_17dynamicE[];
.visible .entry _ZN12_GLOBAL__N_17softmaxEPKf(.param .u64 out)
{
  .reg .b32 %r<9>; .reg .b64 %d<9>;
  .shared .align 16 .b8 _ZZN12_GLOBAL__N_17softmaxEPKfE6q_tile[256];
  .shared .align 16 .b8 _ZZN12_GLOBAL__N_17softmaxEPKfE6v_tile[512];
  mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; xor.b32 %r3, %r2, 128;
  mov.u32 %r4, _ZZN12_GLOBAL__N_17softmaxEPKfE6v_tile; add.s32 %r5, %r4, %r2; add.s32 %r6, %r4, %r3;
  ld.param.u64 %d1, [out];
)" + body + "\n  ret;\n}\n";
  auto module = ptx::parse(text, "case.ptx");
  EXPECT_TRUE(module.has_value()) << format_error(module.error());
  if (!module) return {};
  auto memory = std::move(*Memory::create(1 << 28, true));
  auto program = Program::load(std::make_shared<const ptx::Module>(std::move(*module)), *memory);
  EXPECT_TRUE(program.has_value()) << format_error(program.error());
  if (!program) return {};
  const uint64_t out = *memory->allocate(256, "out");
  Launch launch;
  launch.program = program->get();
  launch.kernel = "_ZN12_GLOBAL__N_17softmaxEPKf";
  launch.block = {64, 1, 1};
  launch.dynamic_shared_bytes = dynamic_shared;
  launch.params.resize(8);
  std::memcpy(launch.params.data(), &out, 8);
  Options options;
  options.check_races = options.check_uninitialised = true;
  options.threads = 1;
  auto report = run(launch, options);
  EXPECT_TRUE(report.has_value()) << format_error(report.error());
  return report ? std::move(*report) : LaunchReport{};
}

constexpr const char* kInlinedRace = R"(
  .loc 1 3 5
  st.shared.u32 [%r5+64], %r1;
  .loc 1 7 2
  .loc 1 2 3, function_name $s, inlined_at 1 7 2
  .loc 2 11 1, function_name $s, inlined_at 1 2 3
  .loc 4 27 1, function_name $s, inlined_at 2 11 1
  ld.shared.u32 %r7, [%r6+64];)";

const Finding* race_of(const LaunchReport& report) {
  for (const Finding& finding : report.findings) {
    if (finding.kind == Finding::Kind::kRace) return &finding;
  }
  return nullptr;
}

TEST(FindingPlaces, AreTheChainOfCallsByTheNamesOfFiles) {
  const LaunchReport report = run_racing(kInlinedRace);
  const Finding* race = race_of(report);
  ASSERT_NE(race, nullptr);
  ASSERT_TRUE(race->other.has_value());
  const Party& read = race->party.inlined_from.empty() ? *race->other : race->party;
  const Party& write = &read == &race->party ? *race->other : race->party;
  EXPECT_EQ(read.source_file, "/toolkit/include/sm_20.hpp");
  EXPECT_EQ(read.source_line, 27u);
  ASSERT_EQ(read.inlined_from.size(), 3u);
  EXPECT_EQ(read.inlined_from[0].file, "/project/include/kernelwright/copy.cuh");
  EXPECT_EQ(read.inlined_from[0].line, 11u);
  EXPECT_EQ(read.inlined_from[1].file, "/project/kernels/softmax.cu");
  EXPECT_EQ(read.inlined_from[1].line, 2u);
  EXPECT_EQ(read.inlined_from[2].line, 7u);
  EXPECT_EQ(write.source_file, "/project/kernels/softmax.cu");
  EXPECT_EQ(write.source_line, 3u);
  EXPECT_TRUE(write.inlined_from.empty());
}

TEST(FindingText, BeginsWithTheAuthorsOwnLine) {
  const LaunchReport report = run_racing(kInlinedRace);
  Reader reader;
  reader.source = [](const std::string& file) {
    return file == "/project/kernels/softmax.cu" ? std::string("one\ntwo\nthree\nfour\nfive\nsix\n  load(tile);\n") : std::string();
  };
  std::vector<Finding> races;
  for (const Finding& finding : report.findings) {
    if (finding.kind == Finding::Kind::kRace) races.push_back(finding);
  }
  const auto groups = group(races, reader);
  ASSERT_EQ(groups.size(), 1u);
  const std::string text = text_of(groups[0], reader);
  EXPECT_NE(text.find("/project/kernels/softmax.cu:2 in softmax\n"), std::string::npos) << text;
  EXPECT_NE(text.find(">     2 | two\n"), std::string::npos) << text;
  EXPECT_NE(text.find("inlined from sm_20.hpp:27, kernelwright/copy.cuh:11\n"), std::string::npos) << text;
  EXPECT_NE(text.find("inlined into /project/kernels/softmax.cu:7: load(tile);\n"), std::string::npos) << text;
  EXPECT_NE(text.find(">     3 | three\n"), std::string::npos) << text;
  EXPECT_NE(text.find("of 'v_tile' in shared memory"), std::string::npos) << text;
  EXPECT_NE(text.find("object: v_tile + "), std::string::npos) << text;
}

TEST(FindingObject, OfSharedMemoryIsTheVariableThatHoldsTheAddress) {
  // v_tile lies at 256.
  const LaunchReport report = run_racing("ld.shared.u32 %r7, [%r5+256];");
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].object, "v_tile");
  EXPECT_EQ(report.findings[0].address - static_cast<uint64_t>(report.findings[0].object_offset), 256u);
}

TEST(FindingObject, BehindTheStaticVariablesIsDynamicSharedMemory) {
  const LaunchReport report = run_racing("mov.u32 %r4, _ZN12_GLOBAL__N_17dynamicE; ld.shared.u32 %r7, [%r4+12];", 64);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].object, "dynamic shared memory");
  EXPECT_EQ(report.findings[0].object_offset, 12);
}

TEST(FindingObject, PastTheEndIsTheLastVariable) {
  const LaunchReport report = run_racing("ld.shared.u32 %r7, [%r4+512];");
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, Finding::Kind::kOutOfBounds);
  EXPECT_EQ(report.findings[0].object, "v_tile");
  EXPECT_EQ(report.findings[0].object_offset, 512);
}

Finding at_lines(uint32_t mine, uint32_t others, uint64_t count) {
  Finding finding;
  finding.kind = Finding::Kind::kRace;
  finding.count = count;
  finding.party.source_file = "a.cu";
  finding.party.source_line = mine;
  finding.party.instruction = "ld.shared.u32 %r1, [%r2];";
  finding.other = finding.party;
  finding.other->source_line = others;
  return finding;
}

TEST(FindingGroups, AreThoseOfTheSamePairOfLinesInAnyOrder) {
  const std::vector<Finding> findings{at_lines(3, 8, 10), at_lines(4, 8, 1), at_lines(8, 3, 5), at_lines(3, 8, 2)};
  const auto groups = group(findings, {});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].count, 17u);
  EXPECT_EQ(groups[0].findings.size(), 3u);
  EXPECT_EQ(groups[0].findings[0], &findings[0]);
  EXPECT_EQ(groups[1].count, 1u);
  EXPECT_NE(text_of(groups[0], {}).find("seen 17 times at these lines, by 3 different pairs of instructions"), std::string::npos) << text_of(groups[0], {});
}

TEST(FindingGroups, WithoutLinesEachInstructionIsItsOwn) {
  std::vector<Finding> findings{at_lines(0, 0, 1), at_lines(0, 0, 1)};
  findings[0].party.ptx_line = 5;
  findings[1].party.ptx_line = 6;
  EXPECT_EQ(group(findings, {}).size(), 2u);
}

TEST(FindingText, OfHeadersIsShort) {
  EXPECT_EQ(readable_file("/usr/local/cuda/bin/../targets/x86_64-linux/include/sm_20_intrinsics.hpp"), "sm_20_intrinsics.hpp");
  EXPECT_EQ(readable_file("/p/include/kernelwright/mma.cuh"), "kernelwright/mma.cuh");
  EXPECT_EQ(readable_file("include/own.cuh"), "include/own.cuh");
}

}  // namespace
}  // namespace kw::emu
