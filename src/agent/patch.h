// Line edits of a kernel, as a model answers them:
//
//   {"revision": "3f2a91bc", "edits": [
//     {"action": "replace", "line": 12, "count": 2, "code": ["first new line", "second"]},
//     {"action": "delete", "line": 30},
//     {"action": "insert", "line": 41, "code": "  before line 41"}]}
//
// Lines count from 1 and are those of the kernel as it was shown: edits do not move each other's. "count" is 1 where it is left out; "code" is a text or a
// list of lines. A line past the last may be inserted before: at the end. Applied whole or not at all: what is out of range, overlaps, or was made for another
// revision is refused, with a message that says to the model what to do. The form follows CuTeGen's
// (replace, delete and insert by line, applied from the last on). Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::agent {

struct Edit {
  enum class Action { kReplace, kDelete, kInsert };
  Action action = Action::kReplace;
  size_t line = 0, count = 1;       // count: of lines replaced or deleted
  std::vector<std::string> code;    // without line ends
};

struct Patch {
  std::string revision;             // empty: the model did not say
  std::vector<Edit> edits;
};

inline constexpr size_t kMostEdits = 1000, kMostKernelBytes = 1 << 20;

// The short name of a source, by its contents: eight hexadecimal digits.
std::string revision_of(std::string_view source);
// The source with "  12| " before its lines.
std::string numbered(std::string_view source);

// kInvalid: which edit is wrong, how. Any text. CuTeGen's own names (line_number, new_code, num_lines) and a bare list are understood too.
Result<Patch> patch_from(std::string_view json);
Result<std::string> apply(const Patch& patch, std::string_view source);

}  // namespace kw::agent
