// A CUDA program that nvcc links with the emulated runtime, for tests of whole programs.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/subprocess.h"
#include "toolchain/installation.h"
#include "toolchain/toolchain.h"

namespace kw::toolchain {

struct EmulatedProgram {
  TempDir folder;
  std::string path;
};

inline bool can_emulate_programs() { return find_nvcc() && emulated_library(); }

// Fails the test when the program cannot be built; call can_emulate_programs() first.
inline std::optional<EmulatedProgram> build_emulated(std::string_view source) {
  auto folder = TempDir::create("kw-program-test");
  const auto nvcc = find_nvcc();
  if (!folder || !nvcc || !write_file(*folder / "program.cu", source)) {
    ADD_FAILURE() << "no folder, no nvcc or no source";
    return std::nullopt;
  }
  const std::string path = *folder / "program";
  const auto argv = nvcc_command(*nvcc, {"-O2", "-arch=sm_80", "-o", path, *folder / "program.cu"});
  if (!argv) {
    ADD_FAILURE() << format_error(argv.error());
    return std::nullopt;
  }
  Command command;
  command.argv = *argv;
  const auto compiled = run_process(command);
  if (!compiled || !compiled->succeeded()) {
    ADD_FAILURE() << (compiled ? compiled->err : format_error(compiled.error()));
    return std::nullopt;
  }
  return EmulatedProgram{std::move(*folder), path};
}

}  // namespace kw::toolchain
