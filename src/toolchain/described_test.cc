// What a recording of a candidate in Python may say, and what is made of one that says more. No Python is needed here: recordings
// come from the candidate's process, which may write anything.
#include "toolchain/described.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/rng.h"

namespace kw::toolchain {
namespace {

constexpr const char* kPtx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 x, .param .u64 y, .param .u32 n, .param .u64 scratch)
.reqntid 128
{
  ret;
}
)";

Workload workload() {
  Workload out;
  for (const auto& [name, kind] : {std::pair{"x", Argument::Kind::kInput}, std::pair{"y", Argument::Kind::kOutput}}) {
    Argument argument;
    argument.kind = kind;
    argument.name = name;
    argument.dtype = "f32";
    argument.shape = {1000};
    out.arguments.push_back(argument);
  }
  Argument axis;
  axis.kind = Argument::Kind::kInteger;
  axis.name = "N";
  axis.integer = 1000;
  out.arguments.push_back(axis);
  return out;
}

// A recording, with one place of it replaced.
std::string recording(const std::string& what = "", const std::string& with = "") {
  std::string text = R"({"parameters": ["y", "x"], "workspace": [4096], "kernels": ["k"], "steps": [
    {"line": 6, "fill": {"buffer": 2, "offset": 0, "bytes": 4096}},
    {"line": 7, "launch": {"kernel": 0, "grid": [8, 1, 1], "arguments": [{"buffer": 1, "offset": 4}, {"buffer": 0, "offset": 0}, {"bytes": "e8030000"}]}}]})";
  if (const size_t at = text.find(what); !what.empty() && at != std::string::npos) text.replace(at, what.size(), with);
  return text;
}

using Made = std::variant<plan::Plan, Unrecordable>;
Made plan_of(const std::string& text, DescribedKernel kernel = {"add", kPtx, 128, 0, {1, 1, 1}, false, false, {0, 0}}) {
  auto made = plan_of({text, "/there/add.py", "sm_80", "add.py"}, workload(), [&](const std::string&) -> Result<std::variant<DescribedKernel, Unrecordable>> { return kernel; });
  EXPECT_TRUE(made) << format_error(made.error());
  return made ? std::move(*made) : Made(Unrecordable{});
}

TEST(Described, ARecordingBecomesAPlan) {
  const Made made = plan_of(recording());
  ASSERT_TRUE(std::holds_alternative<plan::Plan>(made)) << std::get<Unrecordable>(made).message;
  const auto& plan = std::get<plan::Plan>(made);
  ASSERT_EQ(plan.buffers.size(), 3u);
  EXPECT_EQ(plan.buffers[0].name, "y");
  EXPECT_EQ(plan.buffers[0].role, plan::Role::kOutput);
  EXPECT_EQ(plan.buffers[1].role, plan::Role::kInput);
  EXPECT_EQ(plan.buffers[1].bytes, 4000u);
  EXPECT_EQ(plan.buffers[2].name, "workspace 0");
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[1].after, std::vector<uint32_t>{0});
  EXPECT_EQ(plan.steps[1].source_line, 7u);
  const auto& launch = std::get<plan::Launch>(plan.steps[1].action);
  EXPECT_EQ(launch.block[0], 128u);
  ASSERT_EQ(launch.params.size(), 32u);   // three pointers, and four bytes with four behind them
  EXPECT_EQ(launch.params[16], 0xe8);
  EXPECT_EQ(launch.params[17], 0x03);
  const std::vector<plan::Relocation> pointers = {{0, {1, plan::Address::kNone, "", 4}}, {8, {0, plan::Address::kNone, "", 0}}};
  EXPECT_EQ(launch.relocations, pointers);
}

TEST(Described, ScratchMemoryIsWorkspaceForEveryBlock) {
  const Made made = plan_of(recording(), {"add", kPtx, 128, 0, {1, 1, 1}, false, false, {512, 0}});
  ASSERT_TRUE(std::holds_alternative<plan::Plan>(made)) << std::get<Unrecordable>(made).message;
  const auto& plan = std::get<plan::Plan>(made);
  ASSERT_EQ(plan.buffers.size(), 4u);
  EXPECT_EQ(plan.buffers[3].bytes, 8u * 512u);
  const auto& launch = std::get<plan::Launch>(plan.steps[1].action);
  ASSERT_EQ(launch.relocations.size(), 3u);
  EXPECT_EQ(launch.relocations[2].offset, 24u);
}

TEST(Described, WhatNoRecorderWrites) {
  using Kind = Unrecordable::Kind;
  struct Forgery {
    const char *what, *with;
    Kind kind;
  };
  const Forgery forgeries[] = {
      {R"("parameters": ["y", "x"])", R"("parameters": "y")", Kind::kContract},
      {R"(["y", "x"])", R"(["y", "y"])", Kind::kContract},
      {R"(["y", "x"])", R"(["y", "N"])", Kind::kContract},
      {R"(["y", "x"])", R"(["y", "z"])", Kind::kContract},
      {"[4096]", "[-1]", Kind::kContract},
      {"[4096]", "[4611686018427387904]", Kind::kLaunch},
      {R"(["k"])", R"([7])", Kind::kContract},
      {R"("kernels": ["k"], )", "", Kind::kContract},
      {R"("line": 7)", R"("line": -7)", Kind::kContract},
      {R"("line": 7)", R"("line": 99999999999)", Kind::kContract},
      {R"("buffer": 2, "offset": 0)", R"("buffer": 3, "offset": 0)", Kind::kContract},
      {R"("buffer": 2, "offset": 0)", R"("buffer": 1, "offset": 0)", Kind::kLaunch},           // an input is written
      {R"("bytes": 4096})", R"("bytes": 4097})", Kind::kLaunch},
      {R"("bytes": 4096})", R"("bytes": 18446744073709551615})", Kind::kLaunch},
      {R"("fill": {)", R"("fall": {)", Kind::kContract},
      {R"("kernel": 0)", R"("kernel": 1)", Kind::kContract},
      {"[8, 1, 1]", "[0, 1, 1]", Kind::kLaunch},
      {"[8, 1, 1]", "[8, 70000, 1]", Kind::kLaunch},
      {"[8, 1, 1]", "[4294967304, 1, 1]", Kind::kLaunch},
      {"[8, 1, 1]", "[8, 1]", Kind::kContract},
      {"[8, 1, 1]", "[8, 1.5, 1]", Kind::kContract},
      {R"("offset": 4})", R"("offset": -4})", Kind::kContract},
      {R"("offset": 4})", R"("offset": 9223372036854775807})", Kind::kLaunch},
      {R"("e8030000")", R"("e803000")", Kind::kLaunch},
      {R"("e8030000")", R"("E8030000")", Kind::kLaunch},
      {R"("e8030000")", R"("e803000000000000")", Kind::kLaunch},
      {R"({"bytes": "e8030000"})", R"({"buffer": 1, "offset": 0})", Kind::kLaunch},            // a pointer in four bytes
      {R"({"buffer": 1, "offset": 4}, )", R"({"bytes": "00"}, )", Kind::kLaunch},
      {R"({"buffer": 1, "offset": 4}, {"buffer": 0, "offset": 0}, )", "", Kind::kLaunch},      // three parameters are left over
      {R"({"bytes": "e8030000"}])", R"({"bytes": "e8030000"}, {"bytes": "00"}, {"bytes": "00"}])", Kind::kLaunch},
  };
  for (const Forgery& forgery : forgeries) {
    ASSERT_NE(recording(), recording(forgery.what, forgery.with)) << forgery.what;
    const Made made = plan_of(recording(forgery.what, forgery.with));
    ASSERT_TRUE(std::holds_alternative<Unrecordable>(made)) << forgery.with;
    EXPECT_EQ(name_of(std::get<Unrecordable>(made).kind), name_of(forgery.kind)) << forgery.with << ": " << std::get<Unrecordable>(made).message;
    EXPECT_FALSE(std::get<Unrecordable>(made).message.empty());
  }
  for (const std::string& text : {std::string(), std::string("null"), std::string("[]"), std::string("{"), std::string(100000, '['), std::string("{}\0", 3)})
    EXPECT_TRUE(std::holds_alternative<Unrecordable>(plan_of(text))) << text.substr(0, 20);
}

TEST(Described, AnyTextIsAPlanOrHasAReason) {
  Rng rng(7);
  const std::string whole = recording();
  size_t plans = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = whole;
    for (uint64_t edits = 1 + rng.below(4); edits > 0; --edits) {
      const size_t at = rng.below(text.size());
      if (rng.below(3) == 0) text.erase(at, 1 + rng.below(8));
      else if (rng.below(2) == 0) text.insert(at, text.substr(rng.below(text.size()), 1 + rng.below(24)));
      else text[at] = static_cast<char>(rng.below(2) == 0 ? '0' + rng.below(10) : 32 + rng.below(96));
      if (text.empty()) break;
    }
    const Made made = plan_of(text);
    if (const auto* reason = std::get_if<Unrecordable>(&made)) {
      EXPECT_FALSE(reason->message.empty()) << text;
    } else {
      ++plans;
      EXPECT_TRUE(plan::check(std::get<plan::Plan>(made))) << text;
    }
  }
  EXPECT_GT(plans, 10u);   // edits that leave it one: of lines, offsets, values
}

TEST(Described, WhatNoCompilerWrites) {
  const auto refused = [](DescribedKernel kernel) { return std::holds_alternative<Unrecordable>(plan_of(recording(), std::move(kernel))); };
  EXPECT_TRUE(refused({"sub", kPtx, 128, 0, {1, 1, 1}, false, false, {0, 0}}));
  EXPECT_TRUE(refused({"add", "", 128, 0, {1, 1, 1}, false, false, {0, 0}}));
  EXPECT_TRUE(refused({"add", kPtx, 256, 0, {1, 1, 1}, false, false, {0, 0}}));             // more than .reqntid
  EXPECT_TRUE(refused({"add", kPtx, 0, 0, {1, 1, 1}, false, false, {0, 0}}));
  EXPECT_TRUE(refused({"add", kPtx, 128, 1u << 20, {1, 1, 1}, false, false, {0, 0}}));
  EXPECT_TRUE(refused({"add", kPtx, 128, 0, {2, 1, 1}, false, false, {0, 0}}));             // sm_80 has no clusters
  EXPECT_TRUE(refused({"add", kPtx, 128, 0, {1, 1, 1}, false, false, {UINT64_MAX, 0}}));
  EXPECT_TRUE(refused({"add", kPtx, 128, 0, {1, 1, 1}, false, false, {}}));                 // a parameter that nothing is known of
}

TEST(Language, IsToldByTheFile) {
  auto folder = TempDir::create("kw-language");
  ASSERT_TRUE(folder);
  const auto language = [&](const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_file(*folder / name, text));
    const auto found = language_of(*folder / name);
    EXPECT_TRUE(found);
    return found.value_or(Language::kCuda);
  };
  EXPECT_EQ(language("a.cu", "import kernelwright\n"), Language::kCuda);
  EXPECT_EQ(language("a.py", "import torch\n\nimport kernelwright\n"), Language::kTriton);
  EXPECT_EQ(language("b.py", "import kernelwright as kw\r\n"), Language::kTriton);
  EXPECT_EQ(language("c.py", "# import kernelwright\nfrom kernelwright import entry"), Language::kTriton);
  EXPECT_EQ(language("d.py", "import kernelwright"), Language::kTriton);
  EXPECT_EQ(language("e.py", "import torch\n# import kernelwright\n"), Language::kTorch);
  EXPECT_EQ(language("f.py", "import kernelwrights\n"), Language::kTorch);
  EXPECT_EQ(language("g.py", "  import kernelwright\n"), Language::kTorch);
  EXPECT_EQ(language("h.py", ""), Language::kTorch);
  std::filesystem::create_directory(*folder / "folder.py");
  EXPECT_EQ(language_of(*folder / "folder.py").value_or(Language::kTorch), Language::kCuda);
  EXPECT_FALSE(language_of(*folder / "missing.py"));
}

}  // namespace
}  // namespace kw::toolchain
