// A suite as people and CI systems read it.
#include <algorithm>

#include "base/source_text.h"
#include "judge/suite.h"

namespace kw::judge {
namespace {

// Text of an XML 1.0 document.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : printable_text(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&apos;"; break;
      default: out += c;
    }
  }
  return out;
}

// A table's cell: no line breaks, and no bar that would end it.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : printable_text(text)) {
    if (c == '|') out += "\\|";
    else if (c == '\n') out += "<br>";
    else if (c == '<') out += "&lt;";
    else out += c;
  }
  return out;
}

std::string reasons(const SuiteCase& c, std::string_view between) { return fmt::format("{}", fmt::join(c.why, between)); }

}  // namespace

std::string line_of(const SuiteCase& c) {
  std::string out = fmt::format("{:<13}{:<44} {:<6} {:<28} {:>6.1f} s\n", c.as_expected() ? "as expected" : "NOT EXPECTED", c.name,
                                c.target, c.got, c.seconds);
  if (c.as_expected()) return printable_text(out);
  out += fmt::format("  should be {}\n", c.expected);
  for (const std::string& why : c.why) out += "  " + why + (why.ends_with('\n') ? "" : "\n");
  if (c.seed != 0) out += fmt::format("  repeat with --seed {}\n", c.seed);
  return printable_text(out);   // names and expectations come from files
}

std::string closing_line(const Suite& suite) { return fmt::format("{} of {} as expected", suite.as_expected(), suite.cases.size()); }

std::string junit_xml(const Suite& suite) {
  const size_t errors = static_cast<size_t>(std::count_if(suite.cases.begin(), suite.cases.end(), [](const SuiteCase& c) { return c.got == "error"; }));
  const size_t failures = suite.cases.size() - suite.as_expected() - errors;
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\" time=\"{:.3f}\">\n",
      xml(suite.folder), suite.cases.size(), failures, errors, suite.seconds);
  for (const SuiteCase& c : suite.cases) {
    out += fmt::format("<testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"", xml(c.target), xml(c.name), c.seconds);
    if (c.as_expected()) {
      out += "/>\n";
      continue;
    }
    const char* kind = c.got == "error" ? "error" : "failure";
    out += fmt::format("><{} message=\"{}\" type=\"{}\">{}\n{}</{}></testcase>\n", kind, xml(fmt::format("should be {}, is {}", c.expected, c.got)),
                       xml(c.got), xml(reasons(c, "\n")), xml(c.page), kind);
  }
  return out + "</testsuite>\n</testsuites>\n";
}

std::string markdown_summary(const Suite& suite) {
  std::string out = fmt::format("### {}: {}\n\n{:.0f} s\n", suite.folder, closing_line(suite), suite.seconds);
  if (suite.as_expected() == suite.cases.size()) return out;
  out += "\n| candidate | target | should be | is | why |\n|---|---|---|---|---|\n";
  for (const SuiteCase& c : suite.cases) {
    if (c.as_expected()) continue;
    out += fmt::format("| {} | {} | {} | {} | {} |\n", cell(c.name), cell(c.target), cell(c.expected), cell(c.got), cell(reasons(c, "\n")));
  }
  for (const SuiteCase& c : suite.cases) {
    if (c.as_expected() || c.page.empty()) continue;
    // A fence longer than any in the page.
    std::string fence = "```";
    while (c.page.find(fence) != std::string::npos) fence += '`';
    out += fmt::format("\n<details><summary>{} ({})</summary>\n\n{}\n{}{}\n\n</details>\n", c.name, c.target, fence, printable_text(c.page), fence);
  }
  return out;
}

}  // namespace kw::judge
