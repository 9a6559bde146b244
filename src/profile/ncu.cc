#include "profile/ncu.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/source_text.h"
#include "base/subprocess.h"

extern char** environ;

namespace kw::profile {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostOutput = 64ull << 20;
constexpr int kMostTries = 4;   // each without the metrics that the last one did not know

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Numbers with points for fractions, whatever the user's language.
std::map<std::string, std::string> plain_environment() {
  std::map<std::string, std::string> out;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view line = *each;
    if (const size_t equals = line.find('='); equals != std::string_view::npos) out[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  out["LC_ALL"] = "C";
  return out;
}

// "2025.3.1.0" of "Version 2025.3.1.0 (build …)".
std::string version_of(const std::string& ncu) {
  const auto outcome = run_process({.argv = {ncu, "--version"}, .wall_seconds = 30});
  if (!outcome || !outcome->succeeded()) return "";
  constexpr std::string_view kWord = "Version ";
  const size_t at = outcome->out.find(kWord);
  if (at == std::string::npos) return "";
  const size_t begin = at + kWord.size();
  return printable_text(outcome->out.substr(begin, std::min<size_t>(40, outcome->out.find_first_of(" \r\n", begin) - begin)));
}

// The first line that says what is wrong: not that some library reported an error (the next line says which), and no remark.
std::string first_complaint(const std::string& text) {
  for (const std::string_view mark : {"==ERROR== ", "error: ", "==WARNING== "}) {
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      const std::string words = text.substr(at + mark.size(), std::min<size_t>(300, text.find('\n', at) - at - mark.size()));
      if (!words.starts_with("Note:") && !words.starts_with("An error was reported by")) return printable_text(words);
    }
  }
  return "";
}

Error why_not(const std::string& said, const ProcessOutcome& outcome) {
  const auto with = [](ErrorCode code, std::string message) { return Error{code, std::move(message), {}, {}, {}}; };
  if (said.find("ERR_NVGPUCTRPERM") != std::string::npos) {
    return with(ErrorCode::kIo, "this user may not read the GPU's counters (ERR_NVGPUCTRPERM): an administrator lets everybody with the option "
                                "NVreg_RestrictProfilingToAdminUsers=0 of the nvidia module; a container needs --cap-add SYS_ADMIN");
  }
  if (said.find("LibraryNotLoaded") != std::string::npos) {
    return with(ErrorCode::kIo, "ncu cannot load what it reads counters with (LibraryNotLoaded): sandboxes such as gVisor do not have it, nor containers "
                                "without the driver's libraries, nor drivers older than this ncu");
  }
  if (outcome.reason == StopReason::kDeadline) return with(ErrorCode::kLimit, fmt::format("ncu did not end within {:.0f} s", outcome.wall_seconds));
  const std::string complaint = first_complaint(said);
  return with(ErrorCode::kIo, fmt::format("ncu read nothing ({}){}{}", describe(outcome), complaint.empty() ? "" : ": ", complaint));
}

// Of the metrics, those that a complaint names. Versions differ: "Failed to find metric regex:^NAME\.(sum|…)$", "Failed to access the following
// 8 metrics: NAME.sum, …"; 2025.3 says nothing and leaves the column out (silent_ones).
std::vector<std::string> unknown_ones(const std::string& said, const std::vector<std::string>& metrics) {
  std::vector<std::string> out;
  for (size_t at = said.find("=="); at != std::string::npos; at = said.find("\n==", at + 1)) {
    const std::string line = said.substr(at, said.find('\n', at + 1) - at);
    if (line.find("==ERROR==") == std::string::npos && line.find("==WARNING==") == std::string::npos) continue;
    for (const std::string& metric : metrics)
      if (line.find(metric.substr(0, metric.find('.'))) != std::string::npos && std::find(out.begin(), out.end(), metric) == out.end()) out.push_back(metric);
  }
  return out;
}

// Asked for, and not one number.
std::vector<std::string> silent_ones(const std::vector<NcuLaunch>& launches, const std::vector<std::string>& metrics) {
  std::vector<std::string> out;
  const auto read = [&](const std::string& metric) {
    return std::any_of(launches.begin(), launches.end(), [&](const NcuLaunch& launch) {
      for (const CounterKind& kind : counter_kinds())
        if (kind.ncu == metric) return launch.counters[kind.counter].has_value();
      for (const auto& [reason, warps] : launch.counters.stalls)
        if (stall_metric(reason) == metric) return true;
      return false;
    });
  };
  for (const std::string& metric : metrics)
    if (!read(metric)) out.push_back(metric);
  return out;
}

}  // namespace

Result<std::string> find_ncu() {
  if (const char* named = std::getenv("KW_NCU"); named != nullptr) {
    if (*named == '\0') return fail(ErrorCode::kNotFound, "KW_NCU is empty: no ncu is to be used");
    return find_program(named);
  }
  if (auto found = find_program("ncu")) return found;
  std::vector<fs::path> places;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string home = environment(variable); !home.empty()) places.push_back(fs::path(home) / "bin/ncu");
  places.push_back("/usr/local/cuda/bin/ncu");
  std::vector<fs::path> versions;
  std::error_code ignored;
  for (fs::directory_iterator each("/opt/nvidia/nsight-compute", ignored), end; !ignored && each != end; each.increment(ignored)) versions.push_back(each->path() / "ncu");
  std::sort(versions.rbegin(), versions.rend());   // the latest first
  places.insert(places.end(), versions.begin(), versions.end());
  for (const fs::path& place : places)
    if (auto found = find_program(place.string())) return found;
  return fail(ErrorCode::kNotFound, "no ncu is found (on PATH, in CUDA_HOME, /usr/local/cuda/bin, /opt/nvidia/nsight-compute): install Nsight Compute, or let KW_NCU name it");
}

std::vector<std::string> ncu_metrics(const arch::Target& gpu) {
  std::vector<std::string> out;
  const auto here = [&](const auto& each) { return each.from <= gpu.number() && gpu.number() < each.until; };
  for (const CounterKind& kind : counter_kinds())
    if (here(kind)) out.emplace_back(kind.ncu);
  for (const StallReason& reason : stall_reasons())
    if (here(reason)) out.push_back(stall_metric(reason.name));
  return out;
}

Result<NcuRead> run_ncu(const std::vector<std::string>& program, const arch::Target& gpu, double deadline_s) {
  KW_TRY(const std::string ncu, find_ncu());
  KW_TRY(const TempDir folder, TempDir::create("kw-ncu"));
  const std::string log = folder / "log";
  NcuRead out;
  out.version = version_of(ncu);
  std::vector<std::string> metrics = ncu_metrics(gpu);
  for (int tries = 1;; ++tries) {
    Command command;
    command.argv = {ncu, "--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "mangled", "--clock-control", "none",
                    "--target-processes", "application-only", "--launch-count", std::to_string(kMostLaunches), "--force-overwrite", "--log-file", log,
                    "--metrics", fmt::format("{}", fmt::join(metrics, ","))};
    command.argv.insert(command.argv.end(), program.begin(), program.end());
    command.env = plain_environment();
    command.wall_seconds = deadline_s;
    std::error_code ignored;
    fs::remove(log, ignored);
    KW_TRY(const ProcessOutcome outcome, run_process(command));
    const auto logged = read_file(log, kMostOutput);
    const std::string text = logged ? *logged : "", said = text + "\n" + outcome.err + "\n" + outcome.out;
    auto launches = parse_ncu(text);
    if (launches && outcome.succeeded()) {
      out.launches = std::move(*launches);
      for (const std::string& each : silent_ones(out.launches, metrics)) out.without.push_back(each);
      return out;
    }
    const std::vector<std::string> unknown = unknown_ones(said, metrics);
    if (unknown.empty() || unknown.size() == metrics.size() || tries == kMostTries) {
      if (outcome.succeeded() && !text.empty() && text.find("\"ID\"") != std::string::npos) return fail(launches.error());
      return fail(why_not(said, outcome));
    }
    std::erase_if(metrics, [&](const std::string& metric) { return std::find(unknown.begin(), unknown.end(), metric) != unknown.end(); });
    out.without.insert(out.without.end(), unknown.begin(), unknown.end());
  }
}

}  // namespace kw::profile
