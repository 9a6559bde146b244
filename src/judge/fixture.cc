#include "judge/fixture.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

#include <re2/re2.h>

#include "arch/target.h"
#include "base/file.h"
#include "problem/problem.h"
#include "toolchain/toolchain.h"

namespace kw::judge {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxText = 1 << 20;

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

constexpr const char* kRemedy = "docs/formats/fixture.md describes fixtures";

// Pages are bytes: a kernel may have printed anything.
RE2::Options syntax() {
  RE2::Options options(RE2::Latin1);
  options.set_log_errors(false);
  return options;
}

// One fixture's text: keys of a head comment, or of a .case file.
class Reader {
 public:
  explicit Reader(const std::string& file) : in_comment_(file.ends_with(".cu") || file.ends_with(".py")) { fixture_.file = file; }

  Result<Fixture> read(std::string_view text) {
    KW_TRY(const std::vector<KeyedLine> lines, keyed_lines(text, fixture_.file, kRemedy));
    for (const KeyedLine& line : lines) {
      number_ = line.line;
      KW_TRY_VOID(item(line));
      last_key_ = line.key;
    }
    Fixture& f = fixture_;
    number_ = 0;
    if (f.targets.empty()) f.targets = {"sm_80"};
    if (f.problem.empty() || f.verdict.empty()) return wrong("a fixture needs 'problem' and 'verdict'");
    if (f.rungs.empty() && f.verdict != "correct") return wrong("a fixture that fails needs its 'rung'");
    if (!f.rungs.empty() && f.verdict == "correct") return wrong("'rung' does not go with 'verdict: correct': no rung decides that");
    if (!f.on_gpu.empty() && f.verdict != "correct") return wrong("'on-gpu' goes with 'verdict: correct': what fails before is not run there");
    if (in_comment_) {
      if (!f.candidate.empty()) return wrong("'base' and 'candidate' belong into .case files");
      f.candidate = f.file;
    } else if (f.candidate.empty()) {
      return wrong("a .case file needs 'base' or 'candidate'");
    }
    std::error_code ignored;
    if (!f.edits.empty() && fs::is_directory(f.candidate, ignored)) return wrong("a folder cannot be edited; name a file as 'base'");
    return std::move(fixture_);
  }

 private:
  tl::unexpected<Error> wrong(const std::string& what) const {
    return fail(Error{ErrorCode::kInvalid, what, Span{fixture_.file, number_, 0, 0}, {}, {kRemedy}});
  }

  // Each of `given` is one of `known`.
  Status words_among(const std::vector<std::string>& given, std::string_view what, const std::vector<std::string>& known) const {
    for (const std::string& word : given) {
      if (std::count(known.begin(), known.end(), word) > 0) continue;
      return wrong(fmt::format("'{}' is no {}: {}", word, what, fmt::join(known, ", ")));
    }
    return {};
  }

  Status item(const KeyedLine& line) {
    const auto& [number, key, value] = line;
    const bool repeats = key == "says" || key == "replace" || key == "with";
    if (!keys_.insert(key).second && !repeats) return wrong(fmt::format("'{}' is said twice", key));
    if (key == "problem") { KW_TRY(fixture_.problem, find_above(fixture_.file, number, value)); }
    else if (key == "base" || key == "candidate") { KW_TRY(fixture_.candidate, find_above(fixture_.file, number, value)); }
    else if (key == "target") {
      fixture_.targets = words(value);
      for (const std::string& target : fixture_.targets)
        if (const auto found = arch::find_target(target); !found) return wrong(found.error().message);
    } else if (key == "verdict") {
      fixture_.verdict = value;
      KW_TRY_VOID(words_among({value}, "verdict", outcome_names()));
    } else if (key == "rung") {
      fixture_.rungs = words(value);
      KW_TRY_VOID(words_among(fixture_.rungs, "rung", rung_names()));
    } else if (key == "on-gpu") {
      fixture_.on_gpu = value;
      KW_TRY_VOID(words_among({value}, "verdict", outcome_names()));
    } else if (key == "says") KW_TRY_VOID(says(value));
    else if (key == "replace" || key == "with") {
      if (!add_edit(fixture_.edits, line, last_key_)) return wrong("'with' needs a 'replace' before it");
    } else if (key == "host-deadline" || key == "record-deadline" || key == "kernel-deadline") {
      double& seconds = key[0] == 'h'   ? fixture_.host_deadline_s
                        : key[0] == 'r' ? fixture_.record_deadline_s
                                        : fixture_.kernel_deadline_s;
      const char* const end = value.data() + value.size();
      const auto parsed = std::from_chars(value.data(), end, seconds);
      if (parsed.ec != std::errc() || parsed.ptr != end || !(seconds > 0 && seconds < 1e6)) return wrong("expected seconds");
    } else {
      return wrong("unknown key '" + key + "'");
    }
    return {};
  }

  Status says(const std::string& pattern) {
    if (const Status status = check_pattern(pattern); !status) return wrong(status.error().message);
    fixture_.says.push_back(pattern);
    return {};
  }

  const bool in_comment_;
  Fixture fixture_;
  int number_ = 0;
  std::string last_key_;
  std::set<std::string> keys_;
};

// A problem and its own candidates.
Status add_candidates(const std::string& file, const std::string& name, std::vector<Fixture>& out) {
  KW_TRY(const problem::Problem problem, problem::load_problem(file));
  for (const problem::CandidateFile& each : problem.candidates) {
    Fixture fixture;
    fixture.file = fixture.problem = file;
    fixture.name = problem.candidates.size() == 1 ? name : name + "/" + fs::path(each.path).stem().string();
    fixture.verdict = "correct";
    fixture.targets = {each.target};
    KW_TRY(fixture.candidate, find_above(file, each.span.line, each.path));
    out.push_back(std::move(fixture));
  }
  return {};
}

}  // namespace

Status check_pattern(const std::string& pattern) {
  if (const RE2 expression(pattern, syntax()); !expression.ok()) return fail(ErrorCode::kInvalid, "'{}' is no regular expression: {}", pattern, expression.error());
  return {};
}

Result<Fixture> read_fixture(std::string_view text, const std::string& file) { return Reader(file).read(text); }

Result<std::vector<Fixture>> find_fixtures(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fail(ErrorCode::kNotFound, "there is no folder '{}'", folder);
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) files.push_back(it->path());
  }
  if (error) return fail(ErrorCode::kIo, "{} cannot be read: {}", folder, error.message());
  std::sort(files.begin(), files.end());

  std::vector<Fixture> fixtures;
  std::set<std::string> part_of_another;   // what a problem or a .case file names: a file, or a folder that is one candidate
  const auto name_of_file = [&](const fs::path& path) { return fs::relative(path, folder).replace_extension().string(); };
  for (const fs::path& path : files) {
    if (path.extension() == ".problem") {
      const size_t before = fixtures.size();
      KW_TRY_VOID(add_candidates(path.string(), name_of_file(path), fixtures));
      for (size_t i = before; i < fixtures.size(); ++i) part_of_another.insert(fixtures[i].candidate);
    }
    if (path.extension() != ".case") continue;
    KW_TRY(const std::string text, read_file(path.string(), kMaxText));
    KW_TRY(Fixture fixture, read_fixture(text, path.string()));
    fixture.name = name_of_file(path);
    if (fs::is_directory(fixture.candidate, error)) part_of_another.insert(fixture.candidate);
    fixtures.push_back(std::move(fixture));
  }
  for (const fs::path& path : files) {
    const std::string whole_path = fs::absolute(path, error).lexically_normal().string();
    const bool inside = std::any_of(part_of_another.begin(), part_of_another.end(), [&](const std::string& candidate) {
      return whole_path == candidate || whole_path.starts_with(candidate + "/");
    });
    if (inside || (path.extension() != ".cu" && path.extension() != ".py")) continue;
    KW_TRY(const toolchain::Language language, toolchain::language_of(path.string()));
    if (language == toolchain::Language::kTorch) continue;
    KW_TRY(const std::string text, read_file(path.string(), kMaxText));
    KW_TRY(Fixture fixture, read_fixture(text, path.string()));
    fixture.name = name_of_file(path);
    fixtures.push_back(std::move(fixture));
  }
  if (fixtures.empty()) {
    return fail(Error{ErrorCode::kNotFound, fmt::format("{} holds no fixture and no problem with candidates", folder), {}, {},
                      {"docs/formats/fixture.md describes fixtures; a problem names its own under 'candidates:'"}});
  }
  std::sort(fixtures.begin(), fixtures.end(), [](const Fixture& a, const Fixture& b) { return a.name < b.name; });
  return fixtures;
}

Result<std::string> materialise(const Fixture& fixture, const std::string& folder) {
  if (fixture.edits.empty()) return fixture.candidate;
  KW_TRY(std::string text, read_file(fixture.candidate, kMaxText));
  KW_TRY(text, edited(std::move(text), fixture.edits, fixture.candidate, fixture.file));
  KW_TRY_VOID(make_folder(folder));
  const std::string path = folder + "/" + fs::path(fixture.name).filename().string() + fs::path(fixture.candidate).extension().string();
  KW_TRY_VOID(write_file(path, text));
  return path;
}

std::vector<std::string> mismatches(const Fixture& fixture, const Verdict& verdict, const std::string& page) {
  std::vector<std::string> out;
  const std::string_view got = name_of(verdict.outcome);
  const std::string rung = verdict.decided_by ? std::string(name_of(*verdict.decided_by)) : "";
  const bool on_gpu = !fixture.on_gpu.empty() && !verdict.gpu.empty() && verdict.gpu != device::kEmulatorName;
  const std::string& expected = on_gpu ? fixture.on_gpu : fixture.verdict;
  const std::vector<std::string> rungs = on_gpu ? std::vector{std::string(name_of(Rung::kFull))} : fixture.rungs;
  if (got != expected) out.push_back(fmt::format("the verdict is {}, not {}", got, expected));
  const bool decided = rungs.empty() ? rung.empty() : std::count(rungs.begin(), rungs.end(), rung) > 0;
  if (!decided) {
    out.push_back(fmt::format("rung {} decided, not {}", rung.empty() ? "none" : rung, rungs.empty() ? "none" : fmt::format("{}", fmt::join(rungs, " or "))));
  }
  for (const std::string& says : fixture.says) {
    if (!RE2::PartialMatch(page, RE2(says, syntax()))) out.push_back("nowhere on the page: " + says);
  }
  return out;
}

}  // namespace kw::judge
