// A verdict as `kw judge --json` printed it, read again: what judging anew needs, and what two verdicts differ in.
// Any bytes are a verdict or an error (kInvalid) that names the file and the key. Values; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "judge/verdict.h"

namespace kw::judge {

struct StoredVerdict {
  std::string problem_file, candidate;  // paths, as they were given to the judge
  Evidence evidence;                    // each hash is 32 hexadecimal digits, each path stays below its folder
  Options options;                      // with target and seed
};

Result<StoredVerdict> read_verdict(std::string_view text, const std::string& file);

// All of a verdict that no rung has decided: correct, or not checked with a GPU's rungs to come. to_json() of it is `text`.
Result<Verdict> read_undecided(std::string_view text, const std::string& file);

// "/outcome/got: 1.5 before, 1.25 now" for everything that both of one candidate must agree on: all but times, paths,
// remarks about the machine, what a crashed program printed (addresses) and what was found within a budget of seconds.
// Both must be verdicts (read_verdict).
std::vector<std::string> differences(std::string_view before, std::string_view after);

}  // namespace kw::judge
