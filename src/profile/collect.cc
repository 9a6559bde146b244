#include "profile/collect.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <span>

#include "base/demangle.h"
#include "base/file.h"
#include "device/device.h"
#include "problem/inputs.h"
#include "profile/ncu.h"
#include "profile/roofline.h"
#include "profile/sample.h"
#include "profile/scale.h"
#include "profile/shorten.h"
#include "toolchain/arguments.h"
#include "toolchain/asm_info.h"

namespace kw::profile {
namespace {

constexpr double kReplay_s = 300;   // of a call under ncu, which runs each kernel a dozen times

Result<toolchain::Compiled> compile(const std::string& path, const Options& options) {
  KW_TRY(const auto compiler, toolchain::find_compiler(path));
  toolchain::Candidate candidate;
  candidate.path = path;
  candidate.target = options.target;
  KW_TRY(auto compiled, toolchain::compile(compiler, candidate));
  if (const auto* errors = std::get_if<toolchain::CompileErrors>(&compiled)) {
    Error error{ErrorCode::kInvalid, fmt::format("{} does not compile: {}", path, errors->summary()), {}, {}, {}};
    error.notes.push_back(errors->log.substr(0, 2000));
    return fail(std::move(error));
  }
  return std::move(std::get<toolchain::Compiled>(compiled));
}

Result<plan::Plan> record(const toolchain::Compiled& compiled, const problem::Problem& problem, const problem::Workload& workload) {
  KW_TRY(auto recorded, toolchain::record(compiled, toolchain::arguments_of(problem, workload)));
  if (const auto* reason = std::get_if<toolchain::Unrecordable>(&recorded)) {
    Error error{ErrorCode::kInvalid, fmt::format("workload {} cannot be recorded: {}", workload.name, reason->message), {}, {}, reason->notes};
    if (reason->place.line > 0) error.span = reason->place;
    return fail(std::move(error));
  }
  return std::move(std::get<plan::Plan>(recorded));
}

Result<const problem::Workload*> workload_to_profile(const problem::Problem& problem, const std::string& name) {
  if (!name.empty()) {
    if (const problem::Workload* found = problem.find_workload(name)) return found;
    std::vector<std::string> names;
    for (const auto& workload : problem.workloads) names.push_back(workload.name);
    return fail(ErrorCode::kNotFound, "{} has no workload '{}': it has {}", problem.file, name, fmt::join(names, ", "));
  }
  for (const auto role : {problem::Role::kReal, problem::Role::kEmulator}) {
    for (const auto& workload : problem.workloads) {
      if (workload.role == role) return &workload;
    }
  }
  if (problem.workloads.empty()) return fail(ErrorCode::kInvalid, "{} has no workload: add one", problem.file);
  return &problem.workloads.back();
}

double buffer_bytes(const plan::Plan& plan, const std::set<uint32_t>& buffers) {
  double sum = 0;
  for (const uint32_t index : buffers) sum += static_cast<double>(plan.buffers[index].bytes);
  return sum;
}

// By kernel, in the order of first launches.
std::vector<std::pair<std::string, Launched>> launches_of(const plan::Plan& plan) {
  std::vector<std::pair<std::string, Launched>> out;
  std::map<std::string, std::set<uint32_t>> buffers;
  for (const plan::Step& step : plan.steps) {
    const auto* launch = std::get_if<plan::Launch>(&step.action);
    if (launch == nullptr) continue;
    auto at = std::find_if(out.begin(), out.end(), [&](const auto& each) { return each.first == launch->kernel; });
    if (at == out.end()) {
      at = out.insert(out.end(), {launch->kernel, {}});
      at->second.source_file = step.source_file;
      at->second.source_line = step.source_line;
    }
    Launched& to = at->second;
    const uint64_t blocks = uint64_t{launch->grid[0]} * launch->grid[1] * launch->grid[2];
    ++to.launches;
    to.blocks += blocks;
    for (const plan::Relocation& relocation : launch->relocations) {
      if (relocation.target.in_buffer()) buffers[launch->kernel].insert(relocation.target.buffer);
    }
    if (blocks < to.largest_blocks) continue;
    to.largest_blocks = blocks;
    to.grid = launch->grid;
    to.block = launch->block;
    to.threads = launch->block[0] * launch->block[1] * launch->block[2];
    to.dynamic_shared_bytes = launch->dynamic_shared_bytes;
  }
  for (auto& [kernel, launched] : out) launched.buffer_bytes = buffer_bytes(plan, buffers[kernel]);
  return out;
}

bool defines(std::string_view ptx, std::string_view kernel) {
  constexpr std::string_view kEntry = ".entry";
  for (size_t at = ptx.find(kEntry); at != std::string_view::npos; at = ptx.find(kEntry, at + 1)) {
    const size_t name = ptx.find_first_not_of(" \t\n", at + kEntry.size());
    if (name == std::string_view::npos || !ptx.substr(name).starts_with(kernel)) continue;
    if (std::string_view("( \t\n").find(ptx[std::min(name + kernel.size(), ptx.size() - 1)]) != std::string_view::npos) return true;
  }
  return false;
}

Status add_code_facts(Subject& subject, const plan::Plan& plan, const Options& options) {
  for (const plan::Module& module : plan.modules) {
    std::vector<std::string> launched;
    for (const Kernel& kernel : subject.kernels) {
      if (defines(module.ptx, kernel.mangled)) launched.push_back(kernel.mangled);
    }
    if (launched.empty()) continue;
    KW_TRY(auto info, toolchain::asm_info(module.ptx, subject.candidate, options.target, launched));
    for (const std::string& missing : info.missing) subject.notes.push_back("not there: " + missing);
    for (Kernel& kernel : subject.kernels) {
      for (auto& each : info.kernels) {
        if (each.ptx.kernel != kernel.mangled) continue;
        kernel.ptx = std::move(each.ptx);
        kernel.resources = std::move(each.resources);
        kernel.sass = std::move(each.sass);
      }
    }
  }
  for (Kernel& kernel : subject.kernels) {
    if (!kernel.resources) continue;
    kernel.occupancy = arch::occupancy(*subject.target, static_cast<int>(kernel.resources->registers),
                                       static_cast<int64_t>(kernel.resources->shared_bytes) + kernel.launched.dynamic_shared_bytes,
                                       static_cast<int>(kernel.launched.threads));
  }
  return {};
}

struct Counted {
  problem::Workload workload;
  plan::Plan plan;
  size_t covered = 0;                // kernels of the profiled plan
  CountedAs as = CountedAs::kScaled;
};

// One that runs in an emulator and launches the kernels of the profiled one, as many as can be.
Result<Counted> another_workload(const Subject& subject, const toolchain::Compiled& compiled) {
  const problem::Problem& problem = *subject.problem;
  std::optional<Counted> best;
  for (const auto role : {problem::Role::kEmulator, problem::Role::kShape, problem::Role::kSmallest}) {
    for (const auto& workload : problem.workloads) {
      if (workload.role != role || (best && best->covered == subject.kernels.size())) continue;
      KW_TRY(auto plan, record(compiled, problem, workload));
      const auto launches = launches_of(plan);
      const auto covered = static_cast<size_t>(std::count_if(subject.kernels.begin(), subject.kernels.end(), [&](const Kernel& kernel) {
        return std::any_of(launches.begin(), launches.end(), [&](const auto& each) { return each.first == kernel.mangled; });
      }));
      if (!best || covered > best->covered) best = Counted{workload, std::move(plan), covered, CountedAs::kScaled};
    }
  }
  if (!best) return fail(ErrorCode::kInvalid, "{} has no workload that an emulator can run: add one of role emulator", problem.file);
  return std::move(*best);
}

void add(Kernel& kernel, const emu::Counters& counters, std::vector<Site> sites) {
  kernel.counters.add(counters);
  for (Site& site : sites) add_site(kernel.sites, std::move(site));
}

void set_launched(Subject& subject, const plan::Plan& counted) {
  const auto launches = launches_of(counted);
  for (Kernel& kernel : subject.kernels) {
    for (const auto& [name, launched] : launches) {
      if (name != kernel.mangled) continue;
      kernel.counted = true;
      kernel.counted_launched = launched;
    }
  }
}

// A whole run of another workload.
Status count_run(Subject& subject, const Counted& counted, const Options& options) {
  const problem::Problem& problem = *subject.problem;
  subject.counted_workload = counted.workload;
  subject.counted_as = counted.as;
  KW_TRY(subject.counted_cost, problem::cost_of(problem, subject.counted_workload));
  KW_TRY(const auto inputs, problem::make_inputs(problem, subject.counted_workload, options.seed));
  auto emulator = device::make_emulator();
  KW_TRY(auto loaded, emulator->load(counted.plan));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (counted.plan.find_buffer(problem.inputs[i].name) == nullptr) continue;
    const auto bytes = inputs[i].bytes();
    KW_TRY_VOID(loaded->write(problem.inputs[i].name, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
  }
  device::RunOptions run;
  run.count = run.count_sites = true;
  run.threads = options.threads;
  run.deadline_s = options.deadline_s;
  KW_TRY(auto report, loaded->run(run));
  if (!report.completed) {
    const device::StepReport* step = report.first_with_finding();
    Error error{ErrorCode::kInvalid, fmt::format("workload {} does not run to its end{}", subject.counted_workload.name,
                                                 step == nullptr ? fmt::format(" within {} s", options.deadline_s) : ": " + step->findings.front().message), {}, {}, {}};
    error.notes = {fmt::format("`kw judge {} {}` tells more", problem.file, subject.candidate)};
    return fail(std::move(error));
  }
  const auto weight = [](const problem::Cost& cost) { return cost.operations > 0 ? cost.operations : cost.input_bytes + cost.output_bytes; };
  const double operations = weight(subject.cost) / std::max(1.0, weight(subject.counted_cost));
  set_launched(subject, counted.plan);
  for (Kernel& kernel : subject.kernels) {
    for (const device::StepReport& step : report.steps) {
      const auto* launch = std::get_if<plan::Launch>(&counted.plan.steps[step.step].action);
      if (launch == nullptr || launch->kernel != kernel.mangled) continue;
      const Loops loops = loops_of(counted.plan.modules[launch->module].ptx);
      std::vector<Site> sites;
      for (const emu::SiteCounters& site : step.sites) sites.push_back(times(site, counted.as == CountedAs::kShortened ? by_blocks(kernel) : by_loops(site, kernel, loops, operations)));
      add(kernel, step.counters, std::move(sites));
    }
    if (!kernel.counted) {
      subject.notes.push_back(fmt::format("{} is launched by {} but by no workload that an emulator can run: nothing of it is counted",
                                          kernel.name, subject.workload.name));
    }
  }
  return {};
}

// Blocks of the profiled workload's own launches.
void take_sample(Subject& subject, const plan::Plan& plan, const std::vector<LaunchCounts>& launches) {
  subject.counted_workload = subject.workload;
  subject.counted_cost = subject.cost;
  subject.counted_as = CountedAs::kSampled;
  for (Kernel& kernel : subject.kernels) {
    kernel.counters = {};
    kernel.sites.clear();
  }
  set_launched(subject, plan);
  for (const LaunchCounts& each : launches) {
    const auto& launch = std::get<plan::Launch>(plan.steps[each.step].action);
    subject.sampled_blocks += each.blocks;
    subject.all_blocks += each.counters.blocks;
    add(*std::find_if(subject.kernels.begin(), subject.kernels.end(), [&](const Kernel& kernel) { return kernel.mangled == launch.kernel; }), each.counters, each.sites);
  }
}

// Whether the instructions that were counted at a shorter workload are those of the real launches. They are not where what a block does goes
// by sizes that were shortened, as with masks, or is made to.
bool agree(const Subject& subject, const plan::Plan& plan, const std::vector<LaunchCounts>& launches) {
  constexpr double kApart = 1.25;
  const auto warps = [](const std::vector<Site>& sites) { return std::accumulate(sites.begin(), sites.end(), 0.0, [](double sum, const Site& site) { return sum + site.warps; }); };
  return std::all_of(subject.kernels.begin(), subject.kernels.end(), [&](const Kernel& kernel) {
    double sampled = 0;
    for (const LaunchCounts& each : launches)
      if (std::get<plan::Launch>(plan.steps[each.step].action).kernel == kernel.mangled) sampled += warps(each.sites);
    const double counted = warps(kernel.sites);
    return sampled < kApart * counted && counted < kApart * sampled;
  });
}

// By the best way that there is.
Status count(Subject& subject, const toolchain::Compiled& compiled, const plan::Plan& plan, const Options& options) {
  const auto recorded = [&](const problem::Workload& workload) { return record(compiled, *subject.problem, workload); };
  const auto sampled = [&](uint64_t most) { return sample(*subject.problem, subject.workload, plan, {.most = most, .seed = options.seed, .threads = options.threads, .deadline_s = options.deadline_s}); };
  if (auto shorter = shorten(*subject.problem, subject.workload, plan, recorded)) {
    const bool same = shorter->workload.axes == subject.workload.axes;
    KW_TRY_VOID(count_run(subject, {std::move(shorter->workload), std::move(shorter->plan), subject.kernels.size(), CountedAs::kShortened}, options));
    if (!same) {
      constexpr uint64_t kFew = 8;
      if (const auto few = sampled(kFew); few && !agree(subject, plan, *few)) {
        if (const auto all = sampled(kMostBlocks)) take_sample(subject, plan, *all);
      }
    }
  } else if (const auto all = sampled(kMostBlocks)) {
    take_sample(subject, plan, *all);
  } else {
    KW_TRY(const Counted other, another_workload(subject, compiled));
    KW_TRY_VOID(count_run(subject, other, options));
    subject.notes.push_back("counts are scaled, for the real launch cannot be sampled: " + all.error().message);
  }
  for (Kernel& kernel : subject.kernels) kernel.totals = totals_of(kernel);
  return {};
}

Result<NcuRead> counters_of(const Subject& subject, const plan::Plan& plan, const Options& options) {
  KW_TRY(const TempDir folder, TempDir::create("kw-replay"));
  const std::string file = folder / "plan.json";
  KW_TRY_VOID(write_file(file, plan::write(plan)));
  std::vector<std::string> program = options.replay;
  program.insert(program.end(), {file, subject.problem->file, "--workload", subject.workload.name, "--seed", std::to_string(options.seed)});
  return run_ncu(program, *subject.target, kReplay_s);
}

// What the GPU counted, where it can be had; else why not. A profile without it is still one.
void read_counters(Subject& subject, const plan::Plan& plan, const Options& options) {
  CounterReading& reading = subject.counter_reading.emplace();
  auto read = counters_of(subject, plan, options);
  if (!read) {
    reading.why_not = read.error().message;
    subject.notes.push_back("no counters of the GPU: " + reading.why_not);
    return;
  }
  reading.version = read->version;
  reading.without = read->without;
  for (const NcuLaunch& launch : read->launches) {
    const auto at = std::find_if(subject.kernels.begin(), subject.kernels.end(), [&](const Kernel& kernel) { return kernel.mangled == launch.kernel; });
    if (at == subject.kernels.end()) continue;
    if (!at->hardware) at->hardware.emplace();
    at->hardware->add(launch.counters);
    ++reading.launches;
  }
  if (reading.launches == 0) reading.why_not = "ncu saw none of the candidate's kernels";
  if (!reading.why_not.empty()) subject.notes.push_back("no counters of the GPU: " + reading.why_not);
  else if (reading.launches < subject.launches) subject.notes.push_back(fmt::format("the GPU's counters are of {} of the {} launches", reading.launches, subject.launches));
  if (!reading.without.empty()) subject.notes.push_back(fmt::format("ncu has no numbers for {}", fmt::join(reading.without, ", ")));
}

}  // namespace

Result<Subject> collect(const problem::Problem& problem, const std::string& candidate, const Options& options) {
  Subject subject;
  subject.problem = &problem;
  subject.candidate = candidate;
  KW_TRY(subject.target, arch::find_target(options.target));
  if (options.gpu) {
    auto device = std::make_shared<DeviceTarget>(DeviceTarget{options.gpu->capabilities().name, *subject.target});
    device->target.part.product = device->name;
    if (const double bandwidth = options.gpu->capabilities().dram_bytes_per_s; bandwidth > 0) device->target.part.dram_gbps = bandwidth * 1e-9;
    subject.target = &device->target;
    subject.device = std::move(device);
  }
  std::error_code ignored;
  if (!std::filesystem::exists(candidate, ignored)) {
    Error error{ErrorCode::kNotFound, "no candidate at '" + candidate + "'", {}, {}, {}};
    error.notes = {"give a .cu file, a folder of them, or a .py file"};
    return fail(std::move(error));
  }
  KW_TRY(const problem::Workload* workload, workload_to_profile(problem, options.workload));
  subject.workload = *workload;
  KW_TRY(subject.cost, problem::cost_of(problem, subject.workload));
  subject.matmul_dtype = matmul_dtype(problem, subject.cost);
  KW_TRY(const auto compiled, compile(candidate, options));
  subject.source_folder = compiled.source_folder;
  KW_TRY(const plan::Plan plan, record(compiled, problem, subject.workload));
  for (auto& [name, launched] : launches_of(plan)) {
    Kernel kernel;
    kernel.mangled = name;
    kernel.name = readable_name(name);
    subject.launches += launched.launches;
    kernel.launched = std::move(launched);
    subject.kernels.push_back(std::move(kernel));
  }
  if (subject.kernels.empty()) return fail(ErrorCode::kInvalid, "{} launches no kernel for workload {}: there is nothing to profile", candidate, subject.workload.name);
  subject.other_steps = plan.steps.size() - subject.launches;
  KW_TRY_VOID(add_code_facts(subject, plan, options));
  // What the emulator lacks is no reason to leave out what the compiler, the machine code and a GPU say.
  if (const Status counting = count(subject, compiled, plan, options); !counting && counting.error().code == ErrorCode::kUnsupported) {
    subject.uncounted = counting.error().message;
    for (Kernel& kernel : subject.kernels) kernel.counted = false;
  } else if (!counting) {
    return tl::unexpected(counting.error());
  }
  estimate_all(subject);
  if (options.gpu) {
    KW_TRY(subject.measured, measure(*options.gpu, problem, subject.workload, plan, options.seed));
    if (!subject.measured->untraced.empty()) subject.notes.push_back("no timeline: " + subject.measured->untraced);
    if (!options.replay.empty()) read_counters(subject, plan, options);
  }
  return subject;
}

}  // namespace kw::profile
