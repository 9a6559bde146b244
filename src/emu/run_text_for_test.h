// Runs a PTX text and looks at what it stored: for the tests of control, scheduling and limits.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "emu/emulator.h"
#include "ptx/parser.h"

namespace kw::emu {

inline constexpr const char* kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

struct Ran {
  std::unique_ptr<Memory> memory;
  std::unique_ptr<Program> program;
  LaunchReport report;
  std::optional<Error> error;
  std::vector<uint32_t> out;       // what the kernel wrote to its first parameter
};

struct Setup {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{32, 1, 1};
  uint32_t words = 32;             // of `out`, preset to 0
  uint32_t dynamic_shared = 0;
  bool cooperative = false;
  const char* head = nullptr;      // instead of kHead
  Options options{};
  std::vector<uint64_t> more{};    // further parameters
};

inline Ran run_text(const std::string& text, const Setup& setup) {
  Ran r;
  auto module = ptx::parse((setup.head != nullptr ? setup.head : kHead) + text, "test.ptx");
  if (!module) { r.error = module.error(); return r; }
  r.memory = std::move(*Memory::create(uint64_t{1} << 32, setup.options.check_uninitialised));
  auto program = Program::load(std::make_shared<const ptx::Module>(std::move(*module)), *r.memory);
  if (!program) { r.error = program.error(); return r; }
  r.program = std::move(*program);
  const uint64_t out = *r.memory->allocate(setup.words * 4, "out");
  std::vector<uint32_t> zeros(setup.words, 0);
  EXPECT_TRUE(r.memory->write(out, zeros.data(), setup.words * 4));
  Launch launch;
  launch.program = r.program.get();
  launch.kernel = "k";
  launch.grid = setup.grid;
  launch.block = setup.block;
  launch.dynamic_shared_bytes = setup.dynamic_shared;
  launch.cooperative = setup.cooperative;
  launch.params.resize(8 + 8 * setup.more.size());
  std::memcpy(launch.params.data(), &out, 8);
  for (size_t i = 0; i < setup.more.size(); ++i) std::memcpy(launch.params.data() + 8 + 8 * i, &setup.more[i], 8);
  auto report = run(launch, setup.options);
  if (!report) { r.error = report.error(); return r; }
  r.report = std::move(*report);
  r.out.resize(setup.words);
  EXPECT_TRUE(r.memory->read(out, r.out.data(), setup.words * 4));
  return r;
}

// A kernel that computes %r0 for each thread and stores it at out[global thread].
inline std::string kernel(const std::string& body, const std::string& before = "") {
  return before + R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<20>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<10>;
  mov.u32 %r1, %tid.x;
)" + body + R"(
STORE:
  mov.u32 %r30, %ctaid.x; mov.u32 %r31, %ntid.x; mov.u32 %r32, %tid.x;
  mad.lo.s32 %r33, %r30, %r31, %r32;
  ld.param.u64 %rd1, [out];
  mul.wide.u32 %rd2, %r33, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r0;
  ret;
}
)";
}

#define EXPECT_CLEAN(r)                                                                         \
  ASSERT_FALSE((r).error.has_value()) << format_error(*(r).error);                              \
  ASSERT_TRUE((r).report.findings.empty()) << name_of((r).report.findings[0].kind) << ": " << (r).report.findings[0].message; \
  ASSERT_TRUE((r).report.completed)

}  // namespace kw::emu
