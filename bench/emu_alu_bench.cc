// An ALU-bound kernel on one core: millions of warp instructions a second, dispatch included, for the mix that
// inner loops are made of (integer, f32, comparison, selection, conversion) and for single kinds.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

#include "emu/emulator.h"
#include "ptx/parser.h"

namespace {

using namespace kw::emu;

// `body` 16 times in a loop of `trips`.
std::string kernel(const std::string& body, int trips) {
  std::string text =
      ".version 8.7\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {\n"
      ".reg .pred %p<8>; .reg .b32 %r<16>; .reg .f32 %f<16>; .reg .b64 %rd<8>; .reg .b16 %h<8>;\n"
      "ld.param.u64 %rd1, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, 1;\nmov.u32 %r2, %r0;\ncvt.rn.f32.u32 %f1, %r0;\n"
      "mov.f32 %f2, 0f3F000000;\nmov.f32 %f3, 0f3F800000;\nmov.u32 %r9, 0;\nloop:\n";
  for (int i = 0; i < 16; ++i) text += body;
  text += "add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p7, %r9, " + std::to_string(trips) +
          ";\n@%p7 bra loop;\ncvt.rzi.s32.f32 %r3, %f1;\nadd.u32 %r2, %r2, %r3;\nmul.wide.u32 %rd2, %r0, 4;\n"
          "add.u64 %rd1, %rd1, %rd2;\nst.global.u32 [%rd1], %r2;\nret;\n}\n";
  return text;
}

void measure(const char* name, const std::string& body) {
  auto memory = Memory::create(1 << 24, false);
  auto module = kw::ptx::parse(kernel(body, 2000), "bench.ptx");
  if (!memory || !module) {
    std::printf("%s: %s\n", name, kw::format_error(!memory ? memory.error() : module.error()).c_str());
    return;
  }
  auto program = Program::load(std::make_shared<const kw::ptx::Module>(std::move(*module)), **memory);
  const uint64_t out = *(*memory)->allocate(4096, "out");
  Launch launch;
  launch.program = program->get();
  launch.kernel = "k";
  launch.grid = {8, 1, 1};
  launch.block = {128, 1, 1};
  launch.params.resize(8);
  std::memcpy(launch.params.data(), &out, 8);
  Options options;
  options.threads = 1;
  double best = 0;
  for (int i = 0; i < 7; ++i) {
    const std::clock_t begin = std::clock();   // processor time: other work on the machine does not count
    const auto report = run(launch, options);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    if (!report) {
      std::printf("%s: %s\n", name, kw::format_error(report.error()).c_str());
      return;
    }
    const double rate = static_cast<double>(report->warp_instructions) / seconds / 1e6;
    if (rate > best) best = rate;
  }
  std::printf("%-34s %8.0f M warp instructions/s\n", name, best);
}

}  // namespace

int main() {
  measure("mix: fma add mad shl xor setp selp",
          "fma.rn.f32 %f1, %f1, %f2, %f3;\nadd.u32 %r2, %r2, %r1;\nmad.lo.u32 %r4, %r2, 3, %r1;\nshl.b32 %r5, %r4, 2;\n"
          "xor.b32 %r2, %r5, %r2;\nadd.f32 %f4, %f1, %f2;\nsetp.gt.f32 %p1, %f4, %f3;\nselp.f32 %f1, %f4, %f1, %p1;\n");
  measure("add.u32", "add.u32 %r2, %r2, %r1;\n");
  measure("fma.rn.f32", "fma.rn.f32 %f1, %f1, %f2, %f3;\n");
  measure("fma.rn.ftz.f32", "fma.rn.ftz.f32 %f1, %f1, %f2, %f3;\n");
  measure("setp.lt.s32", "setp.lt.s32 %p1, %r2, %r1;\n");
  measure("max.f32", "max.f32 %f1, %f1, %f2;\n");
  measure("ex2.approx.ftz.f32", "ex2.approx.ftz.f32 %f4, %f1;\n");
  measure("lop3.b32", "lop3.b32 %r2, %r2, %r1, %r0, 0x96;\n");
  measure("cvt.rn.f16x2.f32", "cvt.rn.f16x2.f32 %r4, %f1, %f2;\n");
  measure("fma.rn.f16x2", "fma.rn.f16x2 %r4, %r2, %r1, %r0;\n");
  return 0;
}
