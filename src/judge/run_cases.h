// Cases of a rung on the device: what the emulator found, whether the outputs are right. Internal to judge.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "judge/rungs.h"

namespace kw::judge {

// What cases add to the climb.
struct Tally {
  uint64_t executed = 0;   // warp instructions
  int runs = 0;
  std::vector<Correct::Output> metrics;
  std::optional<WrongPiece> wrong_piece;   // the first
  void add(const Tally& other);
};

// Inputs of different workloads must not be prefixes of each other's.
uint64_t input_seed(const Climb& climb, const Case& c);

device::RunOptions every_check(const Climb& climb, int threads);

// What the findings of a run say; none: nothing against the candidate.
std::optional<Outcome> judge_findings(const Climb& climb, const Case& c, device::RunReport report, bool numbers_right);
std::optional<Outcome> judge_findings(const Climb& climb, const Case& c, const device::CallReport& report, bool numbers_right);

// An emulator that lacks an instruction makes no claim about the candidate; what Python says stands against a candidate in Python;
// other errors are the judge's.
Result<RungResult> not_run(const Climb& climb, const Case& c, const Error& error);

// Records the case's plan. None: done; else what stands against the candidate's host code.
Result<std::optional<Outcome>> record_case(const Climb& climb, Case& c);

// Runs one case with every check and compares its outputs.
Result<RungResult> run_case(const Climb& climb, Case& c, int threads, Tally& tally);

// The first element whose bits differ, of the first output that has one.
std::optional<Nondeterministic> first_difference(const Climb& climb, const Case& c, const Execution& a, const Execution& b);

// body(i) for indexes from 0 on, on up to `threads` threads, until one returns false: every index below the lowest that failed
// is run, and none above a failed one is begun after it.
void until_failure(uint64_t count, int threads, const std::function<bool(uint64_t)>& body);

// Small cases side by side, each with one thread, then the others one by one with all of them. Small ones are begun in
// order and none after a failure, so which failure decides depends on the seed alone.
using RunCase = std::function<Result<RungResult>(Case& c, int threads, Tally& tally)>;
Result<RungResult> run_cases(const Climb& climb, std::span<Case* const> cases, Tally& total, const RunCase& run);
std::vector<Case*> pointers_to(std::span<Case> cases);

// The real workloads whose reference a large machine can have (full.cc).
std::vector<Case> real_cases(const problem::Problem& problem);

}  // namespace kw::judge
