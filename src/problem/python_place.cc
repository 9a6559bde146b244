#include "problem/python_place.h"

#include <cstdlib>
#include <filesystem>

#include "base/folders_above.h"
#include "base/installed.h"
#include "base/source_text.h"
#include "base/subprocess.h"

namespace kw::problem {
namespace {

namespace fs = std::filesystem;

// Six lines; the packages' folder is empty where there is no such package. Finding it does not import it.
constexpr const char* kProbe = R"(
import importlib.metadata, importlib.util, os, sys
name = sys.argv[1]
spec = importlib.util.find_spec(name)
packages = os.path.dirname(os.path.dirname(spec.origin)) if spec and spec.origin else ""
try: version = importlib.metadata.version(name) if packages else ""
except importlib.metadata.PackageNotFoundError: version = "of unknown version"
print(os.path.abspath(sys.executable), sys.version.split()[0], sys.prefix, sys.base_prefix, packages, version, sep="\n")
)";

std::string purpose_of(const std::string& package) {
  if (package == "triton") return "which compiles candidates in Triton";
  return "which evaluates functions of section python and computes with PyTorch";
}

Result<PythonPlace> probe(const std::string& program, const std::string& package) {
  Command command;
  command.argv = {program, "-c", kProbe, package};
  command.cwd = std::string("/");  // where a person stands may hold one of its name
  command.wall_seconds = 60;
  KW_TRY(const ProcessOutcome outcome, run_process(command));
  if (!outcome.succeeded()) return fail(ErrorCode::kNotFound, "{} does not run: {}", program, describe(outcome));
  std::vector<std::string> lines;
  for (int i = 1; i <= 6; ++i) lines.emplace_back(line_of(outcome.out, i));
  PythonPlace place{lines[0], lines[1], lines[5], lines[4], {}};
  if (place.packages.empty()) return fail(ErrorCode::kNotFound, "{} (Python {}) has no {}", program, printable_text(place.version), package);
  for (const std::string& folder : {lines[2], lines[3], lines[4]})
    if (folder.starts_with('/') && folder != "/") place.installation.push_back(folder);
  return place;
}

}  // namespace

Result<PythonPlace> find_python(const std::string& package) {
  std::vector<std::string> programs;
  if (const char* stated = std::getenv("KW_PYTHON"); stated != nullptr && *stated != '\0') {
    programs = {stated};
  } else {
    std::error_code ignored;
    for (const std::string& folder : folders_above())
      if (const fs::path program = fs::path(folder) / ".venv/bin/python"; fs::exists(program, ignored)) programs.push_back(program.string());
    programs.emplace_back("python3");
  }
  Error error{ErrorCode::kNotFound, fmt::format("no Python with {}, {}", package, purpose_of(package)), {}, {}, {}};
  for (const std::string& program : programs) {
    auto place = probe(program, package);
    if (place) return place;
    error.notes.push_back(place.error().message);
  }
  error.notes.push_back(fmt::format("install it: python3 -m venv .venv && .venv/bin/pip install {}, or name a Python that has it in KW_PYTHON", package));
  return fail(std::move(error));
}

Result<std::string> find_python_package() {
  const std::string worker = "/kernelwright/worker.py";
  KW_TRY(const std::string found, installed_or_built("share/kernelwright/python" + worker, KW_PYTHON_FOLDER + worker, "the package kernelwright",
                                                     "install the program again"));
  return fs::path(found).parent_path().parent_path().string();
}

std::vector<std::string> python_argv(const PythonPlace& place, const std::string& package, std::vector<std::string> arguments) {
  std::vector<std::string> argv = {place.program, "-I", "-B", "-c",
                                   "import sys, runpy; sys.path[:0] = sys.argv.pop(1).split(':'); "
                                   "runpy.run_module('kernelwright', run_name='__main__', alter_sys=True)",
                                   package + ":" + place.packages};
  for (std::string& argument : arguments) argv.push_back(std::move(argument));
  return argv;
}

}  // namespace kw::problem
