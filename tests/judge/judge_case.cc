#include "judge_case.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "base/file.h"

namespace kw::judge_cases {
namespace {

namespace fs = std::filesystem;

// The head of a folder case is that of its first file.
std::string head_file(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  std::vector<std::string> sources;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    if (entry.path().extension() == ".cu") sources.push_back(entry.path().string());
  }
  return sources.empty() ? path : *std::min_element(sources.begin(), sources.end());
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

}  // namespace

Result<Case> read_case(const std::string& path, const std::string& name) {
  const std::string head = head_file(path);
  KW_TRY(const std::string text, read_file(head, 1 << 20));
  const bool derived = fs::path(head).extension() == ".case";
  Case out;
  out.name = name;
  out.path = path;
  std::istringstream in(text);
  int number = 0;
  std::string last_key;
  const auto wrong = [&](const std::string& what) { return fail(ErrorCode::kInvalid, "{}:{}: {}", head, number, what); };
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!derived) {
      if (line.rfind("//", 0) != 0) break;
      line.erase(0, line.rfind("// ", 0) == 0 ? 3 : 2);
    }
    if (line.empty() || line[0] == '#' || line[0] == ' ') continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) return wrong("expected 'key: value', '# comment' or an indented remark");
    const std::string key = line.substr(0, colon);
    // One blank after the colon belongs to the directive, further ones to the text.
    std::string value = line.substr(colon + 1);
    if (!value.empty() && value[0] == ' ') value.erase(0, 1);
    if (key == "problem") out.problem = value;
    else if (key == "target") out.targets = words(value);
    else if (key == "verdict") out.verdict = value;
    else if (key == "rung") out.rung = value;
    else if (key == "says") out.says.push_back(value);
    else if (key == "base") out.base = value;
    else if (key == "replace") {
      // Several in a row are several lines to be found together.
      if (last_key == "replace") out.edits.back().replace += "\n" + value;
      else out.edits.push_back({value, ""});
    }
    else if (key == "with") {
      if (out.edits.empty()) return wrong("'with' needs a 'replace' before it");
      std::string& with = out.edits.back().with;
      with += (last_key == "with" ? "\n" : "") + value;
    } else if (key == "host-deadline" || key == "kernel-deadline") {
      double& seconds = key[0] == 'h' ? out.host_deadline_s : out.kernel_deadline_s;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), seconds);
      if (parsed.ec != std::errc() || seconds <= 0) return wrong("expected seconds");
    } else {
      return wrong("unknown key '" + key + "'; docs/formats/judge_case.md lists them");
    }
    last_key = key;
  }
  if (out.targets.empty()) out.targets = {"sm_80"};
  if (out.problem.empty() || out.verdict.empty()) return fail(ErrorCode::kInvalid, "{}: a case needs 'problem' and 'verdict'", head);
  if (out.rung.empty() && out.verdict != "correct") return fail(ErrorCode::kInvalid, "{}: a case that fails needs its 'rung'", head);
  if (derived == out.base.empty()) return fail(ErrorCode::kInvalid, "{}: 'base' belongs into .case files, and each needs one", head);
  return out;
}

std::vector<std::pair<std::string, std::string>> find_cases(const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const char* kind : {"right", "wrong", "hostile"}) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fs::path(folder) / kind, ignored)) {
      const std::string extension = entry.path().extension().string();
      if (!entry.is_directory() && extension != ".cu" && extension != ".case") continue;
      out.emplace_back(std::string(kind) + "/" + entry.path().stem().string(), entry.path().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::string> apply(const std::vector<Edit>& edits, std::string text) {
  for (const Edit& edit : edits) {
    const size_t at = text.find(edit.replace);
    if (at == std::string::npos) return fail(ErrorCode::kNotFound, "the base has no '{}'", edit.replace);
    if (text.find(edit.replace, at + 1) != std::string::npos) {
      return fail(ErrorCode::kInvalid, "the base has '{}' more than once: give more of the line", edit.replace);
    }
    text.replace(at, edit.replace.size(), edit.with);
  }
  return text;
}

}  // namespace kw::judge_cases
