// Is the problem sound? Wrong answers must fail its budget, honest ones must pass with room to spare, for each output and
// each piece, and the work that it states must be needed.
//
// Each mutant is a set of outputs made from the reference, compared with the derived tolerance; the same
// workload and seed give the same answer. A problem is admitted on a workload when every applicable mutant
// fails, every honest implementation uses at most `kHonestMargin` of the budget (all of it for integers), no part of
// the reference can be left out (needed_work.h), and outputs vary at real sizes too (real_sizes.h).
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "problem/problem.h"
#include "problem/tolerance.h"

namespace kw::problem {

inline constexpr double kHonestMargin = 0.8;

enum class AdmissionKind {
  kHonest,  // must pass
  kMutant,  // must fail
  kWork,    // what the reference states must matter to an output
};
std::string_view kind_name(AdmissionKind kind);  // "honest", "mutant", "work"

struct AdmissionCase {
  std::string name;        // "zero", "last element wrong", "fp32 accumulation", …
  AdmissionKind kind = AdmissionKind::kMutant;
  bool applicable = true;  // e.g. identity needs an input of the output's shape
  bool as_expected = false;
  double budget_used = 0;  // the worst output's; +inf for a mismatch of kind
  std::string detail;      // why not applicable, or what passed that should not have
};

struct Admission {
  std::vector<AdmissionCase> cases;
  Tolerance tolerance;
  bool admitted() const;
};

// The workload on which to ask: the first emulator-sized one, else the first shape, else the first. Workloads
// of one element, one column or constant inputs cannot tell some mutants apart and are not admitted by
// themselves.
const Workload* admission_workload(const Problem& problem);

// Mutants: zero; constant (the mean of the reference); identity (an input of the same size); input
// independent (the reference of another seed); last element wrong; tail skipped (the last 1/16 of the
// elements, at least one, left 0); one shape only (right for another workload's number of elements, 0 beyond, on the
// larger of the two); truncated precision (see Precision::kTruncated; not where outputs are
// exact under it); fraction dropped (where an output should be the nearest integer). Honest: plain fp32,
// disturbed with another seed, output rounded to nearest.
Result<Admission> admit(const Problem& problem, const Workload& workload, std::uint64_t seed,
                        const EvaluateOptions& options = {});

}  // namespace kw::problem
