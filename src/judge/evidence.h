// What a verdict was about, so that somebody else can look again: hashes of the problem's text and of the candidate's
// files in every verdict, and on request a store that holds them.
//
// The store is a folder: objects/HASH (file contents, base/objects.h) and verdicts/HASH.json.
// A file is there whole or not at all, so a store survives a kill at any moment, and may be shared by many judges.
// recheck() judges again what a stored verdict names, with its seed, target and options, and tells what differs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "judge/evaluate.h"
#include "judge/stored_verdict.h"
#include "problem/problem.h"

namespace kw::judge {

Result<Evidence> evidence_of(const problem::Problem& problem, const std::string& candidate_path);

// The problem's text and those of the candidate's files: the objects that the verdict's evidence names. What read_file says when
// the candidate is gone; kInvalid when it has changed since it was judged.
Result<std::vector<std::string>> texts_of(const problem::Problem& problem, const Verdict& verdict);

// Stores the verdict and what it was about; the path of the verdict. kIo; as texts_of().
Result<std::string> store(const std::string& folder, const problem::Problem& problem, const Verdict& verdict);
// The same of a verdict's JSON and of all objects that its evidence names.
Result<std::string> store(const std::string& folder, const std::vector<std::string>& texts, std::string_view verdict);

// What a verdict was about, put back below a folder: where problem and candidate are. `find` gives an object by its hash.
struct Restored {
  std::string problem, candidate;
};
using FindObject = std::function<Result<std::string>(const std::string& hash)>;
Result<Restored> restore(const StoredVerdict& stored, const std::string& place, const FindObject& find);

struct Recheck {
  Verdict verdict;                       // the new one
  std::vector<std::string> differences;  // "/outcome/got: 1.5 before, 1.25 now"; empty: the same verdict
};
// `file` is what --json printed or what a store holds. From a store the problem and the candidate are those in it;
// otherwise those at the paths the verdict names, which must not have changed. Errors: no verdict of this version
// (kInvalid, kUnsupported), changed or missing files, as evaluate().
Result<Recheck> recheck(const std::string& file, const Progress& progress = {});

}  // namespace kw::judge
