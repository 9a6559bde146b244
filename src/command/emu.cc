#include "command/command.h"
#include "toolchain/toolchain.h"

namespace kw::command {
namespace {

Result<int> run(const Invocation& invocation, const Output&) {
  toolchain::EmulatedRun request;
  request.command = invocation.rest;
  const std::string check = invocation.text("check");
  request.check_races = check == "race" || check == "all";
  request.check_uninitialised = check == "uninit" || check == "all";
  request.count = invocation.flag("counters");
  request.threads = static_cast<int>(invocation.integer("threads"));
  request.schedule_seed = invocation.integer("schedule");
  request.json_report = invocation.text("report");
  return toolchain::run_emulated(request);
}

}  // namespace

std::vector<Command> emu_commands() {
  return {{{"emu", "run"},
           "run a program that `kw nvcc` built, its kernels on the emulator",
           "Out-of-bounds and misaligned accesses, deadlocks and divergent barriers are always reported.\n"
           "Exit code: the program's own; 1 when that is 0 and there were findings.\n"
           "Example: kw emu run --check=all --counters ./app 1024",
           {{"check", ArgumentKind::kText, false, false, "none", "further checks: none, race, uninit, all", {"none", "race", "uninit", "all"}},
            {"counters", ArgumentKind::kFlag, false, false, "", "print instruction and memory counters of each kernel at exit", {}},
            {"threads", ArgumentKind::kInteger, false, false, "0", "host threads; 0: all cores", {}},
            {"schedule", ArgumentKind::kInteger, false, false, "0", "seed of the order of warps and blocks; 0: round robin", {}},
            {"report", ArgumentKind::kPath, false, false, "", "also write findings and counters as JSON to this file", {}},
            {"program", ArgumentKind::kRest, true, true, "", "the program and its arguments", {}}},
           run}};
}

}  // namespace kw::command
