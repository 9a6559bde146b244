// Findings as a person reads them: the author's own line first, where that was inlined, who the parties were, what
// to do. One text for every command and for programs that run on the emulator. Pure but for the reader's functions.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/finding.h"

namespace kw::emu {

// What the text is for.
struct Reader {
  std::string indent;
  size_t columns = 100;
  // Whether a source file is the reader's own code rather than a library's. Unset: files at or below the folder of
  // the kernel itself, which is where the outermost call stands.
  std::function<bool(const std::string& file)> is_own;
  // The text of one of the reader's own files, for excerpts; empty when it cannot be had.
  std::function<std::string(const std::string& file)> source;
  // What the object of a finding is to the reader; unset or empty: its name and the offset in bytes.
  std::function<std::string(const Finding&)> object;
};

// "kernelwright/mma.cuh" for a header behind an include folder, else the path.
std::string readable_file(std::string_view file);

// The innermost place of a party in the reader's own code; without one the innermost place that has a line; line 0
// when nothing is known.
SourcePlace place_of(const Party& party, const Reader& reader);

// Findings of one kind in one kernel whose places (place_of, of both parties, in any order) are the same. In the
// order of their first members, which are the ones to read.
struct FindingGroup {
  std::vector<const Finding*> findings;   // at least one; they point into what was grouped
  uint64_t count = 0;                     // occurrences, of all
};
std::vector<FindingGroup> group(const std::vector<Finding>& findings, const Reader& reader);

std::string text_of(const FindingGroup& group, const Reader& reader);

// What to do about findings of a kind; empty when there is nothing to say.
std::string_view remedy_of(Finding::Kind kind);

}  // namespace kw::emu
