#include <gtest/gtest.h>

#include "ptx/parser.h"
#include "toolchain/ptx_facts.h"
#include "toolchain/sass_facts.h"

namespace kw::toolchain {
namespace {

TEST(PtxFacts, CountsFormsWidthsAndSpaces) {
  auto module = ptx::parse(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
.maxntid 128, 2, 1
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<9>;
  .reg .f32 %f<9>;
  .shared .align 16 .b8 tile[1024];
  ld.param.u64 %rd1, [p];
  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];
  ld.global.v4.f32 {%f5, %f6, %f7, %f8}, [%rd1+16];
  mov.u32 %r1, tile;
  cp.async.cg.shared.global [%r1], [%rd1], 16;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, [%r1];
  bar.sync 0;
  st.global.f32 [%rd1], %f1;
  ret;
})",
                           "k.ptx");
  ASSERT_TRUE(module.has_value()) << format_error(module.error());
  const auto facts = ptx_facts(*module);
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].instructions, 9u);
  EXPECT_EQ(facts[0].max_threads, 256u);
  EXPECT_EQ(facts[0].static_shared_bytes, 1024u);
  EXPECT_EQ(facts[0].barriers, 1u);
  auto find = [&](const char* operation, const char* space, uint32_t bytes) -> uint64_t {
    for (const auto& a : facts[0].accesses) {
      if (a.operation == operation && a.space == space && a.bytes == bytes) return a.count;
    }
    return 0;
  };
  EXPECT_EQ(find("ld", "global", 16), 2u);
  EXPECT_EQ(find("st", "global", 4), 1u);
  EXPECT_EQ(find("cp.async", "global", 16), 1u);
  EXPECT_EQ(find("ldmatrix", "shared", 16), 1u);
}

TEST(SassFacts, ReadsADisassembly) {
  const auto facts = sass_facts(R"(
.text._Z1kPf:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, [R2.64] ;
        /*0020*/                   HMMA.16816.F32 R8, R4, R6, R8 ;
        /*0030*/                   LDSM.16.M88.4 R4, [R20] ;
        /*0040*/                   STL.64 [R1], R4 ;
        /*0050*/               @P1 BRA `(.L_x_0) ;
        /*0060*/                   NOP ;
)");
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].kernel, "_Z1kPf");
  EXPECT_EQ(facts[0].instructions, 6u);
  EXPECT_EQ(facts[0].local_stores, 1u);
  EXPECT_EQ(facts[0].tensor.at("HMMA.16816.F32"), 1u);
  ASSERT_EQ(facts[0].accesses.size(), 3u);
  EXPECT_EQ(facts[0].accesses[0].operation, "ld");
  EXPECT_EQ(facts[0].accesses[0].bytes, 16u);
}

// As nvdisasm -c -g prints it.
TEST(SassFacts, SpillsHavePlacesAndSlowPathsNames) {
  const auto facts = sass_facts(R"(
.text.k:
	//## File "/a/b.cu", line 7
        /*0000*/                   STL [R1+0x4], R2 ;
        /*0010*/                   LDL.LU R2, [R1+0x4] ;
	//## File "/a/b.cu", line 9 inlined at "/a/c.cu", line 3
        /*0020*/                   LDL R3, [R1] ;
        /*0030*/                   CALL.REL.NOINC `($__internal_1_$__cuda_sm3x_div_rn_noftz_f32_slowpath) ;
        /*0040*/                   CALL.REL.NOINC `(_Z5otherv) ;
)");
  ASSERT_EQ(facts.size(), 1u);
  ASSERT_EQ(facts[0].local_places.size(), 2u);
  EXPECT_EQ(facts[0].local_places[0].file, "/a/b.cu");
  EXPECT_EQ(facts[0].local_places[0].line, 7u);
  EXPECT_EQ(facts[0].local_places[0].count, 2u);
  EXPECT_EQ(facts[0].local_places[1].line, 9u);
  EXPECT_EQ(facts[0].slow_paths, (std::map<std::string, uint64_t>{{"div_rn_noftz_f32", 1}}));
}

TEST(SassFacts, LoadsInFlightEndWhereOneIsNeeded) {
  const auto facts = sass_facts(R"(
.text.three_then_one:
        /*0000*/                   LDG.E.64 R4, [R2.64] ;
        /*0010*/                   LDG.E R6, [R2.64+0x8] ;
        /*0020*/                   LDG.E R7, [R10.64] ;
        /*0030*/                   FADD R8, R5, R5 ;
        /*0040*/                   LDG.E R6, [R8.64] ;
        /*0050*/                   EXIT ;
.text.a_chain:
        /*0000*/                   LDG.E.64 R2, [R2.64] ;
        /*0010*/                   LDG.E.64 R4, [R2.64] ;
        /*0020*/                   EXIT ;
.text.none:
        /*0000*/                   EXIT ;
)");
  ASSERT_EQ(facts.size(), 3u);
  EXPECT_DOUBLE_EQ(facts[0].loads_in_flight, 2);   // 3, then 1: R5 is the upper half of the first
  EXPECT_DOUBLE_EQ(facts[1].loads_in_flight, 1);
  EXPECT_DOUBLE_EQ(facts[2].loads_in_flight, 0);
}

TEST(SassFacts, AnyTextIsAccepted) {
  for (const char* text : {"", "\n\n", ".text.:", "/*zz*/ X", "/*00*/ @P0", "/*00*/ {", ".text.k:\n/*0*/ LDG",
                           ".text.k:\n/*0*/ LDG R", ".text.k:\n/*0*/ CALL $__cuda_sm", "//## File \"", "//## File \"\", line ", ".text.k:\n//## File \"a\", line x\n/*0*/ STL R1, R"}) {
    EXPECT_NO_FATAL_FAILURE(sass_facts(text));
  }
}

TEST(Ptxas, ReadsResources) {
  const auto resources = ptxas_resources(
      "ptxas info    : Compiling entry function '_Z1kP6float4i' for 'sm_80'\n"
      "ptxas info    : Function properties for _Z1kP6float4i\n"
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 56 registers, used 1 barriers, 1024 bytes smem, 364 bytes cmem[0], 8 bytes cmem[2]\n");
  ASSERT_EQ(resources.size(), 1u);
  EXPECT_EQ(resources[0].kernel, "_Z1kP6float4i");
  EXPECT_EQ(resources[0].registers, 56u);
  EXPECT_EQ(resources[0].stack_bytes, 8u);
  EXPECT_EQ(resources[0].spill_store_bytes, 4u);
  EXPECT_EQ(resources[0].spill_load_bytes, 12u);
  EXPECT_EQ(resources[0].shared_bytes, 1024u);
  EXPECT_EQ(resources[0].barriers, 1u);
  EXPECT_EQ(resources[0].constant_bytes, 372u);
}

}  // namespace
}  // namespace kw::toolchain
