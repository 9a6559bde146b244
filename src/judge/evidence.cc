#include "judge/evidence.h"

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "base/leftover.h"
#include "toolchain/toolchain.h"

namespace kw::judge {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxVerdict = uint64_t{64} << 20;

// A hash as a name of a file in the store: nothing else reaches a path.
bool is_hash(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// A path that stays below the folder it is put in.
bool is_inside(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return !normal.empty() && !normal.is_absolute() && *normal.begin() != ".." && *normal.begin() != "." && normal.has_filename();
}

// What a verdict file says that judging again needs.
struct Stored {
  std::string problem_file, candidate, target;
  Evidence evidence;
  Options options;
};

class Reader {
 public:
  Reader(const Json& root, std::string file) : root_(root), file_(std::move(file)) {}

  Result<Stored> read() {
    if (!root_.is_object() || text(root_, "schema") != kVerdictSchema) {
      return fail(Error{ErrorCode::kInvalid, fmt::format("this is no verdict of schema {}", kVerdictSchema), Span{file_, 0, 0, 0}, {},
                        {"give what `kw judge --json` printed, or a file of a store's verdicts/"}});
    }
    Stored out;
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
    if (!sources.is_array()) complain("evidence/sources");
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
    if (value.is_string()) return value.get<std::string>();
    complain(name);
    return "";
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
  const std::string file_;
  std::string wrong_;
};

Result<std::string> object(const std::string& folder, const std::string& hash) {
  KW_TRY(std::string text, read_file(folder + "/objects/" + hash));
  if (hash_hex(text) != hash) return fail(ErrorCode::kInvalid, "{}/objects/{} does not hold what its name says", folder, hash);
  return text;
}

// The judged files of a stored verdict, put back as they were below `place`; the problem comes first.
Result<std::pair<std::string, std::string>> restore(const std::string& folder, const Stored& stored, const std::string& place) {
  KW_TRY(const std::string problem, object(folder, stored.evidence.problem));
  const std::string problem_file = place + "/" + fs::path(stored.problem_file).filename().string();
  KW_TRY_VOID(write_file(problem_file, problem));
  const std::string root = place + "/candidate";
  std::string candidate = root;
  for (const Evidence::File& file : stored.evidence.sources) {
    KW_TRY(const std::string text, object(folder, file.hash));
    const std::string path = root + "/" + file.path;
    KW_TRY_VOID(make_folder(fs::path(path).parent_path().string()));
    KW_TRY_VOID(write_file(path, text));
    // One file was judged as a file, several as a folder.
    candidate = stored.evidence.sources.size() == 1 && file.path == fs::path(stored.candidate).filename() ? path : root;
  }
  return std::pair(problem_file, candidate);
}

// What both verdicts must agree on: all but times, paths, remarks about the machine, what a crashed program printed (addresses)
// and what was found within a budget of seconds. A mangled name of a kernel in an unnamed namespace holds a hash of the file's path; the readable one stays.
void drop_paths(Json& json) {
  if (json.is_object()) {
    json.erase("kernel");
    json.erase("log");
    json.erase("minimal");
    json.erase("printed");
  }
  if (json.is_structured()) for (Json& each : json) drop_paths(each);
}

Json comparable(const std::string& verdict) {
  const Json json = Json::parse(verdict, nullptr, false);
  Json out;
  for (const char* key : {"problem", "target", "seed", "verdict", "decided_by", "outcome"}) out[key] = json.value(key, Json());
  drop_paths(out);
  return out;
}

}  // namespace

Result<Evidence> evidence_of(const problem::Problem& problem, const std::string& candidate_path) {
  Evidence out;
  out.problem = hash_hex(problem.text);
  KW_TRY(const std::vector<toolchain::Source> sources, toolchain::candidate_sources(candidate_path));
  for (const toolchain::Source& source : sources) out.sources.push_back({source.path, hash_hex(source.text)});
  return out;
}

Result<std::string> store(const std::string& folder, const problem::Problem& problem, const Verdict& verdict) {
  KW_TRY_VOID(make_folder(folder + "/objects"));
  KW_TRY_VOID(make_folder(folder + "/verdicts"));
  for (const char* part : {"/objects", "/verdicts"}) sweep_unfinished(folder + part);
  std::error_code error;
  const auto put = [&](const std::string& place, const std::string& text) -> Status {
    if (fs::exists(place, error)) return {};
    return write_file(place, text);
  };
  KW_TRY_VOID(put(folder + "/objects/" + verdict.evidence.problem, problem.text));
  KW_TRY(const std::vector<toolchain::Source> sources, toolchain::candidate_sources(verdict.candidate));
  KW_TRY(const Evidence now, evidence_of(problem, verdict.candidate));
  if (now != verdict.evidence) return fail(ErrorCode::kInvalid, "{} has changed since it was judged: judge it again", verdict.candidate);
  for (const toolchain::Source& source : sources) KW_TRY_VOID(put(folder + "/objects/" + hash_hex(source.text), source.text));
  const std::string text = to_json(verdict);
  const std::string path = fmt::format("{}/verdicts/{}.json", folder, hash_hex(text));
  KW_TRY_VOID(put(path, text));
  return path;
}

Result<Recheck> recheck(const std::string& file, const Progress& progress) {
  KW_TRY(const std::string text, read_file(file, kMaxVerdict));
  const Json json = Json::parse(text, nullptr, false);
  KW_TRY(Stored stored, Reader(json, file).read());
  KW_TRY(const TempDir place, TempDir::create("kw-recheck"));
  std::pair<std::string, std::string> files(stored.problem_file, stored.candidate);
  std::error_code ignored;
  const fs::path above = fs::absolute(file, ignored).parent_path();
  const bool in_store = above.filename() == "verdicts" && fs::is_directory(above.parent_path() / "objects", ignored);
  if (in_store) { KW_TRY(files, restore(above.parent_path().string(), stored, place.path())); }
  KW_TRY(const problem::Problem problem, problem::load_problem(files.first));
  KW_TRY(const Evidence now, evidence_of(problem, files.second));
  if (now != stored.evidence) {
    const std::string& changed = now.problem != stored.evidence.problem ? files.first : files.second;
    return fail(Error{ErrorCode::kInvalid, fmt::format("{} is not what the verdict is about: it has changed since", changed), {}, {},
                      {"judge it anew, or keep evidence next time: kw judge --evidence DIR"}});
  }
  Recheck out;
  KW_TRY(out.verdict, evaluate(problem, files.second, stored.options, progress));
  const Json before = comparable(text), after = comparable(to_json(out.verdict));
  for (const Json& change : Json::diff(before, after)) {
    const std::string at = change.value("path", "");
    const auto value = [&](const Json& of) {
      const Json::json_pointer pointer(at);
      return of.contains(pointer) ? of[pointer].dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 200) : std::string("nothing");
    };
    out.differences.push_back(fmt::format("{}: {} before, {} now", at, value(before), value(after)));
  }
  return out;
}

}  // namespace kw::judge
