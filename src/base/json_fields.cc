#include "base/json_fields.h"

#include <cmath>

#include "base/hash.h"

namespace kw {

using Json = nlohmann::json;

constexpr int kDeepest = 64;

namespace {

// By brackets outside of strings. The library could tell while it parses, in time that grows with the square of a list's length.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool inside = false;   // of a string
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside) {
      if (c == '\\') ++i;
      else if (c == '"') inside = false;
    } else if (c == '"') {
      inside = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Json parse_json(std::string_view text) {
  // At a zero byte the text would end for the JSON library.
  if (text.find('\0') != std::string_view::npos || too_deep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

Json json_real(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return number;
}

Status JsonFields::complaint(std::string_view what, const std::string& file) const {
  if (wrong_.empty()) return {};
  return fail(Error{ErrorCode::kInvalid, fmt::format("'{}' is missing from {} or not what it should be", wrong_, what), Span{file, 0, 0, 0}, {}, {}});
}

const Json& JsonFields::member(const Json& json, const char* name) {
  static const Json kNone;
  const auto it = json.is_object() ? json.find(name) : json.end();
  if (json.is_object() && it != json.end()) return *it;
  complain(name);
  return kNone;
}

const Json& JsonFields::list(const Json& json, const char* name) {
  static const Json kEmpty = Json::array();
  const Json& value = member(json, name);
  if (value.is_array()) return value;
  complain(name);
  return kEmpty;
}

std::string JsonFields::words(const Json& json, const char* name) {
  const Json& value = member(json, name);
  if (value.is_string()) return value.get<std::string>();
  complain(name);
  return "";
}

std::string JsonFields::text(const Json& json, const char* name) {
  const std::string text = words(json, name);
  if (text.empty() || text.find('\0') != std::string::npos) complain(name);
  return text;
}

std::string JsonFields::hash(const Json& json, const char* name) {
  const std::string text = words(json, name);
  if (is_hash(text)) return text;
  complain(name);
  return "";
}

std::vector<std::string> JsonFields::texts(const Json& json, const char* name) {
  std::vector<std::string> out;
  for (const Json& each : list(json, name)) {
    if (!each.is_string()) complain(name);
    else out.push_back(each.get<std::string>());
  }
  return out;
}

double JsonFields::real(const Json& json, const char* name) {
  const Json& value = member(json, name);
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return NAN;
  if (value == "inf") return HUGE_VAL;
  if (value == "-inf") return -HUGE_VAL;
  complain(name);
  return 0;
}

bool JsonFields::flag(const Json& json, const char* name) {
  const Json& value = member(json, name);
  if (value.is_boolean()) return value.get<bool>();
  complain(name);
  return false;
}

}  // namespace kw
