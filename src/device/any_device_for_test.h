// A small plan, and every device that can run it. For tests.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "device/device.h"
#include "device/device_process.h"

namespace kw::device {

// y[i] = x[i] + bias, for i < n; bias is a module variable that the kernel also increments.
inline constexpr char kAdd[] = R"(
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .f32 bias = 0f3F800000;
.visible .entry add(
  .param .u64 x, .param .u64 y, .param .u32 n
)
{
  .reg .pred %p<3>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<8>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [n];
  setp.ge.u32 %p1, %r4, %r5;
  @%p1 bra DONE;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  ld.global.f32 %f2, [bias];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd5], %f3;
DONE:
  ret;
}
)";

inline constexpr uint32_t kCount = 100;

inline plan::Plan add_plan(uint32_t n) {
  plan::Plan plan;
  plan.target = "sm_80";
  plan.modules.push_back({kAdd, plan::hash_of(kAdd)});
  plan.buffers.push_back({"x", plan::Role::kInput, kCount * 4, "f32", {kCount}, {1}});
  plan.buffers.push_back({"y", plan::Role::kOutput, kCount * 4, "f32", {kCount}, {1}});
  plan::Launch launch;
  launch.kernel = "add";
  launch.grid = {(n + 31) / 32, 1, 1};
  launch.block = {32, 1, 1};
  launch.params.assign(20, 0);
  std::memcpy(launch.params.data() + 16, &n, 4);
  launch.relocations = {{0, {.buffer = 0}}, {8, {.buffer = 1}}};
  plan::Step step;
  step.action = launch;
  plan.steps.push_back(step);
  return plan;
}

inline std::vector<uint8_t> bytes_of(const std::vector<float>& values) {
  std::vector<uint8_t> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline std::vector<float> floats_of(const LoadedPlan& loaded, const char* name) {
  std::vector<uint8_t> bytes(kCount * 4);
  EXPECT_TRUE(loaded.read(name, bytes));
  std::vector<float> values(kCount);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

inline std::vector<float> ramp() {
  std::vector<float> x;
  for (uint32_t i = 0; i < kCount; ++i) x.push_back(static_cast<float>(i));
  return x;
}

// The same plans on every device. GPUs take part where there are some.
class AnyDevice : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const bool gpu = GetParam().starts_with("gpu");
    if (gpu && !list_gpus()) GTEST_SKIP() << list_gpus().error().message;
    auto device = GetParam().ends_with("process") ? make_device_process({.argv = {KW_DEVICE_SERVER, gpu ? "gpu" : "emulator"}})
                  : gpu                           ? make_gpu()
                                                  : Result<std::unique_ptr<Device>>(make_emulator());
    ASSERT_TRUE(device) << format_error(device.error());
    device_ = std::move(*device);
    counts_ = !gpu;
  }
  std::unique_ptr<Device> device_;
  bool counts_ = false;
};

}  // namespace kw::device
