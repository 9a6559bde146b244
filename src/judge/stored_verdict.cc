#include "judge/stored_verdict.h"

#include <algorithm>
#include <filesystem>

#include "judge/suite_json.h"

namespace kw::judge {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// A path that stays below the folder it is put in.
bool is_inside(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return !normal.empty() && !normal.is_absolute() && *normal.begin() != ".." && *normal.begin() != "." && normal.has_filename();
}

class Reader : public JsonFields {
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
    out.evidence.problem = hash(evidence, "problem");
    const Json& sources = list(evidence, "sources");
    if (sources.empty()) complain("evidence/sources");
    for (const Json& each : sources) {
      out.evidence.sources.push_back({text(each, "path"), hash(each, "hash")});
      if (!is_inside(out.evidence.sources.back().path)) complain("evidence/sources/path");
    }
    if (out.options.judge_shapes < 0 || out.options.judge_shapes > 1000) complain("options/judge_shapes");
    if (out.options.value_changes < 0 || out.options.value_changes > 1000) complain("options/value_changes");
    if (out.options.schedules < 0 || out.options.schedules > 1000) complain("options/schedules");
    for (const double seconds : {out.options.kernel_deadline_s, out.options.host_deadline_s, out.options.record_deadline_s})
      if (!(seconds > 0)) complain("options");
    KW_TRY_VOID(complaint("the verdict", file_));
    return out;
  }

  Result<Verdict> read_undecided() {
    KW_TRY(const StoredVerdict stored, read());
    Verdict out;
    out.problem = text(root_, "problem");
    out.candidate = stored.candidate;
    out.target = stored.options.target;
    out.problem_file = stored.problem_file;
    out.evidence = stored.evidence;
    out.options = stored.options;
    out.candidate_hash = text(root_, "candidate_hash");
    out.seed = *stored.options.seed;
    for (int i = 0; i < kRungs; ++i) out.ladder[static_cast<size_t>(i)].rung = static_cast<Rung>(i);
    for (const Json& each : list(root_, "ladder")) rung(each, out);
    const std::string verdict = text(root_, "verdict");
    const Json& outcome = member(root_, "outcome");
    if (!member(root_, "decided_by").is_null()) complain("decided_by");
    if (verdict == name_of(Correct{})) out.outcome = correct(outcome);
    else if (verdict == name_of(NotChecked{})) out.outcome = NotChecked{words(outcome, "message"), number<int>(outcome, "right_on_gpu", 0)};
    else complain("verdict");
    KW_TRY_VOID(complaint("the verdict", file_));
    return out;
  }

 private:
  void rung(const Json& json, Verdict& out) {
    const std::string name = text(json, "rung"), status = text(json, "status");
    const auto names = rung_names();
    const auto at = std::find(names.begin(), names.end(), name) - names.begin();
    if (at >= kRungs) return complain("ladder/rung");
    RungReport& report = out.ladder[static_cast<size_t>(at)];
    for (const auto each : {RungReport::Status::kPassed, RungReport::Status::kFailed, RungReport::Status::kNotChecked, RungReport::Status::kNotRun})
      if (name_of(each) == status) report.status = each;
    report.seconds = real(json, "seconds");
    report.detail = words(json, "detail");
  }

  Correct correct(const Json& json) {
    Correct out;
    out.workloads = number<int>(json, "workloads", 0);
    out.values = number<int>(json, "values", 0);
    out.schedules = number<int>(json, "schedules", 0);
    out.on_gpu = number<int>(json, "on_gpu", 0);
    for (const auto& [name, into] : {std::pair{"outputs", &out.outputs}, std::pair{"pieces", &out.pieces}})
      for (const Json& each : list(json, name)) into->push_back({workload_name_of(*this, each, "worst_workload"), text(each, "output"), metrics(member(each, "metrics"))});
    return out;
  }

  // What a verdict keeps of them.
  tensor::ErrorMetrics metrics(const Json& json) {
    tensor::ErrorMetrics out;
    out.elements = number<int64_t>(json, "elements", 0);
    out.failing = number<int64_t>(json, "failing", 0);
    out.kind_mismatches = number<int64_t>(json, "kind_mismatches", 0);
    out.max_abs = real(json, "max_abs");
    out.max_rel = real(json, "max_rel");
    out.rmse = real(json, "rmse");
    out.psnr = real(json, "psnr_db");
    out.cosine = real(json, "cosine");
    out.max_ulp = real(json, "max_ulp");
    out.budget_used = real(json, "budget_used");
    return out;
  }

  const Json& root_;
  const std::string& file_;
};

// A mangled name of a kernel in an unnamed namespace holds a hash of the file's path; the readable one stays.
void drop_paths(Json& json) {
  if (json.is_object()) {
    json.erase("kernel");
    json.erase("log");
    json.erase("minimal");
    json.erase("on_gpu");
    json.erase("printed");
  }
  if (json.is_structured()) for (Json& each : json) drop_paths(each);
}

Json comparable(std::string_view verdict) {
  const Json json = parse_json(verdict);
  Json out;
  for (const char* key : {"problem", "target", "seed", "verdict", "decided_by", "outcome"}) out[key] = json.value(key, Json());
  drop_paths(out);
  return out;
}

}  // namespace

Result<StoredVerdict> read_verdict(std::string_view text, const std::string& file) {
  const Json json = parse_json(text);
  return Reader(json, file).read();
}

Result<Verdict> read_undecided(std::string_view text, const std::string& file) {
  const Json json = parse_json(text);
  return Reader(json, file).read_undecided();
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
