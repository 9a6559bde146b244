#include "judge/element.h"

#include <gtest/gtest.h>

namespace kw::judge {
namespace {

plan::Plan plan_of(const std::string& dtype, std::vector<int64_t> shape, uint64_t bytes) {
  plan::Plan plan;
  plan::Buffer buffer;
  buffer.name = "y";
  buffer.role = plan::Role::kOutput;
  buffer.dtype = dtype;
  buffer.bytes = bytes;
  buffer.strides = plan::contiguous_strides(shape);
  buffer.shape = std::move(shape);
  plan.buffers.push_back(buffer);
  buffer = {};
  buffer.name = "workspace 0";
  buffer.bytes = 64;
  plan.buffers.push_back(buffer);
  return plan;
}

emu::Finding at(const std::string& object, int64_t offset, ptx::Space space = ptx::Space::kGlobal) {
  emu::Finding finding;
  finding.object = object;
  finding.object_offset = offset;
  finding.space = space;
  return finding;
}

std::string text(const plan::Plan& plan, const emu::Finding& finding) { return text_of(element_of(plan, finding), finding); }

TEST(Element, OfAByteOfATensor) {
  const plan::Plan halves = plan_of("float16", {2, 3, 64}, 768);
  EXPECT_EQ(text(halves, at("y", 0)), "output y + 0 bytes: element [0, 0, 0] of float16 [2, 3, 64]");
  EXPECT_EQ(text(halves, at("y", 384 + 128 + 7)), "output y + 519 bytes: element [1, 1, 3] of float16 [2, 3, 64]");
  EXPECT_EQ(text(plan_of("float32", {5}, 20), at("y", 16)), "output y + 16 bytes: element [4] of float32 [5]");
  EXPECT_EQ(text(plan_of("float4_e2m1fn", {4, 8}, 16), at("y", 5)), "output y + 5 bytes: element [1, 2] of float4_e2m1fn [4, 8]");
}

TEST(Element, OutsideTheTensorThereIsNone) {
  const plan::Plan plan = plan_of("float32", {5}, 20);
  EXPECT_EQ(text(plan, at("y", 20)), "output y + 20 bytes, which is float32 [5]");
  EXPECT_EQ(text(plan, at("y", -4)), "output y - 4 bytes, which is float32 [5]");
  EXPECT_TRUE(element_of(plan, at("y", 20)).index.empty());
}

TEST(Element, WhatIsNoTensorOfThePlanHasNone) {
  const plan::Plan plan = plan_of("float32", {5}, 20);
  EXPECT_EQ(text(plan, at("workspace 0", 4)), "");
  EXPECT_EQ(text(plan, at("counter", 0)), "");
  EXPECT_EQ(text(plan, at("y", 0, ptx::Space::kShared)), "");  // a shared variable of the same name
}

}  // namespace
}  // namespace kw::judge
