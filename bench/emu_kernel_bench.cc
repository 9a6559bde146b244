// Whole launches on the emulator: attention (plain and with each check), what a second core brings, and the memory
// that a launch of 100,000 blocks takes. Processor time, best and median of several runs.
//
//   kw_emu_kernel_bench attention FILE.ptx   the project's attention kernel as nvcc compiles it (bench/run.sh does)
//   kw_emu_kernel_bench cores
//   kw_emu_kernel_bench blocks
//   … once                                   one run only, for callgrind
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "emu/emulator.h"
#include "ptx/parser.h"

namespace {

using namespace kw::emu;

int runs = 9;

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
double wall_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Times {
  std::vector<double> processor, wall;
  static double best(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }
  static double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
  }
};

struct Loaded {
  std::unique_ptr<Memory> memory;
  std::unique_ptr<Program> program;
};

bool load(std::string text, Loaded& loaded, bool track_initialised = false) {
  auto memory = Memory::create(uint64_t{1} << 30, track_initialised);
  auto module = kw::ptx::parse(std::move(text), "bench.ptx");
  if (!memory || !module) {
    std::fprintf(stderr, "%s\n", kw::format_error(!memory ? memory.error() : module.error()).c_str());
    return false;
  }
  auto program = Program::load(std::make_shared<const kw::ptx::Module>(std::move(*module)), **memory);
  if (!program) {
    std::fprintf(stderr, "%s\n", kw::format_error(program.error()).c_str());
    return false;
  }
  loaded.memory = std::move(*memory);
  loaded.program = std::move(*program);
  return true;
}

bool measure(const Launch& launch, const Options& options, Times& times, uint64_t* instructions = nullptr) {
  for (int i = 0; i < runs; ++i) {
    const double processor = processor_seconds(), wall = wall_seconds();
    const auto report = run(launch, options);
    times.processor.push_back(processor_seconds() - processor);
    times.wall.push_back(wall_seconds() - wall);
    if (!report || !report->completed || !report->findings.empty()) {
      std::fprintf(stderr, "%s\n", !report ? kw::format_error(report.error()).c_str() : "the launch has findings");
      return false;
    }
    if (instructions != nullptr) *instructions = report->warp_instructions;
  }
  return true;
}

template <typename... T>
std::vector<uint8_t> parameters(T... values) {
  std::vector<uint8_t> block;
  const auto add = [&](const auto& value) {
    block.resize((block.size() + sizeof value - 1) / sizeof value * sizeof value);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    block.insert(block.end(), bytes, bytes + sizeof value);
  };
  (add(values), ...);
  return block;
}

// One head, 1024 queries and keys, head dimension 64, f16.
int attention(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    std::fprintf(stderr, "%s cannot be read\n", path);
    return 1;
  }
  constexpr uint32_t kLength = 1024, kDimension = 64;
  struct Setting { const char* name; bool races, uninitialised, count; };
  for (const Setting& s : {Setting{"plain", false, false, false}, Setting{"races", true, false, false},
                           Setting{"races, uninitialised", true, true, false}, Setting{"all, and counters", true, true, true}}) {
    Loaded loaded;
    if (!load(text.str(), loaded, s.uninitialised)) return 1;
    uint64_t address[4];
    std::vector<uint16_t> values(kLength * kDimension);
    uint32_t state = 1;
    for (uint64_t& a : address) {
      for (uint16_t& v : values) {
        state = state * 1664525u + 1013904223u;
        v = static_cast<uint16_t>(0x3000u | (state >> 8 & 0x8bffu));   // magnitudes from 1/8 to 1
      }
      auto allocated = loaded.memory->allocate(values.size() * 2, "tensor");
      if (!allocated || !loaded.memory->write(*allocated, values.data(), values.size() * 2)) return 1;
      a = *allocated;
    }
    Launch launch;
    launch.program = loaded.program.get();
    for (const std::string& name : loaded.program->kernel_names())
      if (name.find("attention") != std::string::npos) launch.kernel = name;
    launch.grid = {kLength / 64, 1, 1};
    launch.block = {128, 1, 1};
    launch.params = parameters(address[0], address[1], address[2], address[3], static_cast<int>(kLength), 1.44269504f / 8);
    Options options;
    options.threads = 1;
    options.check_races = s.races;
    options.check_uninitialised = s.uninitialised;
    options.count = s.count;
    Times times;
    uint64_t instructions = 0;
    if (!measure(launch, options, times, &instructions)) return 1;
    std::printf("attention S=1024 D=64, %-22s best %7.2f ms, median %7.2f ms of processor time (%.0f k warp instructions)\n", s.name,
                1e3 * Times::best(times.processor), 1e3 * Times::median(times.processor), static_cast<double>(instructions) / 1e3);
  }
  return 0;
}

std::string arithmetic_kernel(int trips) {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {\n.reg .pred %p<2>; .reg .b32 %r<8>; "
      ".reg .f32 %f<4>; .reg .b64 %rd<4>;\nld.param.u64 %rd1, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, 0;\n"
      "cvt.rn.f32.u32 %f1, %r0;\nloop:\n";
  for (int i = 0; i < 8; ++i) text += "fma.rn.f32 %f1, %f1, 0f3F000000, 0f3F800000;\nadd.u32 %r0, %r0, 7;\n";
  return text + "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, " + std::to_string(trips) +
         ";\n@%p1 bra loop;\ncvt.rzi.u32.f32 %r2, %f1;\nadd.u32 %r2, %r2, %r0;\nst.global.u32 [%rd1], %r2;\nret;\n}\n";
}

int cores() {
  Loaded loaded;
  if (!load(arithmetic_kernel(2000), loaded)) return 1;
  const auto out = loaded.memory->allocate(4096, "out");
  if (!out) return 1;
  Launch launch;
  launch.program = loaded.program.get();
  launch.kernel = "k";
  launch.grid = {64, 1, 1};
  launch.block = {32, 1, 1};
  launch.params = parameters(*out);
  Times one, two;
  Options options;
  options.threads = 1;
  if (!measure(launch, options, one)) return 1;
  options.threads = 2;
  if (!measure(launch, options, two)) return 1;
  std::printf("two threads: %.2f times one by the clock (meaningful when both cores are free); %.3f times the processor time\n",
              Times::best(one.wall) / Times::best(two.wall), Times::best(two.processor) / Times::best(one.processor));
  return 0;
}

int blocks() {
  Loaded loaded;
  if (!load(arithmetic_kernel(1), loaded)) return 1;
  const auto out = loaded.memory->allocate(4096, "out");
  if (!out) return 1;
  Launch launch;
  launch.program = loaded.program.get();
  launch.kernel = "k";
  launch.grid = {100'000, 1, 1};
  launch.block = {256, 1, 1};
  launch.params = parameters(*out);
  runs = std::min(runs, 3);
  Times times;
  if (!measure(launch, Options{}, times)) return 1;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("100,000 blocks of 256 threads: %.2f s of processor time, peak %.1f MiB resident\n", Times::best(times.processor),
              static_cast<double>(usage.ru_maxrss) / 1024);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  if (count > 2 && std::string(arguments[count - 1]) == "once") runs = 1;
  if (what == "attention" && count > 2) return attention(arguments[2]);
  if (what == "cores") return cores();
  if (what == "blocks") return blocks();
  std::fprintf(stderr, "usage: %s attention FILE.ptx | cores | blocks   [once]\n", arguments[0]);
  return 2;
}
