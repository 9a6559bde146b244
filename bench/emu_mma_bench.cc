// Time of one warp-wide matrix instruction in the emulator: handlers called directly on a warp whose operands are
// in cache. Prints nanoseconds and time-stamp-counter ticks per instruction (best of several runs), and the
// share of the work that the path for every form takes when it is used instead.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "emu/lowering.h"
#include "emu/mma_plan.h"

namespace {

using namespace kw::emu;

uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

struct Cost {
  double ns = 1e30, ticks = 1e30;
};

template <typename F>
Cost measure(F&& once) {
  Cost best;
  constexpr int kCalls = 2000;
  for (int run = 0; run < 25; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    const uint64_t first = ticks();
    for (int i = 0; i < kCalls; ++i) once();
    const uint64_t last = ticks();
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - begin;
    best.ns = std::min(best.ns, elapsed.count() / kCalls);
    best.ticks = std::min(best.ticks, static_cast<double>(last - first) / kCalls);
  }
  return best;
}

void bench_mma(const char* name) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = name;;) {
    const size_t dot = rest.find('.');
    parts.push_back(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  const auto form = mma_form(parts[0], std::span(parts).subspan(1));
  if (!form) {
    std::printf("%-62s unknown\n", name);
    return;
  }
  const MmaPlan& plan = mma_plan(*form);
  std::vector<uint32_t> operands;
  uint32_t at = 0;
  const auto add = [&](Part part) {
    for (unsigned reg = 0; reg < plan.of(part).registers; ++reg, at += 32 * plan.of(part).register_bytes) operands.push_back(at);
  };
  add(Part::kA);
  const std::vector<uint32_t> a = operands;
  operands.clear();
  add(Part::kB);
  const std::vector<uint32_t> b = operands;
  operands.clear();
  add(Part::kC);
  const std::vector<uint32_t> c = operands;
  operands = c.size() == plan.of(Part::kD).registers ? c : std::vector<uint32_t>(plan.of(Part::kD).registers, at);
  for (const auto* list : {&a, &b, &c}) operands.insert(operands.end(), list->begin(), list->end());   // D is C, as in loops
  if (form->sparse) operands.push_back(at);
  std::vector<uint8_t> bank(at + 4096, 0);
  BlockContext block;
  Warp warp;
  warp.bank = bank.data() + (64 - reinterpret_cast<uintptr_t>(bank.data()) % 64) % 64;
  warp.exec = warp.live = kFull;
  warp.block = &block;
  Insn insn;
  insn.imm = reinterpret_cast<uint64_t>(&plan);
  insn.more = operands.data();
  Handler fast = fast_float_mma(*form);
  if (fast == nullptr) fast = fast_integer_mma(*form);
  const Cost generic = measure([&] { run_mma_generic(warp, insn); });
  const Cost best = fast != nullptr ? measure([&] { fast(warp, insn); }) : generic;
  std::printf("%-62s %8.1f ns %8.0f ticks   %s%7.0f ticks\n", name, best.ns, best.ticks, "every-form path", generic.ticks);
}

}  // namespace

int main() {
  for (const char* name : {
           "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
           "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
           "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
           "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
           "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32", "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
           "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
           "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
           "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"})
    bench_mma(name);
  return 0;
}
