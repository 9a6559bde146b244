#include <filesystem>

#include "command/command.h"
#include "command/own_gpu.h"
#include "problem/problem.h"
#include "profile/suite.h"

namespace kw::command {
namespace {

// On a GPU, its architecture is the target unless another is asked for.
Status add_gpu(const Invocation& invocation, profile::Options& options) {
  if (!invocation.flag("gpu")) return {};
  KW_TRY(const auto gpus, device::list_gpus());
  if (!invocation.has("target") || invocation.text("target") == "sm_80") options.target = gpus.front().target;
  KW_TRY(options.gpu, own_gpu());
  return {};
}

Result<int> run_suite(const Invocation& invocation, const Output& output) {
  for (const char* name : {"problem", "candidate", "target", "workload", "json", "counters"}) {
    const bool given = invocation.has(name) && !(std::string_view(name) == "target" && invocation.text(name) == "sm_80");
    if (given) return fail(ErrorCode::kInvalid, "--suite goes without {}: the fixtures say it", name);
  }
  profile::SuiteOptions options;
  options.profile.seed = invocation.integer("seed");
  options.profile.threads = static_cast<int>(invocation.integer("threads"));
  options.profile.deadline_s = invocation.real("deadline", options.profile.deadline_s);
  options.jobs = static_cast<int>(invocation.integer("jobs"));
  KW_TRY_VOID(add_gpu(invocation, options.profile));
  KW_TRY(const profile::Suite suite, profile::run_suite(invocation.text("suite"), options, [&](const profile::SuiteCase& c, size_t done, size_t all) {
           output.note(fmt::format("{}/{} {}  {}  {:.1f} s  {}\n", done, all, c.why.empty() ? "as expected" : "DEVIATES   ", c.name, c.seconds, fmt::join(c.fired, " ")));
           for (const std::string& why : c.why) output.note("      " + why + "\n");
         }));
  output.out(profile::table_of(suite));
  if (const std::string measured = profile::measured_table_of(suite); !measured.empty()) output.out("\n" + measured);
  return suite.as_expected() ? 0 : 1;
}

Result<int> run(const Invocation& invocation, const Output& output) {
  if (invocation.has("suite")) return run_suite(invocation, output);
  if (!invocation.has("problem") || !invocation.has("candidate")) {
    return fail(ErrorCode::kInvalid, "name a problem and a candidate: kw profile PROBLEM CANDIDATE; or --suite DIR");
  }
  KW_TRY(const auto problem, problem::load_problem(invocation.text("problem")));
  profile::Options options;
  options.target = invocation.text("target");
  options.workload = invocation.text("workload");
  options.seed = invocation.integer("seed");
  options.threads = static_cast<int>(invocation.integer("threads"));
  options.deadline_s = invocation.real("deadline", options.deadline_s);
  KW_TRY_VOID(add_gpu(invocation, options));
  if (invocation.flag("counters")) {
    if (!options.gpu) return fail(ErrorCode::kInvalid, "--counters goes with --gpu: they are the GPU's own");
    std::error_code unknown;
    const std::string own = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
    if (unknown) return fail(ErrorCode::kIo, "this program cannot tell its own file: {}", unknown.message());
    options.replay = {own, "device", "replay"};
  }
  KW_TRY(options.calibration, device::stored_calibration(options.target));
  KW_TRY(const auto profile, profile::profile(problem, invocation.text("candidate"), options));
  output.out(invocation.flag("json") ? profile::to_json(profile) : profile::page(profile));
  return 0;
}

}  // namespace

Command profile_command() {
  return {{"profile"},
          "say what bounds a candidate and what would make it faster",
          "From the compiler's report, the machine code, the emulator's counters and the problem's graph: class, advice, metrics.\n"
          "No GPU is needed; without --gpu every time is an estimate (docs/formats/profile.md).\n"
          "Example: kw profile problems/gemm_f16.problem kernels/gemm_f16.cu",
          {{"problem", ArgumentKind::kPath, true, false, "", "a problem file", {}},
           {"candidate", ArgumentKind::kPath, true, false, "", "a .cu file with KW_ENTRY, or a folder of them", {}},
           {"target", ArgumentKind::kText, false, false, "sm_80", "GPU architecture to compile and profile for", {}},
           {"workload", ArgumentKind::kText, false, false, "", "the workload to profile; default: the first real one", {}},
           {"suite", ArgumentKind::kPath, false, false, "", "profile a folder of fixtures; a table of each tool's precision and recall", {}},
           {"jobs", ArgumentKind::kInteger, false, false, "0", "of a suite: candidates at once; 0: one per core", {}},
           {"gpu", ArgumentKind::kFlag, false, false, "", "also measure on this machine's GPU; the default target is then its own", {}},
           {"counters", ArgumentKind::kFlag, false, false, "", "with --gpu: also read its hardware counters, by ncu", {}},
           {"json", ArgumentKind::kFlag, false, false, "", "print JSON instead of the page", {}},
           {"seed", ArgumentKind::kInteger, false, false, "1", "seed of the inputs that are counted", {}},
           {"threads", ArgumentKind::kInteger, false, false, "0", "host threads for emulation; 0: all cores", {}},
           {"deadline", ArgumentKind::kReal, false, false, "60", "seconds that the emulated workload may take", {}}},
          run, true};
}

}  // namespace kw::command
