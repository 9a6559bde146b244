// Text of `key: value` lines that says what another text is about or how it is to be edited: the head comment of a source
// file, or a file of its own. Remarks begin with '#' or a blank. Pure but for find_above; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

struct KeyedLine {
  int line = 0;                      // from 1
  std::string key, value;            // one blank after the colon belongs to the key, further ones to the value
};

// Of a .cu or .py file the keys stand in its head comment, which ends at the first line that is not a `//` or `#` comment.
// Errors: a line that is neither; `remedy` goes with them.
Result<std::vector<KeyedLine>> keyed_lines(std::string_view text, const std::string& file, const std::string& remedy);

struct TextEdit {
  std::string replace, with;         // `replace` occurs exactly once in the text
};
// Takes lines of the keys "replace" and "with": several of one key in a row are several lines of text.
// False: a "with" without a "replace" before it.
bool add_edit(std::vector<TextEdit>& edits, const KeyedLine& line, std::string_view last_key);
// `what` names the text in errors, `file` is where the edits are written.
Result<std::string> edited(std::string text, const std::vector<TextEdit>& edits, const std::string& what, const std::string& file);

// The path of `named` as seen from the folder of `file`, or from one above it: so files name each other by their path in
// the tree that holds both, wherever the command is given. kNotFound, at `line` of `file`.
Result<std::string> find_above(const std::string& file, int line, const std::string& named);

}  // namespace kw
