#include "agent/evaluation.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/hash.h"
#include "base/rng.h"
#include "judge/evaluate.h"
#include "judge/page.h"
#include "profile/profile.h"

namespace kw::agent {
namespace {

constexpr double kBeyondFloor = 0.9;   // estimates are no better

double geometric_mean(const std::vector<WorkloadTime>& times) {
  double sum = 0;
  for (const WorkloadTime& each : times) sum += std::log(each.seconds);
  return times.empty() ? 0 : std::exp(sum / static_cast<double>(times.size()));
}

void take_measured(const judge::Correct& correct, Evaluation& out) {
  constexpr double kOf99 = 2.576;   // standard errors to either end of an interval of 99 %
  double variance = 0;
  for (const judge::Timing& timing : correct.times) {
    out.times.push_back({timing.workload.name, timing.cold_s.middle, 0});
    variance += std::pow(timing.cold_s.width() / (2 * kOf99), 2);
  }
  out.grade = profile::Grade::kMeasured;
  out.outcome.spread = out.times.empty() ? 0 : std::sqrt(variance) / static_cast<double>(out.times.size());
}

// Of a folder that has another name each time: what is shown to a model is the same for the same candidate.
std::string without(std::string text, const std::string& folder) {
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) text.erase(at, folder.size());
  return text;
}

std::string lines_of(const std::vector<profile::Metric>& metrics) {
  std::string out;
  for (const profile::Metric& each : metrics) out += fmt::format("{}{}{} = {:.6g} {}\n", each.kernel, each.kernel.empty() ? "" : ": ", each.name, each.value, each.unit);
  return out;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.find_last_of('/') + 1); }

// Times by estimate, unless they were measured; and what is known besides.
Status look(const problem::Problem& problem, const std::string& path, const judge::Options& judge, Evaluation& out) {
  profile::Options options;
  options.target = judge.target;
  options.threads = judge.threads;
  std::vector<std::string> workloads;
  for (const problem::Workload& workload : problem.workloads)
    if (workload.role == problem::Role::kReal) workloads.push_back(workload.name);
  if (workloads.empty()) workloads.emplace_back();   // the profiler's own choice
  for (const std::string& workload : workloads) {
    options.workload = workload;
    KW_TRY(profile::Profile profile, profile::profile(problem, path, options));
    if (out.profile.empty()) {
      out.profile = without(profile::page(profile), folder_of(path));
      out.counters = lines_of(profile.metrics);
      out.advice = std::move(profile.advice);
    }
    const double floor_seconds = profile.roofline.floor_seconds();
    if (judge.time) {
      for (WorkloadTime& each : out.times)
        if (each.workload == profile.subject.workload.name) each.floor_seconds = floor_seconds;
      continue;
    }
    if (!profile.subject.uncounted.empty()) return fail(ErrorCode::kUnsupported, "{}", profile.subject.uncounted);
    // Real sizes are launched here and not run: who does less there than the problem asks for is faster than its bytes can be moved.
    const double bandwidth = profile.subject.target->part.dram_gbps * 1e9;
    if (bandwidth > 0 && profile.subject.seconds < kBeyondFloor * profile.subject.cost.needed_bytes / bandwidth)
      return fail(ErrorCode::kInvalid, "at {} it would move less than the problem needs", profile.subject.workload.name);
    // Counts of another size, extended by rules, may say anything: below all that the reference names they say nothing.
    const bool of_this_launch = profile.subject.counted_as != profile::CountedAs::kScaled &&
                                std::all_of(profile.subject.kernels.begin(), profile.subject.kernels.end(), [](const profile::Kernel& kernel) { return kernel.counted; });
    if (!of_this_launch && profile.subject.seconds < kBeyondFloor * floor_seconds)
      return fail(ErrorCode::kUnsupported, "its launches at {} cannot be counted here, and what was counted of a smaller one, extended, lies below the floor", profile.subject.workload.name);
    out.times.push_back({profile.subject.workload.name, profile.subject.seconds, floor_seconds});
  }
  return {};
}

}  // namespace

Evaluate judge_and_estimate(const problem::Problem& problem, const std::string& file_name, const judge::Options& asked) {
  return [problem, file_name, asked](const std::string& source) -> Result<Evaluation> {
    KW_TRY(const TempDir folder, TempDir::create("kw-candidate"));
    const std::string path = folder / file_name;
    KW_TRY_VOID(write_file(path, source));
    judge::Options judge = asked;
    judge.seed = Rng(asked.seed.value_or(0)).fork(hash_hex(source)).next();
    KW_TRY(const judge::Verdict verdict, judge::evaluate(problem, path, judge));
    Evaluation out;
    out.verdict = judge::to_json(verdict);
    out.page = without(judge::page(verdict, judge::source_text_of(path)), folder_of(path));
    out.name = judge::name_of(verdict.outcome);
    out.rung = verdict.decided_by ? judge::name_of(*verdict.decided_by) : "";
    const auto* correct = std::get_if<judge::Correct>(&verdict.outcome);
    if (correct == nullptr) {
      out.outcome.learned = out.text();
      return out;
    }
    if (judge.time) take_measured(*correct, out);
    if (const Status status = look(problem, path, judge, out); !status && !judge.time) {
      // Without an estimate there is nothing to rank by: of what the emulator cannot count, or does not get to the end of in its time.
      const ErrorCode code = status.error().code;
      if (code != ErrorCode::kUnsupported && code != ErrorCode::kInvalid && code != ErrorCode::kLimit) return tl::unexpected(status.error());
      out.times.clear();
      out.name = "no estimate";
      out.outcome.learned = status.error().message;
      return out;
    }
    out.outcome.works = true;
    out.outcome.seconds = geometric_mean(out.times);
    return out;
  };
}

}  // namespace kw::agent
