#include <algorithm>

#include "base/file.h"
#include "command/command.h"
#include "toolchain/asm_info.h"
#include "toolchain/device_code.h"

namespace kw::command {
namespace {

bool is_ptx(const std::string& path) { return path.size() > 4 && path.compare(path.size() - 4, 4, ".ptx") == 0; }

// The device code of a candidate, compiled for the target, or of a PTX file as it is.
Result<std::vector<std::string>> device_code_of(const std::string& path, const std::string& target) {
  if (is_ptx(path)) {
    KW_TRY(auto text, read_file(path, 64ull << 20));
    return std::vector<std::string>{std::move(text)};
  }
  KW_TRY(const auto language, toolchain::language_of(path));
  if (language != toolchain::Language::kCuda)
    return fail(ErrorCode::kUnsupported, "{}: kernels of Python are compiled for a workload; `kw profile` shows what becomes of them", path);
  KW_TRY(auto nvcc, toolchain::find_nvcc());
  toolchain::Candidate candidate;
  candidate.path = path;
  candidate.target = target;
  KW_TRY(auto compiled, toolchain::compile(nvcc, candidate));
  if (const auto* errors = std::get_if<toolchain::CompileErrors>(&compiled)) {
    Error error{ErrorCode::kInvalid, fmt::format("{} does not compile: {}", path, errors->summary()), {}, {}, {}};
    error.notes.push_back(errors->log.substr(0, 2000));
    return fail(std::move(error));
  }
  return toolchain::device_code(std::get<toolchain::Compiled>(compiled).program);
}

Result<int> run(const Invocation& invocation, const Output& output) {
  const std::string subject = invocation.text("candidate"), target = invocation.text("target");
  KW_TRY(auto modules, device_code_of(subject, target));
  toolchain::AsmInfo info;
  for (const std::string& ptx : modules) {
    KW_TRY(auto part, toolchain::asm_info(ptx, subject, target));
    auto kernels = std::move(info.kernels);
    std::move(part.kernels.begin(), part.kernels.end(), std::back_inserter(kernels));
    info = std::move(part);
    info.kernels = std::move(kernels);
  }
  const std::string json = toolchain::to_json(info);
  if (invocation.has("output")) KW_TRY_VOID(write_file(invocation.text("output"), json));
  output.out(invocation.flag("json") ? json : toolchain::show(info));
  return 0;
}

}  // namespace

Command asm_command() {
  return {{"asm"},
          "what the compiler made of a kernel: registers, spills, instruction mix, access widths, occupancy",
          "Facts of the code from PTX, ptxas and the machine code (docs/formats/asm_info.md).\n"
          "Example: kw asm kernels/gemm_f16.cu --output asm_info.json",
          {{"candidate", ArgumentKind::kPath, true, true, "", "a candidate (.cu file or folder) or a .ptx file", {}},
           {"target", ArgumentKind::kText, false, false, "sm_80", "GPU architecture to compile for", {}},
           {"json", ArgumentKind::kFlag, false, false, "", "print JSON instead of the page", {}},
           {"output", ArgumentKind::kPath, false, false, "", "also write the JSON to this file", {}}},
          run, true};
}

}  // namespace kw::command
