// Time of one warp-wide instruction in the emulator: matrix products as handlers called directly on a warp whose
// operands are in cache, beside the path that serves every form; matrix loads and collectives in a
// kernel's loop, dispatch included. Nanoseconds and time-stamp-counter ticks, best of several runs.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "emu/emulator.h"
#include "emu/mma_plan.h"
#include "ptx/parser.h"

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

// `instruction` sixteen times in a loop of one warp.
void bench_kernel(const char* instruction) {
  constexpr int kRounds = 20000, kCopies = 16;
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n  .reg .b32 %r<16>; .reg .pred %p<4>;\n"
                     "  .shared .align 16 .b8 tile[512];\n  mov.u32 %r1, %laneid; shl.b32 %r2, %r1, 4; mov.u32 %r3, tile;\n"
                     "  add.u32 %r2, %r2, %r3; mov.u32 %r9, 0; setp.lt.u32 %p1, %r1, 9;\nL:\n";
  for (int i = 0; i < kCopies; ++i) text += std::string("  ") + instruction + "\n";
  text += "  add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, " + std::to_string(kRounds) + "; @%p2 bra L;\n  ret;\n}\n";
  auto module = kw::ptx::parse(std::move(text), "bench");
  auto memory = Memory::create(1 << 24, false);
  if (!module || !memory) return;
  auto program = Program::load(std::make_shared<const kw::ptx::Module>(std::move(*module)), **memory);
  if (!program) return;
  Launch launch;
  launch.program = program->get();
  launch.kernel = "k";
  launch.block = {32, 1, 1};
  Options options;
  options.threads = 1;
  double best = 1e30, best_ticks = 1e30;
  for (int i = 0; i < 10; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const uint64_t first = ticks();
    const auto report = run(launch, options);
    const uint64_t last = ticks();
    if (!report || !report->completed) {
      std::printf("%-62s does not run\n", instruction);
      return;
    }
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - begin;
    best = std::min(best, elapsed.count() / (kRounds * kCopies));
    best_ticks = std::min(best_ticks, static_cast<double>(last - first) / (kRounds * kCopies));
  }
  std::printf("%-62s %8.1f ns %8.0f ticks\n", instruction, best, best_ticks);
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
  for (const char* instruction : {
           "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4,%r5,%r6,%r7}, [%r2];",
           "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r4,%r5,%r6,%r7}, [%r2];",
           "shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;", "vote.sync.ballot.b32 %r4, %p1, -1;",
           "redux.sync.add.s32 %r4, %r1, -1;", "match.any.sync.b32 %r4, %r1, -1;"})
    bench_kernel(instruction);
  return 0;
}
