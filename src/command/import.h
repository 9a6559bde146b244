// Problems from PyTorch code, which nobody trusts: python/kernelwright runs in the jail, one process for each file, with
// Python's own folders to read and nothing of the machine but an empty folder to write. Internal to command.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "problem/python_place.h"

namespace kw::command {

// For one file.
struct ImportLimits {
  double wall_seconds = 300;
  uint64_t memory_bytes = uint64_t{8} << 30;
  double admission_seconds = 600;
  int threads = 0;  // of the reference; 0: all cores
};

// One file of Python, and what came of it.
struct Import {
  std::string file;          // as asked for
  std::string name;          // of the problem
  std::string text;          // of the problem file; empty: it is none, for `reason`
  std::string reason;
  std::map<std::string, int> native, opaque;   // operators and how often
  std::vector<std::string> unused;             // parameters and inputs that no output needs
  std::vector<std::string> approximate;        // inputs whose values are like PyTorch's, not drawn the same way
  std::string fixed;         // why sizes are not axes; empty where they are
  int axes = 0, inputs = 0;
  bool emulator = false;     // has a workload small enough for the emulator

  // The module's own answer at one workload, compared with the reference's: the largest relative difference.
  std::optional<double> difference;
  std::string not_compared;  // why there is none
  // kw problem admit.
  std::optional<bool> admitted;
  std::string admission;     // the workload; or what passed that should not have, or why nobody could tell
  std::vector<std::string> rejected_by;  // the names of those cases
  std::vector<std::string> untried;      // what admission left out
};

// `place`: FILE.py, or FILE.py:CLASS for kind module. Errors are of the machine (no jail, no room for a folder); a file that
// cannot be read and what the Python code does wrong are in the Import.
Result<Import> import_file(const problem::PythonPlace& python, const std::string& kind, const std::string& place,
                           const ImportLimits& limits);

// Asks kw problem admit of an imported problem, where a workload is small enough.
void admit_import(Import& import, const ImportLimits& limits);

// The table of all of them, and a line of counts for each folder that the files came from; as Markdown or for a terminal.
std::string import_report(const std::vector<Import>& imports, bool markdown);

}  // namespace kw::command
