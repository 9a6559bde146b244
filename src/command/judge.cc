#include <filesystem>

#include "base/file.h"
#include "command/own_gpu.h"
#include "command/suite_output.h"
#include "judge/evaluate.h"
#include "judge/evidence.h"
#include "judge/page.h"
#include "problem/problem.h"

namespace kw::command {
namespace {

Result<judge::Options> options_of(const Invocation& invocation) {
  judge::Options options;
  options.target = invocation.text("target");
  if (invocation.has("seed")) options.seed = invocation.integer("seed");
  options.threads = static_cast<int>(invocation.integer("threads"));
  options.kernel_deadline_s = invocation.real("deadline", options.kernel_deadline_s);
  options.time = invocation.flag("time");
  if (invocation.flag("gpu")) KW_TRY_VOID(judge_on_own_gpu(options, options.time));
  options.energy = invocation.flag("energy");
  options.unsealed = invocation.flag("unsealed");
  KW_TRY(options.against, rivals_of(invocation));
  if (!options.against.empty() && !options.time) return fail(ErrorCode::kInvalid, "--against without --time: rivals are measured; add --gpu --time, or leave it out");
  if (options.energy && !options.time) return fail(ErrorCode::kInvalid, "--energy without --time: it is measured beside times; add --gpu --time, or leave it out");
  if (options.time && !options.gpu) return fail(ErrorCode::kInvalid, "--time without --gpu: times are a GPU's; add --gpu, or leave --time out");
  return options;
}

Result<int> run_one(const Invocation& invocation, const Output& output) {
  if (invocation.text("candidate").ends_with(".problem")) {
    const bool swapped = !invocation.text("problem").ends_with(".problem");
    return fail(Error{ErrorCode::kInvalid, fmt::format("{} is given as the candidate, but it is a problem", invocation.text("candidate")), {}, {},
                      {swapped ? fmt::format("the problem comes first: kw judge {} {}", invocation.text("candidate"), invocation.text("problem"))
                               : "a candidate is a .cu file, or a folder of them; `kw judge --suite DIR` judges those that problems name"}});
  }
  KW_TRY(auto problem, problem::load_problem(invocation.text("problem")));
  KW_TRY(const judge::Options options, options_of(invocation));
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
  // The verdict first: what cannot be stored is told all the same.
  output.out(invocation.flag("json") ? judge::to_json(verdict) : judge::page(verdict, judge::source_text_of(candidate)));
  if (invocation.has("evidence")) {
    KW_TRY(const std::string stored, judge::store(invocation.text("evidence"), problem, verdict));
    output.note(fmt::format("stored as {}\n", stored));
  }
  return judge::exit_code(verdict.outcome);
}

Result<int> run_suite(const Invocation& invocation, const Output& output) {
  for (const char* name : {"junit", "summary"}) KW_TRY_VOID(check_place(invocation, name));
  judge::SuiteOptions options;
  KW_TRY(options.judge, options_of(invocation));
  options.jobs = static_cast<int>(invocation.integer("jobs"));
  KW_TRY(const judge::Suite suite, judge::run_suite(invocation.text("suite"), options, progress_to(output)));
  return finish_suite(suite, invocation, output);
}

// 0: the same verdict; 1: another.
Result<int> recheck(const Invocation& invocation, const Output& output) {
  KW_TRY(const judge::Recheck result, judge::recheck(invocation.text("recheck"), [&](const judge::RungReport& report, bool finished) {
           if (finished) output.note(judge::ladder_line(report) + "\n");
         }));
  for (const std::string& difference : result.differences) output.out(difference + "\n");
  output.out(fmt::format("{}: {}\n", result.differences.empty() ? "the same verdict" : "another verdict", judge::name_of(result.verdict.outcome)));
  return result.differences.empty() ? 0 : 1;
}

// An option that would do nothing is a mistake: who gives --junit waits for a file.
Status check_options(const Invocation& invocation) {
  const std::string subject = invocation.has("suite") ? "--suite" : invocation.has("recheck") ? "--recheck" : "a single candidate";
  const auto refuse = [&](const char* name) { return fail(ErrorCode::kInvalid, "--{} does not go with {}: leave it out", name, subject); };
  for (const char* name : {"junit", "summary"})
    if (invocation.has(name) && !invocation.has("suite")) return refuse(name);
  for (const char* name : {"json", "evidence", "against", "unsealed"})
    if (invocation.has(name) && (invocation.has("suite") || invocation.has("recheck"))) return refuse(name);
  for (const char* name : {"seed", "gpu", "time", "energy"})
    if (invocation.has(name) && invocation.has("recheck")) return refuse(name);
  return alone_when_timed(invocation);
}

Result<int> run(const Invocation& invocation, const Output& output) {
  KW_TRY_VOID(check_options(invocation));
  const bool pair = invocation.has("problem") && invocation.has("candidate");
  for (const auto& [name, face] : {std::pair{"suite", &run_suite}, std::pair{"recheck", &recheck}}) {
    if (!invocation.has(name)) continue;
    if (invocation.has("problem") || (invocation.has("suite") && invocation.has("recheck"))) {
      return fail(ErrorCode::kInvalid, "give one of these: PROBLEM and CANDIDATE, --suite, --recheck");
    }
    return face(invocation, output);
  }
  if (!pair) return fail(ErrorCode::kInvalid, "name a problem and a candidate: kw judge PROBLEM CANDIDATE; or --suite DIR; or --recheck VERDICT");
  return run_one(invocation, output);
}

}  // namespace

Status check_place(const Invocation& invocation, const char* name) {
  if (!invocation.has(name)) return {};
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path path = invocation.text(name), folder = path.parent_path();
  if (fs::is_directory(path, ignored)) return fail(ErrorCode::kInvalid, "--{}: {} is a folder; name a file", name, path.string());
  if (!folder.empty() && !fs::is_directory(folder, ignored)) {
    return fail(ErrorCode::kNotFound, "--{}: there is no folder {}; make it first", name, folder.string());
  }
  return {};
}

Status alone_when_timed(const Invocation& invocation) {
  if (!invocation.flag("time") || invocation.integer("jobs") <= 1) return {};
  return fail(ErrorCode::kInvalid, "--jobs {} with --time: what runs beside a candidate is in its times; leave --jobs out", invocation.text("jobs"));
}

judge::SuiteProgress progress_to(const Output& output) {
  return [&output](const judge::SuiteCase& c, size_t done, size_t all) {
    output.note(fmt::format("{:>{}}/{} {}", done, fmt::formatted_size("{}", all), all, judge::line_of(c)));
  };
}

Result<int> finish_suite(const judge::Suite& suite, const Invocation& invocation, const Output& output) {
  output.out(judge::closing_line(suite) + "\n");
  if (invocation.has("junit")) KW_TRY_VOID(write_file(invocation.text("junit"), judge::junit_xml(suite)));
  if (invocation.has("summary")) KW_TRY_VOID(write_file(invocation.text("summary"), judge::markdown_summary(suite)));
  return suite.as_expected() == suite.cases.size() ? 0 : 1;
}

Command judge_command() {
  return {{"judge"},
          "say whether a candidate computes a problem, and if not, where and why",
          "Climbs the ladder: compile, record, contract, smallest, shapes, values, schedules, pieces, and with --gpu full and time;\n"
          "the first rung that fails decides. No GPU is needed. Exit code: 0 correct, 1 any other verdict, 2 unreadable input, 3 not checked.\n"
          "Example: kw judge problems/row_softmax.problem kernels/row_softmax.cu\n"
          "         kw judge --suite problems --junit verdicts.xml",
          {{"problem", ArgumentKind::kPath, true, false, "", "a problem file", {}},
           {"candidate", ArgumentKind::kPath, true, false, "", "a .cu file with KW_ENTRY, a folder of them, or a .py file in Triton; with --unsealed a .py file with ModelNew", {}},
           {"target", ArgumentKind::kText, false, false, "sm_80", "GPU architecture to compile and judge for", {}},
           {"suite", ArgumentKind::kPath, false, false, "", "judge a folder of fixtures, or of problems with their candidates", {}},
           {"jobs", ArgumentKind::kInteger, false, false, "0", "of a suite: candidates at once; 0: one per core", {}},
           {"junit", ArgumentKind::kPath, false, false, "", "of a suite: write JUnit XML here", {}},
           {"summary", ArgumentKind::kPath, false, false, "", "of a suite: write a Markdown summary here", {}},
           {"recheck", ArgumentKind::kPath, false, false, "", "judge again what a stored verdict is about, and compare", {}},
           {"evidence", ArgumentKind::kPath, false, false, "", "keep the verdict, the problem and the candidate in this store", {}},
           {"gpu", ArgumentKind::kFlag, false, false, "", "run every workload on this machine's GPU too, the real ones included", {}},
           {"time", ArgumentKind::kFlag, false, false, "", "with --gpu: also measure the real workloads", {}},
           {"energy", ArgumentKind::kFlag, false, false, "", "with --time: also joules a call, which takes some 25 s more for each real workload", {}},
           {"against", ArgumentKind::kPath, false, false, "", "with --time: what to time it against, call by call: another candidate, PyTorch by `eager` or `compile`, or a library by `cublaslt` or `cudnn`; several with commas between", {}},
           {"unsealed", ArgumentKind::kFlag, false, false, "", "the candidate may be a .py file with ModelNew: it runs outside of the jail", {}},
           {"json", ArgumentKind::kFlag, false, false, "", "print the verdict as JSON instead of the page", {}},
           {"seed", ArgumentKind::kInteger, false, false, "", "seed of inputs, shapes and schedules; default: a fresh secret one", {}},
           {"threads", ArgumentKind::kInteger, false, false, "0", "host threads for emulation; 0: all cores", {}},
           {"deadline", ArgumentKind::kReal, false, false, "60", "seconds that one emulated workload may take", {}}},
          run, true};
}

}  // namespace kw::command
