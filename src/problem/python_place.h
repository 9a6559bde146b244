// Where Python with a package that we need (torch, triton) is, and our package that is run in it. Nothing here runs code of a
// problem. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace kw::problem {

struct PythonPlace {
  std::string program;   // the interpreter itself, behind any shim
  std::string version;   // "3.11.4"
  std::string found;     // version of the package that was sought
  std::string packages;  // the folder that holds it
  std::vector<std::string> installation;  // the folders that it reads when it runs
};

// KW_PYTHON when it is set; else the first that has the package of: .venv in the current folder, in the program's, in those above
// them; python3 on PATH. Error kNotFound: what was tried and what to type.
Result<PythonPlace> find_python(const std::string& package = "torch");

// The folder that holds our package kernelwright (worker.py, the importers): of the installation (share/kernelwright beside the
// program's folder) or of the source tree.
Result<std::string> find_python_package();

// What starts `python -m kernelwright ARGUMENTS` of that package, with nothing of the user's in the way.
std::vector<std::string> python_argv(const PythonPlace& place, const std::string& package, std::vector<std::string> arguments);

}  // namespace kw::problem
