#include <sys/stat.h>

#include "base/file.h"
#include "command/command.h"
#include "command/own_gpu.h"
#include "device/device_process.h"
#include "device/calibration.h"
#include "problem/problem.h"
#include "profile/measure.h"

namespace kw::command {
namespace {

constexpr int kProcesses = 12;

Result<int> list(const Invocation&, const Output& output) {
  KW_TRY(const auto gpus, device::list_gpus());
  for (size_t i = 0; i < gpus.size(); ++i) {
    const device::GpuInfo& gpu = gpus[i];
    output.out(fmt::format("{}: {}, {}, {} multiprocessors, {:.1f} GiB, driver for CUDA {}\n", i, gpu.name, gpu.target, gpu.multiprocessors,
                           static_cast<double>(gpu.memory_bytes) / (1 << 30), gpu.driver_version));
  }
  return 0;
}

Result<int> serve(const Invocation& invocation, const Output&) {
  struct stat descriptor;
  if (::fstat(3, &descriptor) != 0 || !S_ISSOCK(descriptor.st_mode))
    return fail(ErrorCode::kInvalid, "nobody asks: kw starts this itself, with a socket as descriptor 3; `kw judge --gpu` is what you want");
  return device::serve_device(invocation.text("kind") == "gpu" ? device::make_gpu(static_cast<int>(invocation.integer("number")))
                                                               : Result<std::unique_ptr<device::Device>>(device::make_emulator()));
}

// One run of a plan, for a profiler to look at from outside.
Result<int> replay(const Invocation& invocation, const Output& output) {
  KW_TRY(const std::string text, read_file(invocation.text("plan"), plan::kMaxPlanText));
  KW_TRY(plan::Plan plan, plan::parse(text, invocation.text("plan")));
  KW_TRY(const problem::Problem problem, problem::load_problem(invocation.text("problem")));
  const problem::Workload* workload = problem.find_workload(invocation.text("workload"));
  if (workload == nullptr) return fail(ErrorCode::kNotFound, "{} has no workload '{}'", problem.name, invocation.text("workload"));
  std::unique_ptr<device::Device> device;
  if (invocation.text("on") == "emulator") {
    device = device::make_emulator();
  } else {
    KW_TRY(device, device::make_gpu(static_cast<int>(invocation.integer("number"))));
  }
  KW_TRY(const auto loaded, profile::load_with_inputs(*device, problem, *workload, plan, invocation.integer("seed")));
  KW_TRY(const device::RunReport report, loaded->run({}));
  const device::StepReport* bad = report.first_with_finding();
  if (bad != nullptr) return fail(ErrorCode::kInvalid, "step {} of the plan: {}", bad->step, bad->findings.front().message);
  output.note(fmt::format("{} launches\n", report.steps.size()));
  return 0;
}

std::string quantity(double value, std::string_view unit) {
  if (unit == "s") return fmt::format("{:.2f} us", 1e6 * value);
  for (const auto& [size, prefix] : {std::pair{1e12, "T"}, {1e9, "G"}, {1e6, "M"}})
    if (value >= size) return fmt::format("{:.2f} {}{}", value / size, prefix, unit);
  return fmt::format("{:.2f} {}", value, unit);
}

Result<int> calibrate(const Invocation& invocation, const Output& output) {
  const auto number = static_cast<size_t>(invocation.integer("gpu"));
  KW_TRY(const auto gpus, device::list_gpus());
  KW_TRY(const auto gpu, device::make_gpu(static_cast<int>(number)));
  output.note(fmt::format("calibrating {} ({})\n", gpus[number].name, gpus[number].target));
  KW_TRY(device::Calibration calibration, device::calibrate(*gpu, gpus[number]));
  const auto begin = [&] { return own_gpu(invocation.text("gpu")); };
  KW_TRY(calibration.between_processes, device::measure_process_spread(begin, kProcesses, gpus[number].multiprocessors));
  if (invocation.flag("json")) {
    output.out(device::to_json(calibration));
  } else {
    for (const device::Rate& r : calibration.rates) {
      const std::string spec = r.specified > 0 ? fmt::format("  {:5.1f} % of {} ({})", 100 * r.median / r.specified, quantity(r.specified, r.unit), r.specified_by) : "";
      output.out(fmt::format("{:<20} {:<24} {:>14}  ({} to {}){}\n", r.name, r.size, quantity(r.median, r.unit), quantity(r.low, r.unit), quantity(r.high, r.unit), spec));
    }
  }
  if (!invocation.flag("json")) {
    const device::ProcessSpread& spread = *calibration.between_processes;
    output.out(fmt::format("times of {} processes differ by {:.0f} ns and {:.2f} % of them (standard deviations)\n", spread.processes, 1e9 * spread.absolute_s, 100 * spread.relative));
  }
  KW_TRY(const std::string path, device::store(calibration));
  output.note(fmt::format("medians and quartiles of {} calls; kept for `kw profile` and for times of `kw judge` in {}\n", calibration.rates.front().calls, path));
  return 0;
}

}  // namespace

std::vector<Command> device_commands() {
  return {{{"device", "list"}, "list this machine's GPUs", "", {}, list},
          {{"device", "calibrate"},
           "measure what a GPU's memory, arithmetic and launches really do",
           "With small kernels, in some seconds; the result is kept where `kw profile` finds it for the GPU's architecture.",
           {{"gpu", ArgumentKind::kInteger, false, false, "0", "which GPU, by its number in `kw device list`", {}},
            {"json", ArgumentKind::kFlag, false, false, "", "print JSON instead of lines", {}}},
           calibrate},
          {{"device", "serve"},
           "execute plans for another kw, over file descriptor 3; kw starts this itself",
           "",
           {{"kind", ArgumentKind::kText, true, true, "", "what executes them", {"gpu", "emulator"}},
            {"number", ArgumentKind::kInteger, false, false, "0", "which GPU", {}}},
           serve},
          {{"device", "replay"},
           "run a plan once, for a profiler to look at; kw starts this itself under ncu",
           "",
           {{"plan", ArgumentKind::kPath, true, true, "", "a plan file", {}},
            {"problem", ArgumentKind::kPath, true, true, "", "the problem file that its inputs are made by", {}},
            {"workload", ArgumentKind::kText, false, true, "", "which workload the plan is of", {}},
            {"seed", ArgumentKind::kInteger, false, false, "1", "seed of the inputs", {}},
            {"on", ArgumentKind::kText, false, false, "gpu", "what executes it", {"gpu", "emulator"}},
            {"number", ArgumentKind::kInteger, false, false, "0", "which GPU", {}}},
           replay}};
}

}  // namespace kw::command
