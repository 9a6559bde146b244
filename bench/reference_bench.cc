// Speed and memory of the reference interpreter on what people run, with one thread and two. CPU is processor time of
// all threads. planned is what the interpreter says beforehand that it will hold, peak what the process held more than
// before; both in MiB.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <fstream>
#include <string>

#include "problem/evaluate.h"
#include "problem/inputs.h"
#include "problem/problem.h"

namespace {

using kw::problem::Problem;

struct Work {
  const char* name;
  const char* inputs;
  const char* output;
  const char* statements;
};

constexpr Work kWork[] = {
    {"softmax 4096x4096", "  x: f32[4096, 4096]\n", "f32[4096, 4096]", "  y = softmax(x)\n"},
    {"layer norm 4096x4096", "  x: f32[4096, 4096]\n  g: f32[4096]\n  b: f32[4096]\n", "f32[4096, 4096]",
     "  y = (x - mean(x, axis=-1, keepdims=true)) * rsqrt(var(x, axis=-1, keepdims=true) + 1e-5) * g + b\n"},
    {"matmul 1024x1024x1024", "  a: f32[1024, 1024]\n  b: f32[1024, 1024]\n", "f32[1024, 1024]", "  y = a @ b\n"},
    {"attention 2048x2048x64", "  q: f32[2048, 64]\n  k: f32[2048, 64]\n  v: f32[2048, 64]\n", "f32[2048, 64]",
     "  y = softmax(q @ transpose(k) / 8) @ v\n"},
    {"transpose 4096x4096", "  x: f32[4096, 4096]\n", "f32[4096, 4096]", "  y = transpose(x)\n"},
    {"permute 64x512x8x64", "  x: f32[64, 512, 8, 64]\n", "f32[64, 8, 512, 64]", "  y = permute(x, [0, 2, 1, 3])\n"},
    {"column + row 4096x4096", "  x: f32[4096, 1]\n  z: f32[4096]\n", "f32[4096, 4096]", "  y = x + z\n"},
    {"sum of columns 4096x4096", "  x: f32[4096, 4096]\n", "f32[4096]", "  y = sum(x, axis=0)\n"},
    {"take 8192 of 50000x768", "  x: f32[50000, 768]\n  i: i32[8192] ~ integers(0, 49999)\n", "f32[8192, 768]",
     "  y = take(x, i)\n"},
    {"gelu 4096x4096", "  x: f32[4096, 4096]\n", "f32[4096, 4096]", "  y = gelu(x)\n"},
    {"remainder 4096x4096", "  x: f32[4096, 4096]\n", "f32[4096, 4096]", "  y = x % 0.3\n"},
    {"conv 8x64x28x28 by 3x3", "  x: f32[8, 64, 28, 28]\n  w: f32[64, 64, 3, 3]\n", "f32[8, 64, 28, 28]",
     "  y = conv(x, w, padding=1)\n"},
};

void inputs(benchmark::State& state, const char* dtype) {
  const auto type = *kw::tensor::dtype_named(dtype);
  for (auto _ : state) {
    const auto made = kw::problem::fill(type, {4096, 4096}, kw::problem::Distribution{}, 1, "bench");
    if (!made) return state.SkipWithError("no inputs");
  }
}

double resident_mib(const char* what) {  // VmRSS or VmHWM
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == what + std::string(":")) {
      double kib = 0;
      status >> kib;
      return kib / 1024;
    }
  return 0;
}

void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

void evaluate(benchmark::State& state, const Work& work) {
  const std::string text = fmt::format("problem t: \"t\"\ninputs:\n{}outputs:\n  y: {}\nreference:\n{}workloads:\n  smallest s:\n",
                                       work.inputs, work.output, work.statements);
  const auto problem = kw::problem::parse_problem(text, "bench");
  if (!problem) return state.SkipWithError(kw::format_error(problem.error()).c_str());
  const auto& workload = problem->workloads.front();
  const auto inputs = kw::problem::make_inputs(*problem, workload, 1);
  const auto cost = kw::problem::cost_of(*problem, workload);
  if (!inputs || !cost) return state.SkipWithError("no inputs");
  kw::problem::EvaluateOptions options;
  options.threads = static_cast<int>(state.range(0));
  double peak = 0;
  for (auto _ : state) {
    forget_peak();
    const double before = resident_mib("VmRSS");
    const auto result = kw::problem::evaluate(*problem, workload, *inputs, options);
    if (!result) return state.SkipWithError(kw::format_error(result.error()).c_str());
    peak = std::max(peak, resident_mib("VmHWM") - before);
  }
  state.counters["planned"] = cost->peak_bytes / (1 << 20);
  state.counters["peak"] = peak;
}

}  // namespace

int main(int count, char** arguments) {
  for (const Work& work : kWork)
    benchmark::RegisterBenchmark(work.name, [&work](benchmark::State& state) { evaluate(state, work); })
        ->Arg(1)->Arg(2)->ArgName("threads")->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime()
        ->MinTime(0.2);
  for (const char* dtype : {"f32", "f16"})
    benchmark::RegisterBenchmark(fmt::format("inputs {} 4096x4096", dtype).c_str(),
                                 [dtype](benchmark::State& state) { inputs(state, dtype); })
        ->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime()->MinTime(0.2);
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
