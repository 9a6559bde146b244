// What came of importing many files: a row each, and the counts.
#include <algorithm>
#include <filesystem>
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
  if (!import.admission.empty() && import.admitted != true) remarks.push_back((import.admitted ? "" : "not asked: ") + import.admission);
  if (import.rejected_by.size() > 1)
    remarks.push_back(fmt::format("also {}", fmt::join(import.rejected_by.begin() + 1, import.rejected_by.end(), ", ")));
  remarks.insert(remarks.end(), import.untried.begin(), import.untried.end());
  if (!import.emulator) remarks.emplace_back("too large for the emulator");
  if (!import.unused.empty()) remarks.push_back(fmt::format("unused: {}", import.unused.size()));
  if (!import.fixed.empty()) remarks.push_back("sizes fixed: " + import.fixed);
  return {import.name,
          "yes",
          fmt::format("{}", total(import.native)),
          names(import.opaque),
          compared,
          import.admitted ? (*import.admitted ? "admitted" : "rejected") : "—",
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

// "level1: 100 of 100 imported, …".
std::string counts_of(const std::string& folder, const std::vector<Import>& imports) {
  const auto count = [&](auto&& holds) { return std::count_if(imports.begin(), imports.end(), holds); };
  const auto imported = count([](const Import& i) { return !i.text.empty(); });
  const auto native = count([](const Import& i) { return !i.text.empty() && i.opaque.empty(); });
  const auto compared = count([](const Import& i) { return i.difference.has_value(); });
  const auto same = count([](const Import& i) { return i.difference && *i.difference <= kSame; });
  const auto admitted = count([](const Import& i) { return i.admitted == true; });
  const auto rejected = count([](const Import& i) { return i.admitted == false; });
  const auto unanswered = count([](const Import& i) { return !i.admitted && !i.admission.empty(); });
  std::string text = fmt::format("{}: {} of {} imported, {} all native, {} with opaque operators; {} compared with PyTorch in fp64, {} within {:.0e}",
                                 folder, imported, imports.size(), native, imported - native, compared, same, kSame);
  if (admitted + rejected + unanswered == 0) return text + "\n";
  text += fmt::format("; {} admitted, {} not asked, {} rejected", admitted, unanswered, rejected);
  std::map<std::string, int> first;   // by the first case that says so
  for (const Import& import : imports)
    if (!import.rejected_by.empty()) ++first[import.rejected_by.front()];
  std::vector<std::string> parts;
  for (const auto& [name, times] : first) parts.push_back(fmt::format("{}: {}", name, times));
  if (!parts.empty()) text += fmt::format(" ({})", fmt::join(parts, ", "));
  return text + "\n";
}

}  // namespace

std::string import_report(const std::vector<Import>& imports, bool markdown) {
  std::vector<std::pair<std::string, std::vector<Import>>> folders;
  for (const Import& import : imports) {
    const std::string folder = std::filesystem::absolute(import.file).parent_path().filename().string();
    if (folders.empty() || folders.back().first != folder) folders.push_back({folder, {}});
    folders.back().second.push_back(import);
  }
  std::vector<std::string> lines;
  for (const auto& [folder, its] : folders) lines.push_back(counts_of(folder, its));
  if (folders.size() > 1) lines.push_back(counts_of("all", imports));
  std::string text = fmt::format("{}", fmt::join(lines, markdown ? "\n" : ""));
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
