// Speed of the PTX parser, printer and verifier on a module of half a megabyte: the project's own kernels
// as nvcc compiles them, repeated under other names.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cctype>
#include <fstream>
#include <sstream>
#include <string>

#include "ptx/parser.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"

namespace {

std::string module_text() {
  std::ifstream file(KW_SOURCE_DIR "/tests/ptx/modules/tensor_core_sm_89.ptx");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string one = text.str();
  const size_t header_end = one.find(".address_size 64") + 16;
  std::string all = one.substr(0, header_end);
  const std::string body = one.substr(header_end, one.find("\t.file") - header_end);
  for (int copy = 0; all.size() < 500'000; ++copy) {
    // Each copy is a module scope of its own: names get a suffix where they are declared and used.
    std::string renamed;
    for (size_t i = 0; i < body.size();) {
      const bool starts = (std::isalpha(static_cast<unsigned char>(body[i])) != 0 || body[i] == '_' || body[i] == '$') && (i == 0 || (body[i - 1] != '.' && body[i - 1] != '%' && body[i - 1] != ':' && std::isalnum(static_cast<unsigned char>(body[i - 1])) == 0));
      size_t end = i + 1;
      if (starts) while (end < body.size() && (std::isalnum(static_cast<unsigned char>(body[end])) != 0 || body[end] == '_' || body[end] == '$')) ++end;
      const std::string word = body.substr(i, end - i);
      renamed += word;
      for (const char* own : {"wmma_gemm", "wmma_kinds", "pipelined", "mma_kinds", "_ZZ"})
        if (starts && word.starts_with(own)) {
          renamed += fmt::format("_{}", copy);
          break;
        }
      i = end;
    }
    all += renamed;
  }
  return all;
}

void parse(benchmark::State& state) {
  const std::string text = module_text();
  for (auto _ : state) {
    auto module = kw::ptx::parse(text, "bench.ptx");
    if (!module) {
      state.SkipWithError(kw::format_error(module.error()).c_str());
      break;
    }
    benchmark::DoNotOptimize(module);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}
BENCHMARK(parse)->Unit(benchmark::kMillisecond);

void print(benchmark::State& state) {
  auto module = kw::ptx::parse(module_text(), "bench.ptx");
  if (!module) return state.SkipWithError("the module does not parse");
  for (auto _ : state) benchmark::DoNotOptimize(kw::ptx::print(*module));
}
BENCHMARK(print)->Unit(benchmark::kMillisecond);

void verify(benchmark::State& state) {
  auto module = kw::ptx::parse(module_text(), "bench.ptx");
  if (!module) return state.SkipWithError("the module does not parse");
  for (auto _ : state) benchmark::DoNotOptimize(kw::ptx::verify(*module));
}
BENCHMARK(verify)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
