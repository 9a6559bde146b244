// A fixture: a candidate, whole or as an edit of another, and the verdict it must get (docs/formats/fixture.md).
// A suite is a folder of them. Errors: a file that is no fixture, with its line and what was expected there; a
// problem or candidate that is not there. Values; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/keyed_text.h"
#include "base/result.h"
#include "judge/verdict.h"

namespace kw::judge {

struct Fixture {
  std::string name;                  // "wrong/last_element": the path below the suite's folder, without extension
  std::string file;                  // where it is written
  std::string problem;               // path of the problem file
  std::string candidate;             // path of the candidate; with edits, of the file that they change
  std::vector<TextEdit> edits;
  std::vector<std::string> targets;  // judged for each
  std::string verdict;
  std::vector<std::string> rungs;    // one of which must decide; none for correct
  std::string on_gpu;                // the verdict where rung full runs on a GPU, and decides; empty: the same as elsewhere
  std::vector<std::string> says;     // regular expressions, each found on the page
  double host_deadline_s = 0, record_deadline_s = 0, kernel_deadline_s = 0;  // 0: the judge's own
};

// The fixture that `text` says, without a name; `file` is where it is written, a .cu file (keys in its head comment) or a .case file.
Result<Fixture> read_fixture(std::string_view text, const std::string& file);

// That `says` of a fixture may be this: a regular expression of bounded size.
Status check_pattern(const std::string& pattern);

// All fixtures in `folder` and below, by name. Problem files there stand for their candidates, which must be correct.
Result<std::vector<Fixture>> find_fixtures(const std::string& folder);

// The path of what is to be judged: the candidate, or, with edits, the edited text as a file in `folder`.
Result<std::string> materialise(const Fixture& fixture, const std::string& folder);

// What a verdict and its page lack of what the fixture expects, one sentence each; empty: as expected.
std::vector<std::string> mismatches(const Fixture& fixture, const Verdict& verdict, const std::string& page);

}  // namespace kw::judge
