#include "judge/stored_verdict.h"

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

namespace kw::judge {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;   // not ordered_json, which looks for every key among all before it

// Verdicts are shallow; JSON is compared and printed by recursion, which deeper text would drive off the stack.
constexpr int kDeepest = 64;

Json parsed(std::string_view text) {
  bool too_deep = false;
  const Json json = Json::parse(text, [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kDeepest;
    return !too_deep;
  }, false);
  return too_deep ? Json(Json::value_t::discarded) : json;
}

// A hash as a name of a file in the store: nothing else reaches a path.
bool is_hash(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// A path that stays below the folder it is put in.
bool is_inside(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return !normal.empty() && !normal.is_absolute() && *normal.begin() != ".." && *normal.begin() != "." && normal.has_filename();
}

class Reader {
 public:
  Reader(const Json& root, const std::string& file) : root_(root), file_(file) {}

  Result<StoredVerdict> read() {
    if (!root_.is_object() || text(root_, "schema") != kVerdictSchema) {
      return fail(Error{ErrorCode::kInvalid, fmt::format("this is no verdict of schema {}", kVerdictSchema), Span{file_, 0, 0, 0}, {},
                        {"give what `kw judge --json` printed, or a file of a store's verdicts/"}});
    }
    StoredVerdict out;
    out.problem_file = text(root_, "problem_file");
    out.candidate = text(root_, "candidate");
    out.options.target = text(root_, "target");
    out.options.seed = number<uint64_t>(root_, "seed", 0);
    const Json& options = member(root_, "options");
    out.options.judge_shapes = number<int>(options, "judge_shapes", -1);
    out.options.value_changes = number<int>(options, "value_changes", -1);
    out.options.schedules = number<int>(options, "schedules", -1);
    out.options.kernel_deadline_s = number<double>(options, "kernel_deadline_s", -1);
    out.options.host_deadline_s = number<double>(options, "host_deadline_s", -1);
    // Verdicts of earlier versions lack it.
    if (options.is_object() && options.contains("record_deadline_s")) {
      out.options.record_deadline_s = number<double>(options, "record_deadline_s", -1);
    }
    const Json& evidence = member(root_, "evidence");
    out.evidence.problem = text(evidence, "problem");
    const Json& sources = member(evidence, "sources");
    if (!sources.is_array() || sources.empty()) complain("evidence/sources");
    for (const Json& each : sources.is_array() ? sources : Json::array()) {
      out.evidence.sources.push_back({text(each, "path"), text(each, "hash")});
      if (!is_hash(out.evidence.sources.back().hash)) complain("evidence/sources/hash");
      if (!is_inside(out.evidence.sources.back().path)) complain("evidence/sources/path");
    }
    if (!is_hash(out.evidence.problem)) complain("evidence/problem");
    if (out.options.judge_shapes < 0 || out.options.judge_shapes > 1000) complain("options/judge_shapes");
    if (out.options.value_changes < 0 || out.options.value_changes > 1000) complain("options/value_changes");
    if (out.options.schedules < 0 || out.options.schedules > 1000) complain("options/schedules");
    for (const double seconds : {out.options.kernel_deadline_s, out.options.host_deadline_s, out.options.record_deadline_s})
      if (!(seconds > 0)) complain("options");
    if (!wrong_.empty()) {
      return fail(Error{ErrorCode::kInvalid, fmt::format("'{}' is missing from the verdict or not what it should be", wrong_), Span{file_, 0, 0, 0}, {}, {}});
    }
    return out;
  }

 private:
  void complain(std::string_view what) {
    if (wrong_.empty()) wrong_ = what;
  }
  const Json& member(const Json& json, const char* name) {
    static const Json kNone;
    const auto it = json.is_object() ? json.find(name) : json.end();
    if (json.is_object() && it != json.end()) return *it;
    complain(name);
    return kNone;
  }
  std::string text(const Json& json, const char* name) {
    const Json& value = member(json, name);
    if (!value.is_string()) return complain(name), "";
    const std::string text = value.get<std::string>();
    if (text.empty() || text.find('\0') != std::string::npos) complain(name);   // no path and no name
    return text;
  }
  template <typename T>
  T number(const Json& json, const char* name, T otherwise) {
    const Json& value = member(json, name);
    if constexpr (std::is_integral_v<T>) {   // none of ours is negative
      const uint64_t most = std::numeric_limits<T>::max();
      if (value.is_number_unsigned() && value.get<uint64_t>() <= most) return static_cast<T>(value.get<uint64_t>());
    } else if (value.is_number()) {
      return value.get<T>();
    }
    complain(name);
    return otherwise;
  }

  const Json& root_;
  const std::string& file_;
  std::string wrong_;
};

// A mangled name of a kernel in an unnamed namespace holds a hash of the file's path; the readable one stays.
void drop_paths(Json& json) {
  if (json.is_object()) {
    json.erase("kernel");
    json.erase("log");
    json.erase("minimal");
    json.erase("printed");
  }
  if (json.is_structured()) for (Json& each : json) drop_paths(each);
}

Json comparable(std::string_view verdict) {
  const Json json = parsed(verdict);
  Json out;
  for (const char* key : {"problem", "target", "seed", "verdict", "decided_by", "outcome"}) out[key] = json.value(key, Json());
  drop_paths(out);
  return out;
}

}  // namespace

Result<StoredVerdict> read_verdict(std::string_view text, const std::string& file) {
  const Json json = parsed(text);
  return Reader(json, file).read();
}

std::vector<std::string> differences(std::string_view before, std::string_view after) {
  const Json old = comparable(before), now = comparable(after);
  std::vector<std::string> out;
  for (const Json& change : Json::diff(old, now)) {
    const std::string at = change.value("path", "");
    const auto value = [&](const Json& of) {
      const Json::json_pointer pointer(at);
      return of.contains(pointer) ? of[pointer].dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 200) : std::string("nothing");
    };
    out.push_back(fmt::format("{}: {} before, {} now", at, value(old), value(now)));
  }
  return out;
}

}  // namespace kw::judge
