// Where nvcc is. A wrapper script may stand in for it; the dry run tells the toolkit's folder.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/folders_above.h"
#include "base/source_text.h"
#include "base/subprocess.h"
#include "toolchain/installation.h"
#include "toolchain/toolchain.h"

namespace kw::toolchain {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

// The value of a "#$ NAME=" line of nvcc --dryrun.
std::string dryrun_value(const std::string& text, const std::string& name) {
  const std::string key = "#$ " + name + "=";
  const size_t begin = text.find(key);
  if (begin == std::string::npos) return "";
  const size_t end = text.find('\n', begin);
  std::string value = text.substr(begin + key.size(), end - begin - key.size());
  while (!value.empty() && (value.back() == ' ' || value.back() == '\r')) value.pop_back();
  return value;
}

}  // namespace

std::vector<std::string> toolkit_programs(const std::string& name) {
  std::vector<std::string> found;
  const auto add = [&](const fs::path& path) {
    if (executable(path)) found.push_back(path.string());
  };
  if (const std::string stated = environment("KW_NVCC"); !stated.empty() && name == "nvcc") add(stated);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string home = environment(variable); !home.empty()) add(fs::path(home) / "bin" / name);
  // The .venv of the tree that one stands in, or of the one that this program was built in.
  for (const std::string& folder : folders_above()) {
    std::error_code ignored;
    for (fs::directory_iterator python(fs::path(folder) / ".venv/lib", ignored), end; !ignored && python != end; python.increment(ignored)) {
      const fs::path nvidia = python->path() / "site-packages" / "nvidia";
      std::error_code none;
      for (fs::directory_iterator wheel(nvidia, none), last; !none && wheel != last; wheel.increment(none))
        add(wheel->path() / "bin" / name);
    }
  }
  if (auto on_path = find_program(name)) found.push_back(*on_path);
  return found;
}

namespace {

// The first line of what a tool said.
std::string first_words(const std::string& text) {
  const std::string line(line_of(text, 1));
  return line.empty() ? "" : ": " + printable_text(line.substr(0, 300));
}

Result<Nvcc> describe(const std::string& program) {
  Command command;
  command.argv = {program, "--dryrun", "-x", "cu", "-E", "/dev/null"};
  command.wall_seconds = 30;
  KW_TRY(const ProcessOutcome outcome, run_process(command));
  const std::string top = dryrun_value(outcome.err, "TOP"), here = dryrun_value(outcome.err, "_HERE_");
  if (!outcome.succeeded() || top.empty())
    return fail(ErrorCode::kNotFound, "{} does not work as nvcc: {}{}", program, kw::describe(outcome), first_words(outcome.err));
  Nvcc nvcc;
  std::error_code ignored;
  nvcc.root = fs::weakly_canonical(top, ignored).string();
  nvcc.program = executable(fs::path(here) / "nvcc") ? (fs::path(here) / "nvcc").string() : program;
  for (const char* folder : {"include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"}) {
    const fs::path include = fs::path(nvcc.root) / folder;
    if (nvcc.include.empty() && fs::exists(include / "cuda_runtime.h", ignored)) nvcc.include = fs::canonical(include, ignored).string();
  }
  if (nvcc.include.empty())
    return fail(ErrorCode::kNotFound, "{} has no cuda_runtime.h: the toolkit's header package is missing", nvcc.root);
  command.argv = {program, "--version"};
  KW_TRY(const ProcessOutcome version, run_process(command));
  const size_t at = version.out.find(", V");
  if (at != std::string::npos) {
    nvcc.version = version.out.substr(at + 3, version.out.find_first_of(" \n", at + 3) - at - 3);
    std::sscanf(nvcc.version.c_str(), "%d.%d", &nvcc.major, &nvcc.minor);
  }
  KW_TRY(nvcc.host_compiler, find_host_compiler());
  return nvcc;
}

}  // namespace

Result<std::string> find_host_compiler() {
  for (const char* variable : {"KW_HOST_COMPILER", "NVCC_CCBIN"}) {
    const std::string named = environment(variable);
    if (named.empty()) continue;
    auto found = find_program(named);
    if (!found) return fail(ErrorCode::kNotFound, "the host compiler {}; set {} to a g++, or leave it unset", found.error().message, variable);
    return *found;
  }
  // nvcc looks for gcc, which comes with g++.
  for (const char* name : {find_program("gcc") ? "g++" : "g++-14", "g++-14", "g++-13", "g++-12", "g++-11"}) {
    if (auto found = find_program(name)) return *found;
  }
  return fail(ErrorCode::kNotFound, "there is no host compiler (gcc and g++) on PATH; apt-get install g++, or set KW_HOST_COMPILER to one");
}

Result<Nvcc> find_nvcc() {
  std::string problems;
  for (const std::string& program : toolkit_programs("nvcc")) {
    auto nvcc = describe(program);
    if (nvcc) return nvcc;
    problems += (problems.empty() ? "" : "; ") + nvcc.error().message;
  }
  Error error;
  error.code = ErrorCode::kNotFound;
  error.message = problems.empty() ? "nvcc is not here (looked at CUDA_HOME, CUDA_PATH, .venv and PATH)" : problems;
  error.notes.push_back("`make setup` installs the CUDA compiler into .venv, or set CUDA_HOME to a toolkit.");
  return fail(std::move(error));
}

}  // namespace kw::toolchain
