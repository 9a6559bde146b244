#include "base/file.h"
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

Result<int> admit(const Invocation& invocation, const Output& output) {
  KW_TRY(auto parsed, problem::load_problem(invocation.text("problem")));
  const problem::Workload* workload = invocation.has("workload") ? parsed.find_workload(invocation.text("workload"))
                                                                 : problem::admission_workload(parsed);
  if (workload == nullptr) {
    return fail(ErrorCode::kNotFound, "{} has no workload '{}'", parsed.name, invocation.text("workload"));
  }
  KW_TRY(auto admission, problem::admit(parsed, *workload, invocation.integer("seed", 1)));
  output.out(fmt::format("{} on {}: {}\n", parsed.name, workload->name, admission.admitted() ? "sound" : "NOT SOUND"));
  for (const auto& tolerance : admission.tolerance.outputs) output.out(fmt::format("  {}\n", tolerance.text()));
  for (const auto& c : admission.cases) {
    if (!c.applicable) {
      output.out(fmt::format("  {:<7} {:<30} does not apply: {}\n", c.honest ? "honest" : "mutant", c.name, c.detail));
    } else {
      output.out(fmt::format("  {:<7} {:<30} {:>10.3g} of the budget, {}\n", c.honest ? "honest" : "mutant", c.name, c.budget_used,
                             c.as_expected ? "as expected" : "UNEXPECTED " + c.detail));
    }
  }
  return admission.admitted() ? 0 : 1;
}

}  // namespace

std::vector<Command> problem_commands() {
  const Argument file{"problem", ArgumentKind::kPath, true, true, "", "a problem file (docs/formats/problem.md)", {}};
  return {{{"problem", "check"}, "check a problem file; every error with its place", "", {file}, check},
          {{"problem", "admit"},
           "is the problem itself sound? wrong answers must fail its budget, honest ones pass",
           "",
           {file,
            {"workload", ArgumentKind::kText, false, false, "", "its name; default: the one with the role emulator", {}},
            {"seed", ArgumentKind::kInteger, false, false, "1", "seed of the inputs", {}}},
           admit}};
}

}  // namespace kw::command
