#include "base/keyed_text.h"

#include <filesystem>
#include <sstream>

namespace kw {

Result<std::vector<KeyedLine>> keyed_lines(std::string_view text, const std::string& file, const std::string& remedy) {
  const std::string_view comment = file.ends_with(".cu") ? "//" : file.ends_with(".py") ? "#" : "";
  std::vector<KeyedLine> out;
  std::istringstream in{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!comment.empty()) {
      if (!line.starts_with(comment)) break;
      line.erase(0, comment.size() + (line.substr(comment.size(), 1) == " " ? 1 : 0));
    }
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line[0] == '#' || line[0] == ' ') continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) {
      return fail(Error{ErrorCode::kInvalid, "expected 'key: value', '# remark' or an indented remark", Span{file, number, 0, 0}, {}, {remedy}});
    }
    std::string value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.erase(0, 1);
    out.push_back({number, line.substr(0, colon), std::move(value)});
  }
  return out;
}

bool add_edit(std::vector<TextEdit>& edits, const KeyedLine& line, std::string_view last_key) {
  if (line.key == "replace") {
    if (last_key == "replace") edits.back().replace += "\n" + line.value;
    else edits.push_back({line.value, ""});
    return true;
  }
  if (edits.empty()) return false;
  edits.back().with += (last_key == "with" ? "\n" : "") + line.value;
  return true;
}

Result<std::string> edited(std::string text, const std::vector<TextEdit>& edits, const std::string& what, const std::string& file) {
  for (const TextEdit& edit : edits) {
    const size_t at = text.find(edit.replace);
    const auto wrong = [&](std::string_view how) {
      return fail(Error{ErrorCode::kInvalid, fmt::format("{} {} '{}'", what, how, edit.replace), Span{file, 0, 0, 0}, {}, {}});
    };
    if (edit.replace.empty() || at == std::string::npos) return wrong("has no");
    if (text.find(edit.replace, at + 1) != std::string::npos) return wrong("has more than once:");
    text.replace(at, edit.replace.size(), edit.with);
  }
  return text;
}

Result<std::string> find_above(const std::string& file, int line, const std::string& named) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::path folder = fs::absolute(file, error).parent_path();; folder = folder.parent_path()) {
    fs::path path = (folder / named).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();   // "folder/"
    if (!named.empty() && fs::exists(path, error)) return path.string();
    if (folder == folder.parent_path()) break;
  }
  return fail(Error{ErrorCode::kNotFound, fmt::format("there is no '{}' in the folder of this file or above", named), Span{file, line, 0, 0}, {}, {}});
}

}  // namespace kw
