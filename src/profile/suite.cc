#include "profile/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>
#include <sstream>

#include "base/file.h"
#include "base/parallel.h"
#include "base/text_table.h"
#include "profile/tools.h"

namespace kw::profile {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxText = 1 << 20;
constexpr const char* kRemedy = "docs/formats/profile.md describes fixtures";

bool contains(const std::vector<std::string>& list, std::string_view name) { return std::count(list.begin(), list.end(), name) > 0; }

bool is_tool(std::string_view name) {
  return std::any_of(tools().begin(), tools().end(), [&](const Tool& tool) { return tool.name == name; });
}

Result<std::vector<std::string>> tools_named(const Fixture& fixture, const KeyedLine& line) {
  std::istringstream in(line.value);
  std::vector<std::string> out;
  for (std::string word; in >> word;) {
    if (word == "others" && line.key == "not") {   // all that are not expected; those must stand before
      for (const Tool& tool : tools()) {
        if (!contains(fixture.expects, tool.name)) out.emplace_back(tool.name);
      }
      continue;
    }
    if (!is_tool(word)) return fail(Error{ErrorCode::kInvalid, fmt::format("there is no tool '{}'", word), Span{fixture.file, line.line, 0, 0}, {}, {kRemedy}});
    out.push_back(std::move(word));
  }
  return out;
}

Result<std::vector<Fixture>> find_fixtures(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fail(ErrorCode::kNotFound, "there is no folder '{}'", folder);
  std::vector<Fixture> out;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string extension = it->path().extension().string();
    if (!it->is_regular_file(error) || (extension != ".cu" && extension != ".case")) continue;
    KW_TRY(const std::string text, read_file(it->path().string(), kMaxText));
    KW_TRY(Fixture fixture, read_fixture(text, it->path().string()));
    fixture.name = fs::relative(it->path(), folder).replace_extension().string();
    out.push_back(std::move(fixture));
  }
  if (error) return fail(ErrorCode::kIo, "{} cannot be read: {}", folder, error.message());
  if (out.empty()) return fail(Error{ErrorCode::kNotFound, fmt::format("{} holds no fixture", folder), {}, {}, {kRemedy}});
  std::sort(out.begin(), out.end(), [](const Fixture& a, const Fixture& b) { return a.name < b.name; });
  return out;
}

Status profile_one(const Fixture& fixture, Options options, const std::string& scratch, SuiteCase& out) {
  KW_TRY(const problem::Problem problem, problem::load_problem(fixture.problem));
  std::string candidate = fixture.candidate;
  if (!fixture.edits.empty()) {
    KW_TRY(std::string text, read_file(candidate, kMaxText));
    KW_TRY(text, edited(std::move(text), fixture.edits, candidate, fixture.file));
    KW_TRY_VOID(make_folder(scratch));
    candidate = scratch + "/" + fs::path(fixture.name).filename().string() + ".cu";
    KW_TRY_VOID(write_file(candidate, text));
  }
  if (!options.gpu) options.target = fixture.target;
  options.workload = fixture.workload;
  if (options.threads == 0) options.threads = 1;
  KW_TRY(const Profile result, profile(problem, candidate, options));
  out.problem = problem.name;
  out.estimated_s = result.subject.seconds;
  if (result.subject.measured) out.measured_s = result.subject.measured->seconds;
  for (const Advice& advice : result.advice) {
    if (!contains(out.fired, advice.tool)) out.fired.push_back(advice.tool);
    double& gain = out.gains[std::string(advice.tool)];
    gain = std::max(gain, advice.gain);
  }
  for (const std::string& tool : fixture.expects) {
    if (!contains(out.fired, tool)) out.why.push_back(fmt::format("{} says nothing", tool));
  }
  for (const Advice& advice : result.advice) {
    if (contains(fixture.forbids, advice.tool)) out.why.push_back(fmt::format("{} speaks: {}", advice.tool, advice.saw));
  }
  return {};
}

}  // namespace

Result<Fixture> read_fixture(std::string_view text, const std::string& file) {
  Fixture fixture;
  fixture.file = file;
  const bool in_comment = file.ends_with(".cu");
  const auto wrong = [&](int line, std::string what) { return fail(Error{ErrorCode::kInvalid, std::move(what), Span{file, line, 0, 0}, {}, {kRemedy}}); };
  std::set<std::string> seen;
  std::string last_key;
  KW_TRY(const auto lines, keyed_lines(text, file, kRemedy));
  for (const KeyedLine& line : lines) {
    const bool edit = line.key == "replace" || line.key == "with";
    if (!edit && line.key != "followed" && !seen.insert(line.key).second) return wrong(line.line, fmt::format("'{}' is said twice", line.key));
    if (line.key == "problem") { KW_TRY(fixture.problem, find_above(file, line.line, line.value)); }
    else if (line.key == "base" && !in_comment) { KW_TRY(fixture.candidate, find_above(file, line.line, line.value)); }
    else if (line.key == "target") fixture.target = line.value;
    else if (line.key == "workload") fixture.workload = line.value;
    else if (line.key == "expects") { KW_TRY(fixture.expects, tools_named(fixture, line)); }
    else if (line.key == "not") { KW_TRY(fixture.forbids, tools_named(fixture, line)); }
    else if (line.key == "followed") {
      std::istringstream words(line.value);
      std::string tool, becomes, more;
      if (!(words >> tool >> becomes) || words >> more || !is_tool(tool)) return wrong(line.line, "'followed' takes a tool and the fixture that has its advice followed");
      fixture.followed.emplace_back(tool, becomes);
    }
    else if (edit && !in_comment) {
      if (!add_edit(fixture.edits, line, last_key)) return wrong(line.line, "'with' needs a 'replace' before it");
    } else {
      return wrong(line.line, fmt::format("unknown key '{}'", line.key));
    }
    last_key = line.key;
  }
  if (in_comment) fixture.candidate = file;
  if (fixture.problem.empty() || fixture.candidate.empty()) return wrong(0, in_comment ? "a fixture needs 'problem'" : "a .case file needs 'problem' and 'base'");
  if (fixture.expects.empty() && fixture.forbids.empty()) return wrong(0, "a fixture needs 'expects' or 'not'");
  for (const std::string& tool : fixture.expects) {
    if (contains(fixture.forbids, tool)) return wrong(0, fmt::format("{} is both expected and forbidden", tool));
  }
  return fixture;
}

bool Suite::as_expected() const {
  return std::all_of(cases.begin(), cases.end(), [](const SuiteCase& c) { return c.why.empty(); });
}

Result<Suite> run_suite(const std::string& folder, const SuiteOptions& options,
                        const std::function<void(const SuiteCase&, size_t, size_t)>& progress) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  KW_TRY(const std::vector<Fixture> fixtures, find_fixtures(folder));
  KW_TRY(const TempDir scratch, TempDir::create("kw-profile"));
  Suite suite;
  suite.cases.resize(fixtures.size());
  const auto begin = Clock::now();
  std::mutex mutex;
  size_t done = 0;
  parallel_for(fixtures.size(), options.jobs > 0 ? options.jobs : available_cores(), [&](uint64_t i) {
    SuiteCase& c = suite.cases[i];
    c.name = fixtures[i].name;
    const auto started = Clock::now();
    const Status status = profile_one(fixtures[i], options.profile, fmt::format("{}/{}", scratch.path(), i), c);
    if (!status) c.why = {format_error(status.error())};
    c.seconds = since(started);
    const std::lock_guard lock(mutex);
    ++done;
    if (progress) progress(c, done, suite.cases.size());
  });
  for (const Tool& tool : tools()) suite.scores.try_emplace(std::string(tool.name));
  for (size_t i = 0; i < fixtures.size(); ++i) {
    for (const std::string& tool : fixtures[i].expects) ++(contains(suite.cases[i].fired, tool) ? suite.scores[tool].found : suite.scores[tool].missed);
    for (const std::string& tool : fixtures[i].forbids) ++(contains(suite.cases[i].fired, tool) ? suite.scores[tool].wrong : suite.scores[tool].spared);
  }
  for (size_t i = 0; i < fixtures.size(); ++i) {
    for (const auto& [tool, becomes] : fixtures[i].followed) {
      const auto at = std::find_if(suite.cases.begin(), suite.cases.end(), [&](const SuiteCase& c) { return c.name == becomes; });
      SuiteCase& c = suite.cases[i];
      if (at == suite.cases.end()) {   // in another folder of a suite of which this is a part, perhaps
        if (options.profile.gpu) c.why.push_back(fmt::format("followed: the suite has no fixture '{}'", becomes));
      } else if (c.measured_s > 0 && at->measured_s > 0) {
        const auto gain = c.gains.find(tool);
        suite.followed.push_back({c.name, tool, becomes, gain == c.gains.end() ? 1 : gain->second, c.measured_s / at->measured_s});
      }
    }
  }
  suite.seconds = since(begin);
  return suite;
}

std::string table_of(const Suite& suite) {
  TextTable table({"tool", "found", "missed", "spared", "wrong", "precision", "recall"},
                  {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  const auto ratio = [](int part, int rest) { return part + rest == 0 ? std::string("-") : fmt::format("{:.2f}", static_cast<double>(part) / (part + rest)); };
  for (const Tool& tool : tools()) {
    const auto at = suite.scores.find(tool.name);
    const Suite::Score score = at == suite.scores.end() ? Suite::Score{} : at->second;
    table.add_row({std::string(tool.name), fmt::format("{}", score.found), fmt::format("{}", score.missed), fmt::format("{}", score.spared),
                   fmt::format("{}", score.wrong), ratio(score.found, score.wrong), ratio(score.found, score.missed)});
  }
  return table.str();
}

std::string measured_table_of(const Suite& suite) {
  TextTable times({"fixture", "estimate, us", "measured, us", "estimate/measured"}, {Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> by_problem;
  for (const SuiteCase& c : suite.cases) {
    if (c.measured_s <= 0) continue;
    times.add_row({c.name, fmt::format("{:.1f}", 1e6 * c.estimated_s), fmt::format("{:.1f}", 1e6 * c.measured_s), fmt::format("{:.2f}", c.estimated_s / c.measured_s)});
    for (const std::string& group : {c.problem, std::string("all")}) {
      by_problem[group].first.push_back(c.estimated_s);
      by_problem[group].second.push_back(c.measured_s);
    }
  }
  if (times.rows() == 0) return "";
  TextTable ranks({"problem", "variants", "rank correlation"}, {Align::kLeft, Align::kRight, Align::kRight});
  for (const auto& [name, both] : by_problem) {
    if (name != "all" && both.first.size() > 1) ranks.add_row({name, fmt::format("{}", both.first.size()), fmt::format("{:.2f}", rank_correlation(both.first, both.second))});
  }
  const auto& all = by_problem.at("all");
  ranks.add_row({"all", fmt::format("{}", all.first.size()), fmt::format("{:.3f}", rank_correlation(all.first, all.second))});
  std::string out = times.str() + "\n" + ranks.str();
  if (suite.followed.empty()) return out;
  TextTable followed({"fixture", "tool", "becomes", "gain expected", "gain seen", "expected/seen"}, {Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  for (const auto& f : suite.followed) {
    followed.add_row({f.fixture, f.tool, f.becomes, fmt::format("{:.2f}", f.expected), fmt::format("{:.2f}", f.gained), fmt::format("{:.2f}", f.expected / f.gained)});
  }
  return out + "\n" + followed.str();
}

}  // namespace kw::profile
