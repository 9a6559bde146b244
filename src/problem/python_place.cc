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

constexpr const char* kInstall =
    "install it: python3 -m venv .venv && .venv/bin/pip install torch, or name a Python that has it in KW_PYTHON";

// Six lines; the packages' folder is empty where there is no torch. Finding torch does not import it.
constexpr const char* kProbe = R"(
import importlib.metadata, importlib.util, os, sys
torch = importlib.util.find_spec("torch")
packages = os.path.dirname(os.path.dirname(torch.origin)) if torch and torch.origin else ""
try: version = importlib.metadata.version("torch") if packages else ""
except importlib.metadata.PackageNotFoundError: version = "of unknown version"
print(os.path.abspath(sys.executable), sys.version.split()[0], sys.prefix, sys.base_prefix, packages, version, sep="\n")
)";

Result<PythonPlace> probe(const std::string& program) {
  Command command;
  command.argv = {program, "-c", kProbe};
  command.cwd = std::string("/");  // where a person stands may hold a torch.py
  command.wall_seconds = 60;
  KW_TRY(const ProcessOutcome outcome, run_process(command));
  if (!outcome.succeeded()) return fail(ErrorCode::kNotFound, "{} does not run: {}", program, describe(outcome));
  std::vector<std::string> lines;
  for (int i = 1; i <= 6; ++i) lines.emplace_back(line_of(outcome.out, i));
  PythonPlace place{lines[0], lines[1], lines[5], lines[4], {}};
  if (place.packages.empty()) return fail(ErrorCode::kNotFound, "{} (Python {}) has no torch", program, printable_text(place.version));
  for (const std::string& folder : {lines[2], lines[3], lines[4]})
    if (folder.starts_with('/') && folder != "/") place.installation.push_back(folder);
  return place;
}

}  // namespace

Result<PythonPlace> find_python() {
  std::vector<std::string> programs;
  if (const char* stated = std::getenv("KW_PYTHON"); stated != nullptr && *stated != '\0') {
    programs = {stated};
  } else {
    std::error_code ignored;
    for (const std::string& folder : folders_above())
      if (const fs::path program = fs::path(folder) / ".venv/bin/python"; fs::exists(program, ignored)) programs.push_back(program.string());
    programs.emplace_back("python3");
  }
  Error error{ErrorCode::kNotFound, "no Python with torch, which evaluates functions of section python and computes with PyTorch", {}, {}, {}};
  for (const std::string& program : programs) {
    auto place = probe(program);
    if (place) return place;
    error.notes.push_back(place.error().message);
  }
  error.notes.emplace_back(kInstall);
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
