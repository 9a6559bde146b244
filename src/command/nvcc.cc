#include "command/command.h"
#include "toolchain/toolchain.h"

namespace kw::command {

Command nvcc_command() {
  return {{"nvcc"},
          "compile a whole CUDA program for the emulator: nvcc, with our CUDA runtime in place of NVIDIA's",
          "Takes nvcc's own arguments. Run the result with `kw emu run`.\n"
          "Example: kw nvcc -O2 -o app app.cu && kw emu run --check=all ./app",
          {{"arguments", ArgumentKind::kRest, true, true, "", "nvcc's arguments", {}}},
          [](const Invocation& invocation, const Output&) -> Result<int> { return toolchain::nvcc(invocation.rest); },
          true};
}

}  // namespace kw::command
