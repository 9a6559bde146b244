#include "device/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace kw::device {
namespace {

constexpr uint32_t kThreads = 256, kBlocksPerMultiprocessor = 4;
constexpr uint32_t kVector = 16, kUnroll = 4;   // bytes of a load or store, and how many of them a thread has in flight
constexpr int kChains = 8;
constexpr double kMmaOperations = 16 * 8 * 16 * 2;   // of a warp

std::string head(const char* target) { return fmt::format(".version 7.0\n.target {}\n.address_size 64\n", target); }

plan::Plan plan_of(const char* target, std::string ptx, uint32_t blocks) {
  plan::Plan plan;
  plan.target = target;
  const std::string hash = plan::hash_of(ptx);
  plan.modules.push_back({std::move(ptx), hash});
  plan::Launch launch;
  launch.kernel = "probe";
  launch.grid = {blocks, 1, 1};
  launch.block = {kThreads, 1, 1};
  plan.steps.emplace_back().action = launch;
  return plan;
}

plan::Launch& launch_of(plan::Plan& plan) { return std::get<plan::Launch>(plan.steps[0].action); }

void put(std::vector<uint8_t>& params, size_t offset, uint32_t value) { std::memcpy(params.data() + offset, &value, sizeof value); }

// Each round of all threads is kUnroll rows of one vector a thread.
std::string traffic_text(Traffic traffic) {
  const bool loads = traffic != Traffic::kWrite, stores = traffic == Traffic::kWrite || traffic == Traffic::kCopy;
  const char* from = traffic == Traffic::kReadL2 ? "ld.global.cg" : "ld.global";
  std::string body, fold;
  const auto vector = [](uint32_t i) { return fmt::format("{{%x{}, %x{}, %x{}, %x{}}}", 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3); };
  for (uint32_t i = 0; loads && i < kUnroll; ++i) body += fmt::format("  {}.v4.u32 {}, [%at];\n  add.u64 %at, %at, %step;\n", from, vector(i));
  for (uint32_t i = 0; stores && i < kUnroll; ++i) body += fmt::format("  st.global.v4.u32 [%out], {};\n  add.u64 %out, %out, %step;\n", vector(i));
  for (uint32_t i = 0; !stores && i < 4 * kUnroll; ++i) body += fmt::format("  xor.b32 %sum, %sum, %x{};\n", i);
  // What was read is of use, for all that a compiler can know.
  if (!stores) fold = "  setp.eq.u32 %more, %sum, 0x12345678;\n  @%more st.global.u32 [%to], %sum;\n";
  std::string values;
  for (uint32_t i = 0; i < 4 * kUnroll; ++i) values += fmt::format("  mov.u32 %x{}, %index;\n", i);
  return head("sm_70") + ".visible .entry probe(.param .u64 from, .param .u64 to, .param .u32 rounds, .param .u32 passes)\n{\n"
         "  .reg .pred %more;\n  .reg .b32 %x<16>, %sum, %index, %width, %block, %blocks, %rounds, %passes, %left;\n"
         "  .reg .b64 %from, %to, %at, %out, %step, %first;\n"
         "  ld.param.u64 %from, [from];\n  ld.param.u64 %to, [to];\n  ld.param.u32 %rounds, [rounds];\n  ld.param.u32 %passes, [passes];\n"
         "  mov.u32 %index, %tid.x;\n  mov.u32 %width, %ntid.x;\n  mov.u32 %block, %ctaid.x;\n  mov.u32 %blocks, %nctaid.x;\n"
         "  mad.lo.u32 %index, %block, %width, %index;\n  mul.wide.u32 %first, %index, 16;\n"
         "  mul.lo.u32 %width, %width, %blocks;\n  mul.wide.u32 %step, %width, 16;\n  mov.u32 %sum, 0;\n" + values +
         "PASS:\n  add.u64 %at, %from, %first;\n  add.u64 %out, %to, %first;\n  mov.u32 %left, %rounds;\nROUND:\n" + body +
         "  sub.u32 %left, %left, 1;\n  setp.ne.u32 %more, %left, 0;\n  @%more bra ROUND;\n"
         "  sub.u32 %passes, %passes, 1;\n  setp.ne.u32 %more, %passes, 0;\n  @%more bra PASS;\n" + fold + "  ret;\n}\n";
}

// One instruction of every chain, and what comes before and after the loop.
struct Text {
  std::string registers, begin, chain, fold;
  int repeats;          // of all chains in a round
  double operations;    // of a thread, by one instruction
  const char* target;
};

Text scalar(const char* type, const char* prefix, const char* operation, const char* one, const char* least, const char* convert) {
  Text out{fmt::format("  .reg .{} %{}<{}>;\n", type, prefix, kChains + 2), "", "", "", 16, 2, "sm_70"};
  for (int i = 0; i < kChains + 2; ++i) out.begin += fmt::format("  {} %{}{}, %index;\n", convert, prefix, i);
  // Below one, so that sums of real numbers stay bounded.
  if (*one != '\0') out.begin += fmt::format("  mul.{} %{}{}, %{}{}, {};\n", type, prefix, kChains, prefix, kChains, one);
  for (int i = 0; i < kChains; ++i) out.chain += fmt::format("  {} %{}{}, %{}{}, %{}{}, %{}{};\n", operation, prefix, i, prefix, i, prefix, kChains, prefix, kChains + 1);
  for (int i = 1; i < kChains; ++i) out.fold += fmt::format("  add.{} %{}0, %{}0, %{}{};\n", type, prefix, prefix, prefix, i);
  out.fold += fmt::format("  setp.eq.{} %more, %{}0, {};\n", type, prefix, least);
  return out;
}

// Contents that are neither zero nor alike: what switches costs power, and power costs clocks.
Text tensor(const char* dtype, const char* mask, const char* exponent) {
  Text out{fmt::format("  .reg .f32 %d<{}>;\n  .reg .b32 %a<6>;\n", 4 * kChains), "", "", "", 4, kMmaOperations / 32, "sm_80"};
  for (int i = 0; i < 6; ++i) {
    out.begin += fmt::format("  add.u32 %width, %index, {};\n  mul.lo.u32 %a{}, %width, 0x9e3779b1;\n  shr.u32 %width, %a{}, 15;\n  xor.b32 %a{}, %a{}, %width;\n"
                             "  and.b32 %a{}, %a{}, {};\n  or.b32 %a{}, %a{}, {};\n", 1021 * i + 1, i, i, i, i, i, i, mask, i, i, exponent);
  }
  for (int i = 0; i < 4 * kChains; ++i) out.begin += fmt::format("  mov.f32 %d{}, 0f00000000;\n", i);
  for (int i = 0; i < kChains; ++i) {
    const std::string d = fmt::format("{{%d{}, %d{}, %d{}, %d{}}}", 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3);
    out.chain += fmt::format("  mma.sync.aligned.m16n8k16.row.col.f32.{}.{}.f32 {}, {{%a0, %a1, %a2, %a3}}, {{%a4, %a5}}, {};\n", dtype, dtype, d, d);
  }
  for (int i = 1; i < 4 * kChains; ++i) out.fold += fmt::format("  add.f32 %d0, %d0, %d{};\n", i);
  out.fold += "  setp.eq.f32 %more, %d0, 0f12345678;\n";
  return out;
}

Text text_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kFp32: return scalar("f32", "f", "fma.rn.f32", "0f33800000", "0fC2F6E979", "cvt.rn.f32.u32");   // 2^-24; -123.456
    case Arithmetic::kFp64: return scalar("f64", "g", "fma.rn.f64", "0d3E70000000000000", "0dC05EDD2F1A9FBE77", "cvt.rn.f64.u32");
    case Arithmetic::kInt32: return scalar("s32", "i", "mad.lo.s32", "", "0x12345678", "mov.b32");
    case Arithmetic::kMmaFp16: return tensor("f16", "0x8fff8fff", "0x30003000");
    case Arithmetic::kMmaBf16: return tensor("bf16", "0x80ff80ff", "0x3f003f00");
  }
  return {};
}

}  // namespace

Probe traffic_probe(Traffic traffic, uint64_t& bytes, uint32_t passes, int multiprocessors) {
  const uint32_t blocks = static_cast<uint32_t>(std::max(1, multiprocessors)) * kBlocksPerMultiprocessor;
  const uint64_t round = uint64_t{blocks} * kThreads * kVector * kUnroll;
  const auto rounds = static_cast<uint32_t>(std::max<uint64_t>(1, (bytes + round / 2) / round));
  bytes = rounds * round;
  Probe out{plan_of("sm_70", traffic_text(traffic), blocks), static_cast<double>(bytes) * passes};
  const bool loads = traffic != Traffic::kWrite, stores = traffic == Traffic::kWrite || traffic == Traffic::kCopy;
  if (loads && stores) out.amount *= 2;
  out.plan.buffers.push_back({"from", plan::Role::kWorkspace, loads ? bytes : kVector, "", {}, {}});
  out.plan.buffers.push_back({"to", plan::Role::kWorkspace, stores ? bytes : kVector, "", {}, {}});
  plan::Launch& launch = launch_of(out.plan);
  launch.params.assign(24, 0);
  launch.relocations = {{0, {.buffer = 0}}, {8, {.buffer = 1}}};
  put(launch.params, 16, rounds);
  put(launch.params, 20, passes);
  return out;
}

Probe arithmetic_probe(Arithmetic arithmetic, uint32_t rounds, int multiprocessors) {
  const Text text = text_of(arithmetic);
  std::string body;
  for (int i = 0; i < text.repeats; ++i) body += text.chain;
  std::string ptx = head(text.target) + ".visible .entry probe(.param .u64 to, .param .u32 rounds)\n{\n"
      "  .reg .pred %more;\n  .reg .b32 %index, %width, %block, %left;\n  .reg .b64 %to, %clocks, %ns, %clocks_now, %ns_now;\n" + text.registers +
      "  ld.param.u64 %to, [to];\n  ld.param.u32 %left, [rounds];\n  mov.u32 %index, %tid.x;\n  mov.u32 %width, %ntid.x;\n  mov.u32 %block, %ctaid.x;\n"
      "  mad.lo.u32 %index, %block, %width, %index;\n" + text.begin +
      "  mov.u64 %clocks, %clock64;\n  mov.u64 %ns, %globaltimer;\nROUND:\n" + body +
      "  sub.u32 %left, %left, 1;\n  setp.ne.u32 %more, %left, 0;\n  @%more bra ROUND;\n"
      "  mov.u64 %clocks_now, %clock64;\n  mov.u64 %ns_now, %globaltimer;\n  sub.u64 %clocks, %clocks_now, %clocks;\n  sub.u64 %ns, %ns_now, %ns;\n" + text.fold +
      "  @%more st.global.u32 [%to+16], %index;\n  setp.eq.u32 %more, %index, 0;\n  @%more st.global.v2.u64 [%to], {%clocks, %ns};\n  ret;\n}\n";
  const uint32_t blocks = static_cast<uint32_t>(std::max(1, multiprocessors)) * kBlocksPerMultiprocessor;
  Probe out{plan_of(text.target, std::move(ptx), blocks), 0};
  out.amount = text.operations * kChains * text.repeats * rounds * kThreads * blocks;
  out.plan.buffers.push_back({kTicks, plan::Role::kWorkspace, 32, "", {}, {}});
  plan::Launch& launch = launch_of(out.plan);
  launch.params.assign(12, 0);
  launch.relocations = {{0, {.buffer = 0}}};
  put(launch.params, 8, rounds);
  return out;
}

Probe launch_probe(uint32_t launches) {
  Probe out{plan_of("sm_70", head("sm_70") + ".visible .entry probe() { ret; }\n", 1), static_cast<double>(launches)};
  for (uint32_t i = 1; i < launches; ++i) {
    plan::Step next = out.plan.steps[0];
    next.after = {i - 1};
    out.plan.steps.push_back(std::move(next));
  }
  return out;
}

}  // namespace kw::device
