// A table of text for terminals: columns as wide as their widest cell, two spaces between, no trailing spaces.
// Widths count UTF-8 code points. Values; not thread-safe.
#pragma once

#include <string>
#include <vector>

namespace kw {

enum class Align { kLeft, kRight };

class TextTable {
 public:
  // Columns without an alignment are left-aligned.
  explicit TextTable(std::vector<std::string> header, std::vector<Align> align = {});

  // Short rows are filled with empty cells; cells beyond the header are kept.
  void add_row(std::vector<std::string> cells);
  void add_rule();  // a line of dashes

  size_t rows() const { return rows_.size(); }
  // Every line starts with `indent` spaces and ends with a line end. An empty header is left out.
  std::string str(size_t indent = 0) const;

 private:
  std::vector<std::string> header_;
  std::vector<Align> align_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

// The number of UTF-8 code points.
size_t display_width(const std::string& text);

}  // namespace kw
