#include "plan/plan.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "plan/ptx_outline.h"
#include "plan/tensor_map.h"

namespace kw::plan {
namespace {

constexpr char kPtx[] = R"(
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter;
.const .align 4 .b8 scale[16] = {1, 2};
.extern .shared .align 16 .b8 dynamic[];
.visible .entry kernel(  // a comment { with a brace
  .param .u64 .ptr .global .align 16 kernel_param_0,
  .param .f32 kernel_param_1,
  .param .align 64 .b8 kernel_param_2[128]
)
.maxntid 256, 1, 1
.minnctapersm 2
{
  .shared .align 4 .b8 tile[1024];
  .reg .b32 %r<2>;
  { ld.shared.u32 %r1, [tile]; }
  ret;
}
.visible .entry empty() { ret; }
)";

Plan sample() {
  Plan plan;
  plan.target = "sm_80";
  plan.candidate = "sample.cu";
  plan.modules.push_back({kPtx, hash_of(kPtx)});
  plan.buffers.push_back({"x", Role::kInput, 64, "f32", {4, 4}, {4, 1}});
  plan.buffers.push_back({"y", Role::kOutput, 64, "f32", {4, 4}, {4, 1}});
  plan.buffers.push_back({"workspace 0", Role::kWorkspace, 256, "", {}, {}});
  Step fill;
  Fill zero;
  zero.to.buffer = 2;
  zero.pattern = {0};
  zero.row_bytes = 256;
  fill.action = zero;
  plan.steps.push_back(fill);
  Launch launch;
  launch.kernel = "kernel";
  launch.grid = {2, 1, 1};
  launch.block = {128, 2, 1};
  launch.params.assign(192, 0);
  launch.relocations = {{0, {.buffer = 0, .offset = 16}}, {64, {.buffer = 1}}, {72, {.module = 0, .variable = "counter"}}};
  Step step;
  step.action = launch;
  step.after = {0};
  step.source_file = "sample.cu";
  step.source_line = 12;
  plan.steps.push_back(step);
  Step copy;
  Copy rows;
  rows.to.buffer = 1;
  rows.from.buffer = 2;
  rows.from.offset = 32;
  rows.row_bytes = 16;
  rows.rows = 2;
  rows.to_pitch = 32;
  rows.from_pitch = 64;
  copy.action = rows;
  copy.after = {1};
  plan.steps.push_back(copy);
  Write write;
  write.to = {.module = 0, .variable = "scale", .offset = 4};
  write.data = {0, 0, 0, 0, 0, 0, 0, 0, 7};
  write.relocations = {{0, {.buffer = 0}}};
  Step last;
  last.action = write;
  plan.steps.push_back(last);
  plan.unjoined = {3};
  return plan;
}

TEST(Outline, ParametersVariablesAndShared) {
  const PtxOutline found = outline(kPtx);
  EXPECT_EQ(found.target, "sm_80");
  ASSERT_EQ(found.entries.size(), 2u);
  const EntryOutline& kernel = found.entries[0];
  ASSERT_EQ(kernel.params.size(), 3u);
  EXPECT_EQ(kernel.params[0].bytes, 8u);
  EXPECT_EQ(kernel.params[1].offset, 8u);
  EXPECT_EQ(kernel.params[2].offset, 64u);
  EXPECT_EQ(kernel.param_bytes, 192u);
  EXPECT_EQ(kernel.max_threads, 256u);
  EXPECT_EQ(kernel.min_blocks, 2u);
  EXPECT_EQ(kernel.static_shared_bytes, 1024u);
  EXPECT_EQ(found.entries[1].param_bytes, 0u);
  ASSERT_NE(found.find_variable("scale"), nullptr);
  EXPECT_EQ(found.find_variable("scale")->bytes, 16u);
  EXPECT_TRUE(found.find_variable("scale")->constant);
  EXPECT_EQ(found.find_variable("tile"), nullptr);
}

TEST(Outline, IsRememberedByItsText) {
  const std::string ptx = kPtx, other = ptx + "// another\n.global .u32 more;\n";
  const auto first = remembered_outline(ptx);
  EXPECT_EQ(first, remembered_outline(std::string(kPtx)));
  EXPECT_EQ(first->entries.size(), outline(kPtx).entries.size());
  EXPECT_EQ(remembered_outline(other)->variables.size(), first->variables.size() + 1);
  EXPECT_NE(first, remembered_outline(other));
}

// Sizes that no memory has: sums of them must not wrap around to what passes the checks.
TEST(Outline, HugeSizesStayHuge) {
  const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n";
  const PtxOutline params = outline(head + ".entry k(.param .b8 a[0xfffffffffffffff8], .param .u64 b) { ret; }");
  ASSERT_EQ(params.entries.size(), 1u);
  for (const ParamLayout& param : params.entries[0].params)
    EXPECT_LE(uint64_t{param.offset} + param.bytes, params.entries[0].param_bytes);
  const std::string two = ".shared .b8 a[0xfffffffffffffff0]; .shared .b8 b[32];";
  EXPECT_GT(outline(head + ".entry k() { " + two + " ret; }").entries[0].static_shared_bytes, uint64_t{1} << 32);
  EXPECT_GT(outline(head + two + " .entry k() { ld.shared.u8 %r1, [a]; ld.shared.u8 %r1, [b]; ret; }").entries[0].static_shared_bytes,
            uint64_t{1} << 32);
}

// Only what the body names counts, and a longer name is another.
TEST(Outline, SharedVariablesByWholeName) {
  const PtxOutline found = outline(".target sm_80\n.shared .b8 tile[64]; .shared .b8 tile2[128]; .shared .b8 other[256];\n"
                                   ".entry k() { // other\n mov.u32 %r1, tile2; { .shared .align 4 .b8 own[8]; } ld.shared.u32 %r2, [own]; }");
  ASSERT_EQ(found.entries.size(), 1u);
  EXPECT_EQ(found.entries[0].static_shared_bytes, 128u + 8u);
}

// Show reads each module once, however many launches there are: what follows must be quick.
TEST(Plan, ShowsManyLaunchesOfALargeModule) {
  Plan plan = sample();
  plan.modules[0].ptx += "// " + std::string(4 << 20, 'x');
  plan.modules[0].hash = hash_of(plan.modules[0].ptx);
  const Step launch = plan.steps[1];
  for (int i = 0; i < 20000; ++i) plan.steps.push_back(launch);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(show(plan).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Outline, AnyTextIsAccepted) {
  const std::string text = kPtx;
  for (size_t cut = 0; cut < text.size(); ++cut) outline(text.substr(0, cut));
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    for (const char c : {'{', '}', '(', '"', '/', '[', '\0', '.'}) {
      changed[i] = c;
      outline(changed);
    }
  }
}

TEST(Plan, ReadsBackWhatItWrites) {
  const Plan plan = sample();
  const std::string text = write(plan);
  const auto back = parse(text, "sample.json");
  ASSERT_TRUE(back) << format_error(back.error());
  EXPECT_EQ(write(*back), text);
  EXPECT_FALSE(parse(text + std::string("\0garbage", 8), "sample.json")) << "no text ends at a byte of 0";
  const auto& launch = std::get<Launch>(back->steps[1].action);
  EXPECT_EQ(launch.relocations, std::get<Launch>(plan.steps[1].action).relocations);
  EXPECT_EQ(back->unjoined, plan.unjoined);
  EXPECT_EQ(back->steps[1].source_line, 12u);
}

TEST(Plan, ShowNamesBuffersAndPointers) {
  const std::string page = show(sample());
  EXPECT_NE(page.find("launch kernel <<<2, 128x2>>>"), std::string::npos) << page;
  EXPECT_NE(page.find("x + 16"), std::string::npos) << page;
  EXPECT_NE(page.find("+0: y; +8: module 0:counter"), std::string::npos) << page;
  EXPECT_NE(page.find("at sample.cu:12"), std::string::npos) << page;
  EXPECT_NE(page.find("not waited for"), std::string::npos) << page;
}

// Changes one thing, and expects the message to say it.
void expect_refused(const std::string& part, const std::function<void(Plan&)>& change) {
  Plan plan = sample();
  change(plan);
  const Status status = check(plan);
  ASSERT_FALSE(status) << "accepted, but should say: " << part;
  EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
  EXPECT_FALSE(parse(write(plan), "changed.json"));
}

TEST(Plan, CheckRefusesWhatADeviceCouldNotRelyOn) {
  ASSERT_TRUE(check(sample()));
  const auto launch = [](Plan& plan) -> Launch& { return std::get<Launch>(plan.steps[1].action); };
  expect_refused("no target", [](Plan& p) { p.target = "sm_33"; p.target = "no target"; });
  expect_refused("altered", [](Plan& p) { p.modules[0].ptx += "\n"; });
  expect_refused("no kernel 'other'", [&](Plan& p) { launch(p).kernel = "other"; });
  expect_refused("takes 192 bytes", [&](Plan& p) { launch(p).params.push_back(0); });
  expect_refused("there is no module 7", [&](Plan& p) { launch(p).module = 7; });
  expect_refused("512 threads", [&](Plan& p) { launch(p).block = {512, 1, 1}; });
  expect_refused("no dimension may be zero", [&](Plan& p) { launch(p).grid = {0, 1, 1}; });
  expect_refused("exceeds", [&](Plan& p) { launch(p).grid = {1, 70000, 1}; });
  expect_refused("shared memory", [&](Plan& p) { launch(p).dynamic_shared_bytes = 163 * 1024; });
  expect_refused("no clusters", [&](Plan& p) { launch(p).cluster = {2, 1, 1}; });
  expect_refused("must not overlap", [&](Plan& p) { launch(p).relocations[1].offset = 4; });
  expect_refused("does not fit", [&](Plan& p) { launch(p).relocations[2].offset = 188; });
  expect_refused("must be zero", [&](Plan& p) { launch(p).params[3] = 1; });
  expect_refused("no variable 'gone'", [&](Plan& p) { launch(p).relocations[2].target.variable = "gone"; });
  expect_refused("tensor map", [&](Plan& p) { launch(p).tensor_maps = {128}; });
  expect_refused("lie outside", [](Plan& p) { std::get<Fill>(p.steps[0].action).row_bytes = 257; });
  expect_refused("lie outside", [](Plan& p) { std::get<Copy>(p.steps[2].action).rows = UINT64_MAX; });
  expect_refused("is an input", [](Plan& p) { std::get<Fill>(p.steps[0].action).to = {.buffer = 0}; std::get<Fill>(p.steps[0].action).row_bytes = 4; });
  expect_refused("not an earlier one", [](Plan& p) { p.steps[1].after = {1}; });
  expect_refused("span", [](Plan& p) { p.buffers[0].bytes = 60; });
  expect_refused("two buffers", [](Plan& p) { p.buffers[1].name = "x"; });
  expect_refused("no step 9", [](Plan& p) { p.unjoined = {9}; });
  expect_refused("needs a dtype", [](Plan& p) { p.buffers[0].dtype.clear(); });
}

TEST(Plan, HostileTextGetsAMessage) {
  const std::string good = write(sample());
  for (const std::string& text : {std::string(), std::string("null"), std::string("[]"), std::string("{"), std::string("\xff\xfe"),
                                  std::string(100000, '['), std::string("{\"kernelwright_plan\": 1}"), std::string("{\"kernelwright_plan\": 99}"),
                                  std::string("{\"kernelwright_plan\": -1}")}) {
    const auto plan = parse(text, "hostile.json");
    ASSERT_FALSE(plan);
    EXPECT_FALSE(plan.error().message.empty());
  }
  for (size_t cut = 0; cut + 2 < good.size(); cut += 7) EXPECT_FALSE(parse(good.substr(0, cut), "cut.json"));
  // A changed byte either stays a plan that passes the checks or gets a message.
  for (size_t i = 0; i < good.size(); i += 3) {
    for (const char c : {'0', '9', '"', '-', '{', ']', '\x80'}) {
      std::string changed = good;
      changed[i] = c;
      const auto plan = parse(changed, "changed.json");
      EXPECT_TRUE(plan || !plan.error().message.empty());
    }
  }
}

TEST(Plan, BytesOfStridedTensors) {
  EXPECT_EQ(bytes_of("f16", {3, 5}, {5, 1}).value(), 30u);
  EXPECT_EQ(bytes_of("f32", {3, 5}, {8, 1}).value(), (2 * 8 + 4 + 1) * 4u);
  EXPECT_EQ(bytes_of("e2m1", {3}, {1}).value(), 2u);
  EXPECT_EQ(bytes_of("f32", {}, {}).value(), 4u);
  EXPECT_EQ(bytes_of("f32", {0, 4}, {4, 1}).value(), 0u);
  EXPECT_FALSE(bytes_of("f32", {-1}, {1}));
  EXPECT_FALSE(bytes_of("f32", {INT64_MAX, INT64_MAX}, {INT64_MAX, 1}));
  EXPECT_FALSE(bytes_of("words", {1}, {1}));
}

TEST(TensorMapBytes, DecodeWhatWasEncoded) {
  TensorMap map;
  map.address = 0x123456789ab0;
  map.type = 6;
  map.rank = 3;
  map.swizzle = 3;
  map.extent = {128, 77, uint64_t{1} << 32, 0, 0};
  map.stride = {256, 0xffffffff0, 0, 0};
  map.box = {64, 256, 1, 0, 0};
  map.element_stride = {1, 2, 8, 0, 0};
  const auto bytes = encode(map);
  const auto back = decode_tensor_map(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->address, map.address);
  EXPECT_EQ(back->extent, map.extent);
  EXPECT_EQ(back->stride, map.stride);
  EXPECT_EQ(back->box, map.box);
  EXPECT_EQ(back->element_stride, map.element_stride);
  EXPECT_EQ(back->swizzle, 3);
  std::array<uint8_t, kTensorMapBytes> zero{};
  EXPECT_FALSE(decode_tensor_map(zero));
}

}  // namespace
}  // namespace kw::plan
