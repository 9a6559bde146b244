#include "base/text_table.h"

#include <algorithm>

namespace kw {

size_t display_width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

TextTable::TextTable(std::vector<std::string> header, std::vector<Align> align)
    : header_(std::move(header)), align_(std::move(align)) {}

void TextTable::add_row(std::vector<std::string> cells) {
  if (cells.empty()) cells.emplace_back();
  rows_.push_back(std::move(cells));
}

void TextTable::add_rule() { rows_.emplace_back(); }

std::string TextTable::str(size_t indent) const {
  std::vector<size_t> widths;
  const auto measure = [&widths](const std::vector<std::string>& cells) {
    if (cells.size() > widths.size()) widths.resize(cells.size());
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], display_width(cells[i]));
  };
  measure(header_);
  for (const auto& row : rows_) measure(row);
  size_t total = 0;
  for (const size_t width : widths) total += width;
  if (!widths.empty()) total += 2 * (widths.size() - 1);

  std::string text;
  const auto rule = [&] { text += std::string(indent, ' ') + std::string(total, '-') + "\n"; };
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out(indent, ' ');
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += "  ";
      const std::string padding(widths[i] - display_width(cells[i]), ' ');
      const bool right = i < align_.size() && align_[i] == Align::kRight;
      out += right ? padding + cells[i] : cells[i] + padding;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  };
  if (!header_.empty()) {
    line(header_);
    rule();
  }
  for (const auto& row : rows_) {
    if (row.empty()) {
      rule();
    } else {
      line(row);
    }
  }
  return text;
}

}  // namespace kw
