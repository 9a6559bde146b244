#include "base/file.h"
#include "command/command.h"
#include "plan/plan.h"

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

}  // namespace

std::vector<Command> plan_commands() {
  const Argument file{"plan", ArgumentKind::kPath, true, true, "", "a plan (docs/formats/plan.md)", {}};
  return {{{"plan", "show"}, "print a plan for reading: buffers, launches, their order", "", {file}, show},
          {{"plan", "check"}, "check a plan: every reference, size, offset and limit", "", {file}, check}};
}

}  // namespace kw::command
