// What the parser makes of names, ranges and bounds, where a text case cannot show it.
#include "ptx/parser.h"

#include <gtest/gtest.h>

#include "ptx/printer.h"
#include "ptx/verifier.h"

namespace kw::ptx {
namespace {

constexpr const char* kHeader = ".version 9.0\n.target sm_80\n.address_size 64\n";

Module parsed(const std::string& text) {
  auto module = parse(kHeader + text, "test.ptx");
  EXPECT_TRUE(module.has_value()) << (module ? "" : format_error(module.error()));
  return module ? std::move(*module) : Module{};
}

const Instruction& instruction(const Function& function, size_t index) {
  return std::get<Instruction>(function.body.statements.at(index));
}

TEST(Parser, RangeOfFourThousandMillionRegistersCostsNothing) {
  const Module module = parsed(".entry k { .reg .b32 %r<4294967295>; mov.u32 %r4294967294, 1; mov.u32 %r0, %r4294967294; ret; }");
  const Function& kernel = *module.find_function("k");
  ASSERT_EQ(kernel.registers.size(), 2u);
  EXPECT_EQ(kernel.registers[0].name, "%r4294967294");
  EXPECT_EQ(instruction(kernel, 2).operands[1].id, 0u);
}

TEST(Parser, InnerRangesShadowOuterOnesAndEndWithTheirScope) {
  const Module module = parsed(".entry k { .reg .b32 a<9>; mov.u32 a1, 1; { .reg .f32 a<2>; mov.f32 a1, 0f00000000; mov.u32 a5, 1; } mov.u32 a1, 2; ret; }");
  const Function& kernel = *module.find_function("k");
  const Block& inner = *std::get<BlockPtr>(kernel.body.statements[2]);
  const uint32_t outer_id = instruction(kernel, 1).operands[0].id;
  const uint32_t inner_id = std::get<Instruction>(inner.statements[1]).operands[0].id;
  EXPECT_NE(outer_id, inner_id);
  EXPECT_EQ(kernel.registers[inner_id].type, Type::kF32);
  EXPECT_EQ(std::get<Instruction>(inner.statements[2]).operands[0].kind, Operand::Kind::kRegister);
  EXPECT_EQ(instruction(kernel, 3).operands[0].id, outer_id);
}

TEST(Parser, LabelsResolveToTheNearestScopeEvenWhenDefinedLater) {
  const Module module = parsed(".entry k { X: { bra X; X: bra X; } { bra X; } ret; }");
  const Function& kernel = *module.find_function("k");
  ASSERT_EQ(kernel.labels.size(), 2u);
  const Block& first = *std::get<BlockPtr>(kernel.body.statements[1]);
  const Block& second = *std::get<BlockPtr>(kernel.body.statements[2]);
  EXPECT_EQ(std::get<Instruction>(first.statements[0]).operands[0].id, 1u);
  EXPECT_EQ(std::get<Instruction>(second.statements[0]).operands[0].id, 0u);
}

TEST(Parser, ConstantExpressionsHaveCValues) {
  const Module module = parsed(
      ".entry k { .reg .b64 d; mov.u64 d, (4*3+1); mov.u64 d, -7/2; mov.u64 d, (0xFFFFFFFFFFFFFFFFU >> 60); mov.u64 d, -1 >> 60;"
      " mov.u64 d, (.u64)-1 / 2; mov.u64 d, 1 << 64; mov.u64 d, (3 > 2 ? 10 : 20); mov.u64 d, (.s64)0x8000000000000000 / -1;"
      " mov.u64 d, 2 + 3 * 4 - 1; mov.u64 d, 7 & 3 | 8 ^ 1; mov.u64 d, WARP_SZ - 1; mov.u64 d, 010 + 0b11; ret; }");
  const Function& kernel = *module.find_function("k");
  const uint64_t expected[] = {13, static_cast<uint64_t>(-3), 15, UINT64_MAX, UINT64_MAX / 2, 0, 10, uint64_t{1} << 63, 13, 11, 31, 11};
  for (size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(instruction(kernel, i + 1).operands[1].bits, expected[i]) << i;
}

TEST(Parser, OffsetsLiteralsAndVariablesAreResolved) {
  const Module module = parsed(".global .b32 g[4] = {1, 2};\n.entry k { .reg .b32 r; .reg .b64 d; .reg .f32 f; ld.global.u32 r, [g+8]; ld.u32 r, [d+-4]; mov.u64 d, g+12; mov.f32 f, 0f40490FDB; mov.f32 f, -1.5; ret; }");
  const Function& kernel = *module.find_function("k");
  EXPECT_EQ(instruction(kernel, 3).operands[1].offset, 8);
  EXPECT_EQ(instruction(kernel, 3).operands[1].elements[0].variable, module.find_variable("g"));
  EXPECT_EQ(instruction(kernel, 4).operands[1].offset, -4);
  EXPECT_EQ(instruction(kernel, 5).operands[1].offset, 12);
  EXPECT_EQ(instruction(kernel, 6).operands[1].bits, 0x40490FDBu);
  EXPECT_EQ(instruction(kernel, 7).operands[1].bits, 0xBFF8000000000000u);
  EXPECT_EQ(module.find_variable("g")->size_bytes(), 16u);
}

TEST(Parser, LocationsNameFilesThatComeAfterThem) {
  const Module module = parsed(".entry k { .loc 7 12 3\n ret; }\n.file 7 \"seven.cu\"\n");
  const Instruction& ret = instruction(*module.find_function("k"), 1);
  const SourceLocation& location = module.locations[ret.loc];
  EXPECT_EQ(location.line, 12u);
  EXPECT_EQ(module.files[location.file].name, "seven.cu");
}

// (file name, line) of the instruction's place and of every call that it was inlined at, innermost first.
std::vector<std::pair<std::string, uint32_t>> chain_of(const Module& module, const Instruction& instruction) {
  std::vector<std::pair<std::string, uint32_t>> chain;
  for (uint32_t at = instruction.loc; at != 0; at = module.locations[at].inlined_at) {
    if (module.locations[at].inlined_at >= at) {
      ADD_FAILURE() << "a call after what it calls";
      break;
    }
    chain.emplace_back(module.files[module.locations[at].file].name, module.locations[at].line);
  }
  return chain;
}

using Chain = std::vector<std::pair<std::string, uint32_t>>;
constexpr const char* kInlinedFiles = ".file 1 \"a.cu\"\n.file 2 \"b.cuh\"\n";

TEST(Parser, AnInlinedLocationNamesTheLatestPlaceOfItsCall) {
  const Module module = parsed(std::string(R"(.entry k {
    .loc 1 56 3
    .loc 1 33 5, function_name $s0, inlined_at 1 56 3
    .loc 2 18 20, function_name $s1+4, inlined_at 1 33 5
    bar.sync 0;
    .loc 1 129 3
    .loc 1 33 5, function_name $s0, inlined_at 1 129 3
    .loc 2 18 20, function_name $s1, inlined_at 1 33 5
    bar.sync 0;
    .loc 1 130 1
    ret; })") + "\n" + kInlinedFiles);
  const Function& kernel = *module.find_function("k");
  EXPECT_EQ(chain_of(module, instruction(kernel, 3)), (Chain{{"b.cuh", 18}, {"a.cu", 33}, {"a.cu", 56}}));
  EXPECT_EQ(chain_of(module, instruction(kernel, 7)), (Chain{{"b.cuh", 18}, {"a.cu", 33}, {"a.cu", 129}}));
  EXPECT_EQ(chain_of(module, instruction(kernel, 9)), (Chain{{"a.cu", 130}}));
}

TEST(Parser, ACallThatNoLocationNamedIsKeptAndNothingIsItsOwnCaller) {
  const Module module = parsed(std::string(R"(.entry k {
    .loc 2 7 1, function_name $s, inlined_at 1 40 2
    bar.sync 0;
    .loc 2 7 1, function_name $s, inlined_at 2 7 1
    ret; }
  .entry other { .loc 2 9 1, function_name $s, inlined_at 2 7 1
    ret; })") + "\n" + kInlinedFiles);
  const Function& kernel = *module.find_function("k");
  EXPECT_EQ(chain_of(module, instruction(kernel, 1)), (Chain{{"b.cuh", 7}, {"a.cu", 40}}));
  EXPECT_EQ(chain_of(module, instruction(kernel, 3)), (Chain{{"b.cuh", 7}, {"b.cuh", 7}, {"a.cu", 40}}));
  // What another function said does not count.
  EXPECT_EQ(chain_of(module, instruction(*module.find_function("other"), 1)), (Chain{{"b.cuh", 9}, {"b.cuh", 7}}));
}

TEST(Parser, OfTwoFilesOfOneNumberTheFirstCounts) {
  const Module module = parsed(".file 1 \"first.cu\"\n.file 3 \"third.cu\"\n.file 1 \"second.cu\"\n.entry k { .loc 1 2 0\n bar.sync 0; .loc 3 4 0\n bar.sync 0; .loc 8 5 0\n ret; }\n");
  const Function& kernel = *module.find_function("k");
  EXPECT_EQ(chain_of(module, instruction(kernel, 1)), (Chain{{"first.cu", 2}}));
  EXPECT_EQ(chain_of(module, instruction(kernel, 3)), (Chain{{"third.cu", 4}}));
  EXPECT_EQ(chain_of(module, instruction(kernel, 5)), (Chain{{"", 5}}));  // a number that no .file declares
}

TEST(Parser, TextBeyondTheLimitIsRefused) {
  const auto module = parse(std::string((size_t{64} << 20) + 1, ' '), "big.ptx");
  ASSERT_FALSE(module.has_value());
  EXPECT_EQ(module.error().code, ErrorCode::kLimit);
}

TEST(Parser, ErrorsOnEndlessLinesStayShort) {
  const auto module = parse(std::string(1 << 20, '?'), "line.ptx");
  ASSERT_FALSE(module.has_value());
  EXPECT_LT(format_error(module.error()).size(), 2000u);
}

TEST(Parser, MillionsOfScopesOrInitialValuesHitALimitNotMemory) {
  std::string scopes = std::string(kHeader) + ".entry k {";
  for (int i = 0; i < 4'100'000; ++i) scopes += "{}";
  const auto module = parse(std::move(scopes), "scopes.ptx");
  ASSERT_FALSE(module.has_value());
  EXPECT_EQ(module.error().code, ErrorCode::kLimit);
}

TEST(Printer, WritesAModuleThatAProgramMade) {
  Module module;
  module.version_major = 8, module.version_minor = 5, module.target = "sm_90";
  Variable& variable = module.variables.emplace_back();
  variable.name = "x", variable.space = Space::kGlobal, variable.type = Type::kU32, variable.align = 8, variable.dims = {3};
  variable.has_initializer = true;
  variable.initializer.kind = Initializer::Kind::kList;
  variable.initializer.list.resize(2);
  variable.initializer.list[1].bits = 7;
  module.items.emplace_back(&variable);
  Function& kernel = module.functions.emplace_back();
  kernel.name = "k", kernel.is_entry = kernel.is_visible = kernel.has_body = true;
  kernel.limits.push_back({"maxntid", {64, 1, 1}});
  kernel.registers.push_back({"%r0", Type::kB32, 1, {}});
  RegisterDeclaration declaration;
  declaration.type = Type::kB32;
  declaration.items.push_back({"%r", 1});
  kernel.body.statements.emplace_back(declaration);
  Instruction mov;
  mov.opcode = "mov", mov.modifiers = {"b32"};
  mov.operands.resize(2);
  mov.operands[0].kind = Operand::Kind::kRegister;
  mov.operands[1].kind = Operand::Kind::kFloat32, mov.operands[1].bits = 0x3F800000;
  kernel.body.statements.emplace_back(std::move(mov));
  module.items.emplace_back(&kernel);
  EXPECT_EQ(print(module),
            ".version 8.5\n.target sm_90\n.address_size 64\n.global .align 8 .u32 x[3] = {0, 7};\n\n"
            ".visible .entry k ()\n.maxntid 64, 1, 1\n{\n  .reg .b32 %r<1>;\n  mov.b32 %r0, 0f3F800000;\n}\n");
  EXPECT_TRUE(verify(module).empty());
  EXPECT_TRUE(parse(print(module), "printed").has_value());
}

}  // namespace
}  // namespace kw::ptx
