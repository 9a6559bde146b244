// Which language a candidate is written in, and what compiles it.
#include <filesystem>

#include "base/file.h"
#include "toolchain/toolchain.h"

namespace kw::toolchain {

Result<Language> language_of(const std::string& candidate_path) {
  std::error_code ignored;
  if (!candidate_path.ends_with(".py") || std::filesystem::is_directory(candidate_path, ignored)) return Language::kCuda;
  KW_TRY(const std::string text, read_file(candidate_path));
  for (size_t at = 0; at != std::string::npos && at < text.size(); at = text.find('\n', at), at += at != std::string::npos) {
    const std::string_view line = std::string_view(text).substr(at, 64);
    for (const std::string_view word : {"import kernelwright", "from kernelwright import "}) {
      if (!line.starts_with(word)) continue;
      const char next = line.size() > word.size() ? line[word.size()] : '\n';
      if (word.ends_with(' ') || next == '\n' || next == '\r' || next == ' ' || next == ',' || next == ';' || next == '#') return Language::kTriton;
    }
  }
  return Language::kTorch;
}

Result<Triton> find_triton() {
  Triton triton;
  KW_TRY(triton.python, problem::find_python("triton"));
  KW_TRY(triton.package, problem::find_python_package());
  return triton;
}

Result<Compiler> find_compiler(const std::string& candidate_path) {
  KW_TRY(const Language language, language_of(candidate_path));
  if (language == Language::kTorch)
    return fail(Error{ErrorCode::kUnsupported, candidate_path + " is Python that PyTorch runs: it has no plan", {}, {},
                      {"`kw judge --unsealed` judges it; a file that imports kernelwright and marks its entry has one (docs/formats/candidate.md)"}});
  if (language == Language::kTriton) {
    KW_TRY(Triton triton, find_triton());
    return triton;
  }
  KW_TRY(Nvcc nvcc, find_nvcc());
  return nvcc;
}

std::string describe(const Compiler& compiler) {
  if (const auto* triton = std::get_if<Triton>(&compiler)) return "Triton " + triton->python.found;
  return "nvcc " + std::get<Nvcc>(compiler).version;
}

}  // namespace kw::toolchain
