#include "agent/patch.h"

#include <algorithm>
#include <limits>

#include "base/hash.h"
#include "base/json_fields.h"

namespace kw::agent {
namespace {

using Json = nlohmann::json;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.emplace_back(line);
  }
  return out;
}

const Json* member(const Json& json, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto at = json.find(name); at != json.end()) return &*at;
  return nullptr;
}

Result<size_t> count_of(const Json* json, size_t number, const char* name, size_t otherwise) {
  if (json == nullptr && otherwise != 0) return otherwise;
  if (json == nullptr || !json->is_number_unsigned() || json->get<uint64_t>() == 0 || json->get<uint64_t>() > std::numeric_limits<int32_t>::max())
    return fail(ErrorCode::kInvalid, "edit {}: \"{}\" is to be a number from 1 on", number, name);
  return json->get<size_t>();
}

Result<std::vector<std::string>> code_of(const Json* json, size_t number) {
  std::vector<std::string> out;
  const auto add = [&](const Json& each) {
    if (!each.is_string()) return false;
    const auto& text = each.get_ref<const std::string&>();
    const std::vector<std::string> lines = lines_of(text);
    if (lines.empty()) out.emplace_back();   // an empty line
    out.insert(out.end(), lines.begin(), lines.end());
    return true;
  };
  bool sound = json != nullptr;
  if (sound && json->is_array()) {
    for (const Json& each : *json) sound = sound && add(each);
  } else if (sound) {
    sound = add(*json);
  }
  if (!sound || out.empty()) return fail(ErrorCode::kInvalid, "edit {}: \"code\" is to be a text, or a list of lines", number);
  return out;
}

Result<Edit> edit_from(const Json& json, size_t number) {
  if (!json.is_object()) return fail(ErrorCode::kInvalid, "edit {} is no object", number);
  Edit out;
  const Json* action = member(json, {"action"});
  const std::string word = action != nullptr && action->is_string() ? action->get<std::string>() : "";
  if (word == "replace") out.action = Edit::Action::kReplace;
  else if (word == "delete") out.action = Edit::Action::kDelete;
  else if (word == "insert") out.action = Edit::Action::kInsert;
  else return fail(ErrorCode::kInvalid, "edit {}: \"action\" is to be \"replace\", \"delete\" or \"insert\"", number);
  KW_TRY(out.line, count_of(member(json, {"line", "line_number"}), number, "line", 0));
  if (out.action != Edit::Action::kInsert) {
    KW_TRY(out.count, count_of(member(json, {"count", "num_lines"}), number, "count", 1));
  }
  if (out.action != Edit::Action::kDelete) {
    KW_TRY(out.code, code_of(member(json, {"code", "new_code"}), number));
  }
  return out;
}

}  // namespace

std::string revision_of(std::string_view source) { return hash_hex(source).substr(0, 8); }

std::string numbered(std::string_view source) {
  std::string out;
  size_t number = 0;
  for (const std::string& line : lines_of(source)) out += fmt::format("{:>4}| {}\n", ++number, line);
  return out;
}

Result<Patch> patch_from(std::string_view text) {
  const Json json = parse_json(text);
  if (json.is_discarded()) return fail(ErrorCode::kInvalid, "the edits are no JSON: see to quotes, commas and escapes (a newline in a text is \\n)");
  Patch out;
  const Json* list = &json;
  if (json.is_object()) {
    if (const Json* revision = member(json, {"revision"}); revision != nullptr && revision->is_string()) out.revision = revision->get<std::string>();
    list = member(json, {"edits"});
  }
  if (list == nullptr || !list->is_array() || list->empty())
    return fail(ErrorCode::kInvalid, "there are no edits: answer {{\"revision\": \"…\", \"edits\": [ … ]}} with one edit or more");
  if (list->size() > kMostEdits) return fail(ErrorCode::kInvalid, "there are {} edits, and {} are the most: write the kernel anew", list->size(), kMostEdits);
  for (const Json& each : *list) {
    KW_TRY(Edit edit, edit_from(each, out.edits.size() + 1));
    out.edits.push_back(std::move(edit));
  }
  return out;
}

Result<std::string> apply(const Patch& patch, std::string_view source) {
  const std::string revision = revision_of(source);
  if (!patch.revision.empty() && patch.revision != revision)
    return fail(ErrorCode::kInvalid, "the edits are for revision {}, and the kernel is at {}: its lines have changed; make them for the kernel as it is shown now", patch.revision, revision);
  const std::vector<std::string> lines = lines_of(source);
  std::vector<size_t> taken(lines.size() + 2, 0);                   // the edit, from 1, that takes a line away
  std::vector<std::vector<size_t>> inserts(lines.size() + 2);       // those before a line
  for (size_t i = 0; i < patch.edits.size(); ++i) {
    const Edit& edit = patch.edits[i];
    const bool is_insert = edit.action == Edit::Action::kInsert;
    const size_t last = is_insert ? edit.line : edit.line + edit.count - 1;
    if (edit.line == 0 || last > lines.size() + (is_insert ? 1 : 0)) return fail(ErrorCode::kInvalid, "edit {} reaches line {}, and the kernel has {}", i + 1, last, lines.size());
    if (is_insert) inserts[edit.line].push_back(i);
    for (size_t line = edit.line; !is_insert && line <= last; ++line) {
      if (taken[line] != 0) return fail(ErrorCode::kInvalid, "edits {} and {} overlap at line {}: make one of them", taken[line], i + 1, line);
      taken[line] = i + 1;
    }
  }
  std::string out;
  const auto add = [&out](const std::vector<std::string>& code) {
    for (const std::string& line : code) out += line + "\n";
  };
  for (size_t line = 1; line <= lines.size() + 1; ++line) {
    // Between two lines that one edit takes away an insertion would land in code that is gone.
    if (!inserts[line].empty() && taken[line] != 0 && taken[line] == taken[line - 1])
      return fail(ErrorCode::kInvalid, "edit {} inserts at line {}, which edit {} takes away: put the lines into that one", inserts[line].front() + 1, line, taken[line]);
    for (const size_t each : inserts[line]) add(patch.edits[each].code);
    if (line > lines.size()) break;
    if (taken[line] == 0) out += lines[line - 1] + "\n";
    else if (taken[line] != taken[line - 1]) add(patch.edits[taken[line] - 1].code);
    if (out.size() > kMostKernelBytes) break;
  }
  if (out.size() > kMostKernelBytes) return fail(ErrorCode::kLimit, "the kernel would have more than {} bytes", kMostKernelBytes);
  return out;
}

}  // namespace kw::agent
