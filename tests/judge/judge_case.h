// A case of tests/judge: a candidate, whole or as an edit of one of our kernels, and the verdict it must get
// (docs/formats/judge_case.md). Errors: a file that is not a case, with its line and what was expected there.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace kw::judge_cases {

struct Edit {
  std::string replace, with;  // `replace` occurs exactly once in the base
};

struct Case {
  std::string name;                  // "wrong/last_element"
  std::string path;                  // of the case: a .cu or .case file, or a folder of .cu files
  std::string problem;               // relative to the source tree, as is `base`
  std::vector<std::string> targets;  // judged for each
  std::string verdict, rung;         // rung: empty for correct and not needed otherwise
  std::vector<std::string> says;     // regular expressions, each found on the page
  std::string base;                  // empty: the case is the candidate
  std::vector<Edit> edits;
  double host_deadline_s = 0, kernel_deadline_s = 0;  // 0: the judge's own
};

Result<Case> read_case(const std::string& path, const std::string& name);
// All cases below `folder`, by name.
std::vector<std::pair<std::string, std::string>> find_cases(const std::string& folder);  // name, path
Result<std::string> apply(const std::vector<Edit>& edits, std::string text);

}  // namespace kw::judge_cases
