#include "base/file.h"
#include "command/command.h"
#include "command/own_gpu.h"
#include "command/suite_output.h"
#include "judge/bundle.h"
#include "judge/worker.h"

namespace kw::command {
namespace {

// Single candidates are fixtures that must be correct.
Result<std::vector<judge::Fixture>> candidates_of(const Invocation& invocation) {
  std::vector<judge::Fixture> out;
  KW_TRY_VOID(problem::load_problem(invocation.text("problem")));
  for (const std::string& candidate : invocation.rest) {
    if (candidate.starts_with("--")) return fail(ErrorCode::kInvalid, "{} comes after the candidates: give options before PROBLEM", candidate);
    judge::Fixture fixture;
    fixture.name = fixture.candidate = candidate;
    fixture.problem = invocation.text("problem");
    fixture.targets = {invocation.text("target")};
    fixture.verdict = "correct";
    out.push_back(std::move(fixture));
  }
  return out;
}

std::string packed_line(const judge::SuiteCase& c) { return fmt::format("{:<13}{:<44} {:<6} {:>35.1f} s\n", "packed", c.name, c.target, c.seconds); }

Result<int> make(const Invocation& invocation, const Output& output) {
  if (!invocation.has("out")) return fail(ErrorCode::kInvalid, "--out is missing: name the file to write, before PROBLEM");
  KW_TRY_VOID(check_place(invocation, "out"));
  if (invocation.has("suite") ? invocation.has("problem") : invocation.rest.empty())
    return fail(ErrorCode::kInvalid, "give one of these: PROBLEM and candidates, --suite");
  std::vector<judge::Fixture> fixtures;
  if (invocation.has("suite")) { KW_TRY(fixtures, judge::find_fixtures(invocation.text("suite"))); }
  else { KW_TRY(fixtures, candidates_of(invocation)); }
  judge::SuiteOptions options;
  options.judge.target = invocation.text("target");
  options.judge.threads = static_cast<int>(invocation.integer("threads"));
  options.judge.kernel_deadline_s = invocation.real("deadline", options.judge.kernel_deadline_s);
  if (invocation.has("seed")) options.judge.seed = invocation.integer("seed");
  options.same_seed = !invocation.has("suite");
  options.jobs = static_cast<int>(invocation.integer("jobs"));
  KW_TRY(const judge::Packed packed, judge::pack(invocation.text("suite"), fixtures, options, [&](const judge::SuiteCase& c, size_t done, size_t all) {
           output.note(fmt::format("{:>{}}/{} {}", done, fmt::formatted_size("{}", all), all, c.got == "packed" ? packed_line(c) : judge::line_of(c)));
         }));
  // A bundle that was there is worth more than one with a hole in it.
  for (const judge::SuiteCase& c : packed.suite.cases)
    if (c.got == "error") return fail(ErrorCode::kInvalid, "{} is not written: {} could not be judged, see above", invocation.text("out"), c.name);
  if (packed.packed == 0) {
    output.note(fmt::format("{} is not written: no candidate goes on to the GPU\n", invocation.text("out")));
    return 1;
  }
  KW_TRY_VOID(write_file(invocation.text("out"), packed.bytes));
  output.out(fmt::format("{}: {} of {} candidates go on to the GPU; {:.1f} MB\n", invocation.text("out"), packed.packed, packed.suite.cases.size(),
                         static_cast<double>(packed.bytes.size()) * 1e-6));
  return invocation.has("suite") || packed.packed == packed.suite.cases.size() ? 0 : 1;
}

Result<int> show(const Invocation& invocation, const Output& output) {
  KW_TRY(const judge::Bundle bundle, judge::Bundle::open(invocation.text("bundle")));
  size_t packed = 0;
  for (const judge::BundleCase& each : bundle.cases) {
    const std::string state = each.goes_on ? fmt::format("{} plans", each.plans.size()) : each.c.got;
    output.out(fmt::format("{:<44} {:<8} {}\n", each.c.name, each.c.target, state));
    packed += each.goes_on;
  }
  output.out(fmt::format("bundle {}: {} of {} candidates go on to the GPU; {:.1f} MB\n", bundle.hash, packed, bundle.cases.size(),
                         static_cast<double>(bundle.bytes) * 1e-6));
  return 0;
}

Result<int> import(const Invocation& invocation, const Output& output) {
  for (const char* name : {"junit", "summary"}) KW_TRY_VOID(check_place(invocation, name));
  KW_TRY(const judge::Suite suite, judge::import_results(invocation.text("results"), invocation.text("evidence")));
  for (const judge::SuiteCase& c : suite.cases) output.note(judge::line_of(c));
  return finish_suite(suite, invocation, output);
}

Result<int> worker(const Invocation& invocation, const Output& output) {
  KW_TRY(const judge::Bundle bundle, judge::Bundle::open(invocation.text("bundle")));
  KW_TRY_VOID(alone_when_timed(invocation));
  judge::WorkerOptions options;
  options.threads = static_cast<int>(invocation.integer("threads"));
  options.jobs = static_cast<int>(invocation.integer("jobs"));
  options.time = invocation.flag("time");
  options.energy = invocation.flag("energy");
  if (options.energy && !options.time) return fail(ErrorCode::kInvalid, "--energy without --time: it is measured beside times; add --time, or leave it out");
  if (options.time && invocation.flag("emulator")) return fail(ErrorCode::kInvalid, "--time with --emulator: times are a GPU's; leave one of them out");
  if (invocation.flag("emulator")) {
    options.gpu = device::make_emulator();
  } else {
    KW_TRY_VOID(judge_on_own_gpu(options, options.time, invocation.text("gpu")));
  }
  KW_TRY(const judge::Suite suite, judge::work(bundle, invocation.text("out"), options, progress_to(output)));
  return finish_suite(suite, invocation, output);
}

}  // namespace

std::vector<Command> bundle_commands() {
  const Argument junit{"junit", ArgumentKind::kPath, false, false, "", "write JUnit XML here", {}};
  const Argument summary{"summary", ArgumentKind::kPath, false, false, "", "write a Markdown summary here", {}};
  const Argument bundle{"bundle", ArgumentKind::kPath, true, true, "", "what `kw bundle make` wrote", {}};
  return {{{"bundle", "make"},
           "judge candidates as far as that goes without a GPU, and pack what a GPU is to go on with",
           "Climbs compile to pieces here; `kw worker` climbs the rest on a machine that has a GPU and needs no compiler; `kw bundle import`\n"
           "brings the verdicts home. Options come before PROBLEM. Exit code: 0 all candidates go on (of a suite: all could be judged), 1 some do\n"
           "not, 2 one could not be judged; then nothing is written.\n"
           "Example: kw bundle make --out softmax.kwb problems/row_softmax.problem kernels/row_softmax.cu\n"
           "         kw bundle make --out all.kwb --suite problems",
           {{"problem", ArgumentKind::kPath, true, false, "", "a problem file", {}},
            {"candidates", ArgumentKind::kRest, true, false, "", ".cu files with KW_ENTRY, or folders of them", {}},
            {"out", ArgumentKind::kPath, false, false, "", "the file to write", {}},
            {"suite", ArgumentKind::kPath, false, false, "", "pack a folder of fixtures, or of problems with their candidates", {}},
            {"target", ArgumentKind::kText, false, false, "sm_80", "GPU architecture to compile for; a suite's fixtures have their own", {}},
            {"jobs", ArgumentKind::kInteger, false, false, "0", "candidates at once; 0: one per core", {}},
            {"seed", ArgumentKind::kInteger, false, false, "", "seed of inputs, shapes and schedules; default: a fresh secret one", {}},
            {"threads", ArgumentKind::kInteger, false, false, "0", "host threads for each candidate's emulation; 0: one", {}},
            {"deadline", ArgumentKind::kReal, false, false, "60", "seconds that one workload may take on a device", {}}},
           make,
           true},
          {{"bundle", "show"}, "list what is in a bundle", "", {bundle}, show},
          {{"bundle", "import"},
           "take over what a worker found: the verdicts and what they are about",
           "Exit code: 0 all as expected, 1 not, or not all have answers.",
           {{"results", ArgumentKind::kPath, true, true, "", "the folder that `kw worker --out` filled", {}},
            {"evidence", ArgumentKind::kPath, false, false, "", "put the verdicts, problems and candidates into this store", {}},
            junit,
            summary},
           import},
          {{"worker"},
           "go on with a bundle on a machine with a GPU, without compiler or Python",
           "Killed and started again it goes on where it was. Exit code: 0 all as expected, 1 not.\n"
           "Example: kw worker all.kwb --out results",
           {bundle,
            {"out", ArgumentKind::kPath, false, true, "", "the folder for results", {}},
            {"gpu", ArgumentKind::kInteger, false, false, "0", "which GPU, by its number in `kw device list`", {}},
            {"emulator", ArgumentKind::kFlag, false, false, "", "run on the emulator instead, real workloads left out that are too large for it", {}},
            {"time", ArgumentKind::kFlag, false, false, "", "also measure the real workloads; candidates then come one by one", {}},
            {"energy", ArgumentKind::kFlag, false, false, "", "with --time: also joules a call, which takes some 25 s more for each real workload", {}},
            {"jobs", ArgumentKind::kInteger, false, false, "0", "candidates at once; 0: one per core", {}},
            {"threads", ArgumentKind::kInteger, false, false, "0", "host threads of each candidate; 0: one", {}},
            junit,
            summary},
           worker,
           true}};
}

}  // namespace kw::command
