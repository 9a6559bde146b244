// Runs python/kernelwright on one file in the jail, and holds its problem against the module's own answer.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/jail.h"
#include "base/source_text.h"
#include "command/import.h"
#include "command/problem_values.h"
#include "problem/admit.h"

namespace kw::command {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr uint64_t kFolderBytes = uint64_t{1} << 30;
constexpr uint64_t kAddressSpace = uint64_t{1} << 40;  // tensors of the task are reserved, not touched
constexpr uint64_t kLongestProblem = 1 << 20;
constexpr double kMostOperations = 1e11;               // of one evaluation; admission makes about fourteen
constexpr double kCheapOperations = 2.5e9;             // the same, where there is a choice
constexpr std::int64_t kMostMemory = std::int64_t{2} << 30;
constexpr double kLongestWait = 1e8;                   // seconds that a clock can count

// What untrusted code left: a regular file, no link.
Result<std::string> left_behind(const std::string& path, uint64_t limit) {
  std::error_code ignored;
  if (!fs::is_regular_file(fs::symlink_status(path, ignored))) return fail(ErrorCode::kNotFound, "{} is no file", path);
  return read_file(path, limit);
}

std::string text_of(const Json& report, const char* key) {
  const auto at = report.find(key);
  if (at == report.end() || !at->is_string()) return "";
  return printable_text(at->get<std::string>().substr(0, 400));
}

std::vector<std::string> list_of(const Json& report, const char* key) {
  std::vector<std::string> values;
  if (const auto at = report.find(key); at != report.end() && at->is_array())
    for (const Json& each : *at)
      if (each.is_string()) values.push_back(printable_text(each.get<std::string>()));
  return values;
}

std::map<std::string, int> counts_of(const Json& report, const char* key) {
  std::map<std::string, int> counts;
  if (const auto at = report.find(key); at != report.end() && at->is_object())
    for (const auto& [name, count] : at->items())
      if (count.is_number_integer()) counts[printable_text(name)] = count.get<int>();
  return counts;
}

int number_of(const Json& report, const char* key) {
  const auto at = report.find(key);
  return at != report.end() && at->is_number_integer() ? at->get<int>() : 0;
}

bool is_identifier(const std::string& name) {
  return !name.empty() && name.size() <= 100 && name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == std::string::npos;
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

// The reference on the module's inputs, against the module's outputs.
Status compare(Import& import, const problem::Problem& problem, const Json& report, const std::string& folder, int threads) {
  const auto check = report.find("check");
  if (check == report.end() || !check->is_object()) {
    import.not_compared = "not run";
    return {};
  }
  const problem::Workload* workload = problem.find_workload(text_of(*check, "workload"));
  if (workload == nullptr) {
    import.not_compared = text_of(*check, "reason");
    return {};
  }
  KW_TRY(const auto inputs, read_inputs(problem, *workload, folder + "/inputs"));
  problem::EvaluateOptions options;
  options.memory_limit = kMostMemory;
  options.operation_limit = kMostOperations;
  options.threads = threads;
  KW_TRY(const auto evaluation, problem::evaluate(problem, *workload, inputs, options));
  KW_TRY(import.difference, difference(problem, evaluation, folder + "/outputs"));
  return {};
}

Status read_answer(Import& import, const std::string& folder, int threads) {
  std::error_code ignored;
  std::string name;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".json") name = entry.path().stem().string();
  if (!is_identifier(name)) return fail(ErrorCode::kInvalid, "it ended without a report");
  KW_TRY(const std::string text, left_behind(folder + "/" + name + ".json", kLongestProblem));
  const Json report = Json::parse(text, nullptr, false);
  if (!report.is_object()) return fail(ErrorCode::kInvalid, "it left a report that is no JSON");
  import.name = name;
  import.reason = text_of(report, "reason");
  if (!import.reason.empty()) return {};
  import.native = counts_of(report, "native");
  import.opaque = counts_of(report, "opaque");
  import.unused = list_of(report, "unused");
  import.approximate = list_of(report, "approximate");
  import.fixed = text_of(report, "fixed");
  import.axes = number_of(report, "axes");
  import.inputs = number_of(report, "inputs");
  import.emulator = report.value("emulator", Json()) == Json(true);
  KW_TRY(import.text, left_behind(folder + "/" + name + ".problem", kLongestProblem));
  auto problem = problem::parse_problem(import.text, name + ".problem");
  if (!problem) {
    import.reason = "the text is no problem: " + first_line(format_error(problem.error()));
    return {};
  }
  if (auto done = compare(import, *problem, report, folder + "/" + name + ".check", threads); !done)
    import.not_compared = first_line(done.error().message);
  return {};
}

std::string how_it_ended(const ProcessOutcome& outcome) {
  const std::string_view err = outcome.err;
  const size_t end = err.find_last_not_of('\n');
  if (outcome.reason != StopReason::kExited || end == std::string_view::npos) return describe(outcome);
  const std::string_view lines = err.substr(0, end + 1);
  return printable_text(lines.substr(lines.rfind('\n') + 1).substr(0, 400));
}

// The workload to ask about that takes minutes at the most: the emulator's, else shapes, else the smallest; the cheapest where all
// are dear.
const problem::Workload* affordable(const problem::Problem& problem) {
  const problem::Workload* cheapest = problem::admission_workload(problem);
  double least = std::numeric_limits<double>::infinity();
  for (const auto role : {problem::Role::kEmulator, problem::Role::kShape, problem::Role::kSmallest, problem::Role::kReal})
    for (const problem::Workload& workload : problem.workloads) {
      if (workload.role != role) continue;
      const auto cost = problem::cost_of(problem, workload);
      if (!cost || cost->operations >= least) continue;
      if (cost->operations <= kCheapOperations) return &workload;
      least = cost->operations;
      cheapest = &workload;
    }
  return cheapest;
}

}  // namespace

Result<Import> import_file(const problem::PythonPlace& python, const std::string& kind, const std::string& place,
                           const ImportLimits& limits) {
  Import import;
  import.file = place;
  const size_t colon = place.find(".py:");
  const std::string path = colon == std::string::npos ? place : place.substr(0, colon + 3);
  const std::string member = colon == std::string::npos ? "" : place.substr(colon + 3);
  const auto source = read_file(path, 16 << 20);
  if (!source) {
    import.reason = source.error().message;
    return import;
  }
  KW_TRY(const std::string package, problem::find_python_package());
  KW_TRY(const TempDir folder, TempDir::create("kw-import"));

  // The folder's name stays: level1/12_….py is called level1_12_….
  const fs::path asked = fs::absolute(path);
  const std::string task = folder / asked.parent_path().filename().string();
  KW_TRY_VOID(make_folder(task));
  KW_TRY_VOID(write_file(task + "/" + asked.filename().string(), *source));
  kw::Command command;
  command.argv = problem::python_argv(python, package, {"import", kind, task + "/" + asked.filename().string() + member, "-o", folder / "out", "--check"});
  command.wall_seconds = limits.wall_seconds;
  command.stdout_limit_bytes = command.stderr_limit_bytes = 4 << 20;
  command.limits.address_space_bytes = kAddressSpace;
  JailOptions jail;
  jail.read_only = jail_system_paths();
  jail.read_only.insert(jail.read_only.end(), python.installation.begin(), python.installation.end());
  jail.read_only.push_back(package + "/kernelwright");
  jail.work_dir = folder.path();
  jail.work_bytes = kFolderBytes;
  jail.memory_bytes = limits.memory_bytes;
  KW_TRY(const ProcessOutcome outcome, run_jailed(command, jail));
  if (outcome.reason != StopReason::kExited) {
    import.reason = describe(outcome);
  } else if (auto read = read_answer(import, folder / "out", limits.threads); !read) {
    import.reason = fmt::format("{}: {}", read.error().message, how_it_ended(outcome));
  }
  if (!import.reason.empty()) import.text.clear();
  return import;
}

void admit_import(Import& import, const ImportLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const auto problem = problem::parse_problem(import.text, import.name);
  if (!problem) return;
  problem::EvaluateOptions options;
  options.memory_limit = kMostMemory;
  options.operation_limit = kMostOperations;
  options.threads = limits.threads;
  options.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(limits.admission_seconds, kLongestWait)));
  const problem::Workload* workload = affordable(*problem);
  if (workload == nullptr) {
    import.admission = "it has no workload";
    return;
  }
  const auto admission = problem::admit(*problem, *workload, 1, options);
  if (!admission) {
    import.admission = Clock::now() > options.deadline ? fmt::format("it takes over {:g} s", limits.admission_seconds)
                                                       : first_line(admission.error().message);
    return;
  }
  import.admitted = admission->admitted();
  import.admission = workload->name;
  for (const auto& each : admission->cases) {
    if (!each.applicable) continue;
    if (each.as_expected) {
      if (!each.detail.empty()) import.untried.push_back(fmt::format("{}: {}", each.name, each.detail));
      continue;
    }
    if (import.rejected_by.empty()) import.admission = fmt::format("{}: {}", each.name, each.detail);
    import.rejected_by.push_back(each.name);
  }
}

}  // namespace kw::command
