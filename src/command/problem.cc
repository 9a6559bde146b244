#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/text_table.h"
#include "command/command.h"
#include "problem/admit.h"
#include "problem/problem.h"

namespace kw::command {
namespace {

Result<int> check(const Invocation& invocation, const Output& output) {
  const std::string path = invocation.text("problem");
  KW_TRY(auto text, read_file(path, 1 << 20));
  auto errors = problem::check_text(text, path);
  if (!errors.empty()) {
    for (size_t i = 0; i + 1 < errors.size(); ++i) output.note(format_error(errors[i]));
    return fail(errors.back());
  }
  KW_TRY(auto parsed, problem::parse_problem(text, path));
  for (const Error& missing : problem::check(parsed)) output.note(format_error(missing));
  output.out(fmt::format("{}: {} — {}; {} workloads\n", path, parsed.name, parsed.description, parsed.workloads.size()));
  return 0;
}

std::string status_of(const problem::AdmissionCase& c) {
  if (!c.applicable) return "does not apply: " + c.detail;
  if (!c.as_expected) return "UNEXPECTED: " + c.detail;
  return c.detail.empty() ? "as expected" : "as expected; " + c.detail;
}

Result<int> admit_one(const Invocation& invocation, const Output& output) {
  KW_TRY(auto parsed, problem::load_problem(invocation.text("problem")));
  const problem::Workload* workload = invocation.has("workload") ? parsed.find_workload(invocation.text("workload"))
                                                                 : problem::admission_workload(parsed);
  if (workload == nullptr) {
    return fail(ErrorCode::kNotFound, "{} has no workload '{}'", parsed.name, invocation.text("workload"));
  }
  KW_TRY(auto admission, problem::admit(parsed, *workload, invocation.integer("seed", 1)));
  output.out(fmt::format("{} on {}: {}\n", parsed.name, workload->name, admission.admitted() ? "sound" : "NOT SOUND"));
  for (const auto& tolerance : admission.tolerance.outputs) output.out(fmt::format("  {}\n", tolerance.text()));
  TextTable table({"kind", "case", "budget used", "answer"}, {Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft});
  for (const auto& c : admission.cases) {
    const bool compared = c.applicable && c.kind != problem::AdmissionKind::kWork;
    table.add_row({std::string(problem::kind_name(c.kind)), c.name, compared ? fmt::format("{:.3g}", c.budget_used) : "",
                   status_of(c)});
  }
  output.out(table.str(2));
  return admission.admitted() ? 0 : 1;
}

// One line for each problem file below a folder: what was admitted, and why the others were not.
Result<int> admit_folder(const Invocation& invocation, const Output& output) {
  namespace fs = std::filesystem;
  const std::string folder = invocation.text("problem");
  if (invocation.has("workload")) {
    return fail(ErrorCode::kInvalid, "--workload goes with one problem file, and '{}' is a folder", folder);
  }
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".problem") paths.push_back(at->path().string());
  }
  if (error) return fail(ErrorCode::kIo, "cannot read the folder '{}': {}", folder, error.message());
  if (paths.empty()) return fail(ErrorCode::kNotFound, "no .problem file in '{}' or below", folder);
  std::sort(paths.begin(), paths.end());
  size_t admitted = 0;
  for (const std::string& path : paths) {
    const auto say = [&](std::string_view answer, std::string_view why) {
      output.out(fmt::format("{:<9} {}{}{}\n", answer, fs::path(path).lexically_relative(folder).string(), why.empty() ? "" : ": ", why));
    };
    const auto parsed = problem::load_problem(path);
    const problem::Workload* workload = parsed ? problem::admission_workload(*parsed) : nullptr;
    const auto admission = workload != nullptr ? problem::admit(*parsed, *workload, invocation.integer("seed", 1))
                           : parsed            ? fail(ErrorCode::kInvalid, "it has no workload")
                                               : Result<problem::Admission>(fail(parsed.error()));
    if (!admission) {
      say("no answer", admission.error().message);
    } else if (admission->admitted()) {
      ++admitted;
      say("admitted", "");
    } else {
      const auto& cases = admission->cases;
      const auto why = std::find_if(cases.begin(), cases.end(), [](const auto& c) { return c.applicable && !c.as_expected; });
      say("rejected", why->name + ": " + why->detail);
    }
  }
  output.out(fmt::format("{} of {} admitted\n", admitted, paths.size()));
  return admitted == paths.size() ? 0 : 1;
}

Result<int> admit(const Invocation& invocation, const Output& output) {
  std::error_code ignored;
  return std::filesystem::is_directory(invocation.text("problem"), ignored) ? admit_folder(invocation, output)
                                                                            : admit_one(invocation, output);
}

}  // namespace

std::vector<Command> problem_commands() {
  const Argument file{"problem", ArgumentKind::kPath, true, true, "", "a problem file (docs/formats/problem.md)", {}};
  return {{{"problem", "check"}, "check a problem file; every error with its place", "", {file}, check},
          {{"problem", "admit"},
           "is the problem itself sound? wrong answers must fail its budget, honest ones pass",
           "Give a folder to ask about every problem file in it and below: a line for each, and why it is not sound.",
           {{"problem", ArgumentKind::kPath, true, true, "", "a problem file, or a folder of them", {}},
            {"workload", ArgumentKind::kText, false, false, "", "its name; default: the one with the role emulator", {}},
            {"seed", ArgumentKind::kInteger, false, false, "1", "seed of the inputs", {}}},
           admit}};
}

}  // namespace kw::command
