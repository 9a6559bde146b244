// Runs entry "k"(in, out) of a PTX text on the emulator, as gpu.h does on a GPU.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "emu/emulator.h"
#include "ptx/parser.h"

namespace kw::golden {

inline Result<std::vector<uint8_t>> run_emulated(const std::string& ptx, const std::vector<uint8_t>& input, size_t output_bytes,
                                                 unsigned blocks, unsigned threads) {
  KW_TRY(ptx::Module module, ptx::parse(ptx, "golden.ptx"));
  KW_TRY(const auto memory, emu::Memory::create(uint64_t{1} << 30, false));
  KW_TRY(const auto program, emu::Program::load(std::make_shared<const ptx::Module>(std::move(module)), *memory));
  KW_TRY(const uint64_t in, memory->allocate(input.size(), "in"));
  KW_TRY(const uint64_t out, memory->allocate(output_bytes, "out"));
  KW_TRY_VOID(memory->write(in, input.data(), input.size()));
  emu::Launch launch;
  launch.program = program.get();
  launch.kernel = "k";
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  launch.params.resize(16);
  std::memcpy(launch.params.data(), &in, 8);
  std::memcpy(launch.params.data() + 8, &out, 8);
  KW_TRY(const emu::LaunchReport report, emu::run(launch, {}));
  if (!report.completed || !report.findings.empty())
    return fail(ErrorCode::kInvalid, "the emulator found fault with it: {}",
                report.findings.empty() ? "not completed" : report.findings.front().message);
  std::vector<uint8_t> output(output_bytes);
  KW_TRY_VOID(memory->read(out, output.data(), output_bytes));
  return output;
}

}  // namespace kw::golden
