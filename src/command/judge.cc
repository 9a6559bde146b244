#include <filesystem>

#include "base/file.h"
#include "command/command.h"
#include "judge/evaluate.h"
#include "judge/page.h"
#include "problem/problem.h"

namespace kw::command {
namespace {

// Source text for the page: the candidate itself, or a file inside its folder; nothing else is opened, whatever
// a candidate's #line directives say.
judge::SourceText source_of(const std::string& candidate) {
  namespace fs = std::filesystem;
  return [candidate](const std::string& file) -> std::string {
    std::error_code ignored;
    fs::path path = candidate;
    const fs::path named = file;
    if (fs::is_directory(path, ignored)) {
      if (named.is_absolute()) return "";
      for (const auto& part : named) {
        if (part == "..") return "";
      }
      path /= named;
    } else if (named.filename() != path.filename()) {
      return "";
    }
    auto text = read_file(path.string(), 4 << 20);
    return text ? *text : "";
  };
}

Result<int> run(const Invocation& invocation, const Output& output) {
  KW_TRY(auto problem, problem::load_problem(invocation.text("problem")));
  judge::Options options;
  options.target = invocation.text("target");
  if (invocation.has("seed")) options.seed = invocation.integer("seed");
  options.threads = static_cast<int>(invocation.integer("threads"));
  options.kernel_deadline_s = invocation.real("deadline", options.kernel_deadline_s);
  const bool json = invocation.flag("json");

  const std::string candidate = invocation.text("candidate");
  const std::string meaning = problem.description.empty() ? "" : fmt::format(" (\"{}\")", problem.description);
  output.note(fmt::format("judging {} as {}{} for {}\n", candidate, problem.name, meaning, options.target));
  auto progress = [&](const judge::RungReport& report, bool finished) {
    if (finished) {
      output.note((output.live ? "\r\033[K" : "") + judge::ladder_line(report) + "\n");
    } else if (output.live) {
      output.note(fmt::format("  {:<10} …", judge::name_of(report.rung)));
    }
  };
  KW_TRY(auto verdict, judge::evaluate(problem, candidate, options, progress));
  output.out(json ? judge::to_json(verdict) : judge::page(verdict, source_of(candidate)));
  return judge::exit_code(verdict.outcome);
}

}  // namespace

Command judge_command() {
  return {{"judge"},
          "say whether a candidate computes a problem, and if not, where and why",
          "Climbs the ladder: compile, record, contract, smallest, shapes, schedules; the first rung that fails decides.\n"
          "No GPU is needed. Exit code: 0 correct, 1 any other verdict, 2 unreadable input, 3 not checked.\n"
          "Example: kw judge problems/row_softmax.problem kernels/row_softmax.cu",
          {{"problem", ArgumentKind::kPath, true, true, "", "a problem file", {}},
           {"candidate", ArgumentKind::kPath, true, true, "", "a .cu file with KW_ENTRY, or a folder of them", {}},
           {"target", ArgumentKind::kText, false, false, "sm_80", "GPU architecture to compile and judge for", {}},
           {"json", ArgumentKind::kFlag, false, false, "", "print the verdict as JSON instead of the page", {}},
           {"seed", ArgumentKind::kInteger, false, false, "", "seed of inputs, shapes and schedules; default: a fresh secret one", {}},
           {"threads", ArgumentKind::kInteger, false, false, "0", "host threads for emulation; 0: all cores", {}},
           {"deadline", ArgumentKind::kReal, false, false, "60", "seconds that one emulated workload may take", {}}},
          run};
}

}  // namespace kw::command
