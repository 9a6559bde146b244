// What came of importing many files: a row each, and the counts.
#include <algorithm>
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "command/import.h"

namespace kw::command {
namespace {

constexpr double kSame = 1e-9;  // relative: both sides are fp64

int total(const std::map<std::string, int>& counts) {
  int sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

std::string names(const std::map<std::string, int>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(count == 1 ? name : fmt::format("{}×{}", name, count));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::vector<std::string> row_of(const Import& import) {
  if (import.text.empty()) return {import.name.empty() ? import.file : import.name, "no", "", "", "", "", import.reason};
  std::string compared = import.difference ? fmt::format("{:.1e}", *import.difference) : "—";
  if (import.difference && *import.difference > kSame) compared += " DIFFERS";
  std::vector<std::string> remarks;
  if (!import.difference) remarks.push_back("not compared: " + import.not_compared);
  if (!import.admission.empty() && import.admitted != true) remarks.push_back(import.admission);
  if (!import.emulator) remarks.emplace_back("too large for the emulator");
  if (!import.unused.empty()) remarks.push_back(fmt::format("unused: {}", import.unused.size()));
  if (!import.fixed.empty()) remarks.push_back("sizes fixed: " + import.fixed);
  return {import.name,
          "yes",
          fmt::format("{}", total(import.native)),
          names(import.opaque),
          compared,
          import.admitted ? (*import.admitted ? "sound" : "NOT SOUND") : "—",
          fmt::format("{}", fmt::join(remarks, "; "))};
}

const std::vector<std::string> kHeader = {"problem", "imported", "operators", "opaque", "difference", "admission", "remarks"};

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string row;
  for (const std::string& cell : cells) {
    row.append("| ");
    for (const char c : cell) {
      if (c == '|') row.push_back('\\');
      row.push_back(c);
    }
    row.push_back(' ');
  }
  row.append("|\n");
  return row;
}

}  // namespace

std::string import_report(const std::vector<Import>& imports, bool markdown) {
  const auto count = [&](auto&& holds) { return std::count_if(imports.begin(), imports.end(), holds); };
  const auto imported = count([](const Import& i) { return !i.text.empty(); });
  const auto native = count([](const Import& i) { return !i.text.empty() && i.opaque.empty(); });
  const auto compared = count([](const Import& i) { return i.difference.has_value(); });
  const auto same = count([](const Import& i) { return i.difference && *i.difference <= kSame; });
  const auto asked = count([](const Import& i) { return i.admitted.has_value(); });
  const auto sound = count([](const Import& i) { return i.admitted == true; });
  std::string text = fmt::format("{} of {} imported, {} without opaque operators. {} compared with PyTorch in fp64, {} within {:.0e}.",
                                 imported, imports.size(), native, compared, same, kSame);
  if (asked > 0) text += fmt::format(" {} asked for admission, {} sound.", asked, sound);
  text += '\n';
  if (markdown) {
    text.push_back('\n');
    text += markdown_row(kHeader);
    text += markdown_row(std::vector<std::string>(kHeader.size(), "---"));
    for (const Import& import : imports) text += markdown_row(row_of(import));
    return text;
  }
  TextTable table(kHeader, {Align::kLeft, Align::kLeft, Align::kRight});
  for (const Import& import : imports) table.add_row(row_of(import));
  return table.str() + text;
}

}  // namespace kw::command
