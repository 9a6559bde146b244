#include "judge/evidence.h"

#include <filesystem>

#include "base/file.h"
#include "base/hash.h"
#include "base/leftover.h"
#include "base/objects.h"
#include "judge/stored_verdict.h"
#include "toolchain/toolchain.h"

namespace kw::judge {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxVerdict = uint64_t{64} << 20;

}  // namespace

Result<Evidence> evidence_of(const problem::Problem& problem, const std::string& candidate_path) {
  Evidence out;
  out.problem = hash_hex(problem.text);
  KW_TRY(const std::vector<toolchain::Source> sources, toolchain::candidate_sources(candidate_path));
  for (const toolchain::Source& source : sources) out.sources.push_back({source.path, hash_hex(source.text)});
  return out;
}

Result<std::vector<std::string>> texts_of(const problem::Problem& problem, const Verdict& verdict) {
  KW_TRY(const std::vector<toolchain::Source> sources, toolchain::candidate_sources(verdict.candidate));
  KW_TRY(const Evidence now, evidence_of(problem, verdict.candidate));
  if (now != verdict.evidence) return fail(ErrorCode::kInvalid, "{} has changed since it was judged: judge it again", verdict.candidate);
  std::vector<std::string> out{problem.text};
  for (const toolchain::Source& source : sources) out.push_back(source.text);
  return out;
}

Result<std::string> store(const std::string& folder, const problem::Problem& problem, const Verdict& verdict) {
  KW_TRY(const std::vector<std::string> texts, texts_of(problem, verdict));
  return store(folder, texts, to_json(verdict));
}

Result<std::string> store(const std::string& folder, const std::vector<std::string>& texts, std::string_view verdict) {
  KW_TRY_VOID(make_folder(folder + "/objects"));
  KW_TRY_VOID(make_folder(folder + "/verdicts"));
  for (const char* part : {"/objects", "/verdicts"}) sweep_unfinished(folder + part);
  for (const std::string& text : texts) KW_TRY_VOID(put_object(folder, text));
  const std::string path = fmt::format("{}/verdicts/{}.json", folder, hash_hex(verdict));
  std::error_code error;
  if (!fs::exists(path, error)) KW_TRY_VOID(write_file(path, verdict));
  return path;
}

Result<Restored> restore(const StoredVerdict& stored, const std::string& place, const FindObject& find) {
  KW_TRY(const std::string problem, find(stored.evidence.problem));
  Restored out;
  out.problem = place + "/" + fs::path(stored.problem_file).filename().string();
  KW_TRY_VOID(write_file(out.problem, problem));
  const std::string root = place + "/candidate";
  out.candidate = root;
  for (const Evidence::File& file : stored.evidence.sources) {
    KW_TRY(const std::string text, find(file.hash));
    const std::string path = root + "/" + file.path;
    KW_TRY_VOID(make_folder(fs::path(path).parent_path().string()));
    KW_TRY_VOID(write_file(path, text));
    // One file was judged as a file, several as a folder.
    if (stored.evidence.sources.size() == 1 && file.path == fs::path(stored.candidate).filename()) out.candidate = path;
  }
  return out;
}

Result<Recheck> recheck(const std::string& file, const Progress& progress) {
  KW_TRY(const std::string text, read_file(file, kMaxVerdict));
  KW_TRY(const StoredVerdict stored, read_verdict(text, file));
  KW_TRY(const TempDir place, TempDir::create("kw-recheck"));
  Restored files{stored.problem_file, stored.candidate};
  std::error_code ignored;
  const fs::path above = fs::absolute(file, ignored).parent_path();
  const bool in_store = above.filename() == "verdicts" && fs::is_directory(above.parent_path() / "objects", ignored);
  const FindObject find = [folder = above.parent_path().string()](const std::string& hash) { return object(folder, hash); };
  if (in_store) { KW_TRY(files, restore(stored, place.path(), find)); }
  KW_TRY(const problem::Problem problem, problem::load_problem(files.problem));
  KW_TRY(const Evidence now, evidence_of(problem, files.candidate));
  if (now != stored.evidence) {
    const std::string& changed = now.problem != stored.evidence.problem ? files.problem : files.candidate;
    return fail(Error{ErrorCode::kInvalid, fmt::format("{} is not what the verdict is about: it has changed since", changed), {}, {},
                      {"judge it anew, or keep evidence next time: kw judge --evidence DIR"}});
  }
  Recheck out;
  KW_TRY(out.verdict, evaluate(problem, files.candidate, stored.options, progress));
  out.differences = differences(text, to_json(out.verdict));
  return out;
}

}  // namespace kw::judge
