#include "base/file.h"
#include "command/command.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "toolchain/arguments.h"
#include "toolchain/toolchain.h"

namespace kw::command {
namespace {

Result<plan::Plan> load(const Invocation& invocation) {
  const std::string path = invocation.text("plan");
  KW_TRY(auto text, read_file(path, plan::kMaxPlanText));
  return plan::parse(text, path);
}

Result<int> show(const Invocation& invocation, const Output& output) {
  KW_TRY(auto loaded, load(invocation));
  output.out(plan::show(loaded));
  return 0;
}

Result<int> check(const Invocation& invocation, const Output& output) {
  KW_TRY(auto loaded, load(invocation));
  KW_TRY_VOID(plan::check(loaded));
  output.out(fmt::format("{}: a sound plan for {}: {} modules, {} buffers, {} steps\n", invocation.text("plan"), loaded.target,
                         loaded.modules.size(), loaded.buffers.size(), loaded.steps.size()));
  return 0;
}

// 1: the candidate does not compile or cannot be recorded, and why.
Result<int> record(const Invocation& invocation, const Output& output) {
  KW_TRY(const problem::Problem problem, problem::load_problem(invocation.text("problem")));
  const std::string name = invocation.text("workload");
  const problem::Workload* workload = problem.find_workload(name);
  if (workload == nullptr) {
    std::vector<std::string> names;
    for (const problem::Workload& each : problem.workloads) names.push_back(each.name);
    return fail(ErrorCode::kNotFound, "{} has no workload '{}': it has {}", problem.name, name, fmt::join(names, ", "));
  }
  KW_TRY(const auto compiler, toolchain::find_compiler(invocation.text("candidate")));
  toolchain::Candidate candidate;
  candidate.path = invocation.text("candidate");
  candidate.target = invocation.text("target");
  KW_TRY(const auto compiled, toolchain::compile(compiler, candidate));
  if (const auto* errors = std::get_if<toolchain::CompileErrors>(&compiled)) {
    output.out(fmt::format("{} does not compile: {}\n", candidate.path, errors->summary()));
    return 1;
  }
  KW_TRY(const auto recorded, toolchain::record(std::get<toolchain::Compiled>(compiled), toolchain::arguments_of(problem, *workload)));
  if (const auto* reason = std::get_if<toolchain::Unrecordable>(&recorded)) {
    output.out(fmt::format("{} cannot be recorded: {}{}{}\n", candidate.path, reason->call, reason->call.empty() ? "" : ": ", reason->message));
    return 1;
  }
  const auto& plan = std::get<plan::Plan>(recorded);
  KW_TRY_VOID(write_file(invocation.text("out"), plan::write(plan)));
  output.note(fmt::format("{}: {} modules, {} buffers, {} steps\n", invocation.text("out"), plan.modules.size(), plan.buffers.size(), plan.steps.size()));
  return 0;
}

}  // namespace

std::vector<Command> plan_commands() {
  const Argument file{"plan", ArgumentKind::kPath, true, true, "", "a plan (docs/formats/plan.md)", {}};
  return {{{"plan", "show"}, "print a plan for reading: buffers, launches, their order", "", {file}, show},
          {{"plan", "check"}, "check a plan: every reference, size, offset and limit", "", {file}, check},
          {{"plan", "record"},
           "compile a candidate, record it for one workload, and write the plan",
           "Example: kw plan record problems/row_softmax.problem kernels/row_softmax.cu --workload scores --out plan.json",
           {{"problem", ArgumentKind::kPath, true, true, "", "a problem file", {}},
            {"candidate", ArgumentKind::kPath, true, true, "", "a .cu file with KW_ENTRY, a folder of them, or a .py file in Triton", {}},
            {"workload", ArgumentKind::kText, false, true, "", "the name of one of the problem's workloads", {}},
            {"out", ArgumentKind::kPath, false, true, "", "the file to write", {}},
            {"target", ArgumentKind::kText, false, false, "sm_80", "GPU architecture to compile for", {}}},
           record,
           true}};
}

}  // namespace kw::command
