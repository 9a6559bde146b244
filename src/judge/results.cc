#include "judge/results.h"

#include <fcntl.h>
#include <sys/file.h>

#include <filesystem>

#include "base/file.h"
#include "base/leftover.h"
#include "base/objects.h"
#include "judge/evidence.h"
#include "judge/suite_json.h"
#include "judge/worker.h"

namespace kw::judge {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kResultsSchema = "kernelwright/results/1";
constexpr uint64_t kMaxAnswer = uint64_t{256} << 20;

std::string head_file(const std::string& folder) { return folder + "/results.json"; }
std::string answer_file(const std::string& folder, size_t index) { return fmt::format("{}/cases/{:04}.json", folder, index); }

}  // namespace

Result<UniqueFd> open_results(const std::string& folder, const ResultsHead& head) {
  for (const char* part : {"/cases", "/objects"}) KW_TRY_VOID(make_folder(folder + part));
  UniqueFd lock(::open((folder + "/cases").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return fail(ErrorCode::kIo, "another worker fills {}: wait for it, or name another folder", folder);
  std::error_code ignored;
  if (std::filesystem::exists(head_file(folder), ignored)) {
    KW_TRY(const ResultsHead before, read_results_head(folder));
    if (before.bundle != head.bundle) return fail(ErrorCode::kInvalid, "{} holds results of another bundle: name another folder", folder);
    if (before.device != head.device) return fail(ErrorCode::kInvalid, "{} holds results of {}, not of {}: name another folder", folder, before.device, head.device);
  }
  for (const char* part : {"/cases", "/objects"}) sweep_unfinished(folder + part, 0);   // the lock says that no worker is writing
  Json cases = Json::array();
  for (const SuiteCase& c : head.suite.cases) cases.push_back({{"name", c.name}, {"target", c.target}, {"expected", c.expected}});
  KW_TRY_VOID(write_file(head_file(folder), text_of(Json{{"schema", std::string(kResultsSchema)}, {"bundle", head.bundle}, {"device", head.device},
                                                         {"folder", head.suite.folder}, {"cases", cases}})));
  return lock;
}

Result<ResultsHead> read_results_head(const std::string& folder) {
  const std::string file = head_file(folder);
  KW_TRY(const std::string text, read_file(file, kMaxAnswer));
  const auto json = parse_json(text);
  JsonFields fields;
  if (!json.is_object() || fields.text(json, "schema") != kResultsSchema)
    return fail(ErrorCode::kUnsupported, "{} holds no results of schema {}: give the folder that `kw worker --out` filled", file, kResultsSchema);
  ResultsHead out;
  out.bundle = fields.hash(json, "bundle");
  out.device = fields.text(json, "device");
  out.suite.folder = fields.words(json, "folder");
  for (const auto& each : fields.list(json, "cases")) {
    SuiteCase& c = out.suite.cases.emplace_back();
    c.name = fields.text(each, "name");
    c.target = fields.text(each, "target");
    c.expected = fields.words(each, "expected");
  }
  KW_TRY_VOID(fields.complaint("the results", file));
  return out;
}

Status write_answer(const std::string& folder, size_t index, const Answer& answer) {
  return write_file(answer_file(folder, index), text_of(Json{{"case", json_of(answer.c)}, {"verdict", answer.verdict}}));
}

Result<std::optional<Answer>> read_answer(const std::string& folder, size_t index) {
  const std::string file = answer_file(folder, index);
  auto text = read_file(file, kMaxAnswer);
  if (!text && text.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!text) return tl::unexpected(std::move(text.error()));
  const auto json = parse_json(*text);
  JsonFields fields;
  Answer out;
  out.c = suite_case_of(fields, fields.member(json, "case"));
  out.verdict = fields.words(json, "verdict");
  KW_TRY_VOID(fields.complaint("the answer", file));
  return out;
}

Result<Suite> import_results(const std::string& folder, const std::string& evidence) {
  KW_TRY(ResultsHead head, read_results_head(folder));
  for (size_t i = 0; i < head.suite.cases.size(); ++i) {
    SuiteCase& c = head.suite.cases[i];
    KW_TRY(std::optional<Answer> answer, read_answer(folder, i));
    if (!answer) {
      c.got = "no answer yet";
      c.why = {"no worker has come to it: start `kw worker` again with the same bundle and folder"};
      continue;
    }
    if (answer->c.name != c.name || answer->c.target != c.target) return fail(ErrorCode::kInvalid, "{} is not about {} for {}", answer_file(folder, i), c.name, c.target);
    c = std::move(answer->c);
    head.suite.seconds += c.seconds;
    if (answer->verdict.empty() || evidence.empty()) continue;
    KW_TRY(const StoredVerdict verdict, read_verdict(answer->verdict, answer_file(folder, i)));
    std::vector<std::string> texts;
    KW_TRY(texts.emplace_back(), object(folder, verdict.evidence.problem));
    for (const Evidence::File& source : verdict.evidence.sources) {
      KW_TRY(texts.emplace_back(), object(folder, source.hash));
    }
    KW_TRY_VOID(store(evidence, texts, answer->verdict));
  }
  return std::move(head.suite);
}

}  // namespace kw::judge
