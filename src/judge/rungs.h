// The rungs of the ladder, one function each. A rung passes, or decides the verdict; an Error means that the
// judge itself could not do its work. evaluate.cc runs them in order.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "judge/evaluate.h"
#include "judge/execute.h"
#include "judge/verdict.h"

namespace kw::judge {

// A named intermediate of the problem that a candidate writes and that is off, though the outputs are right.
struct WrongPiece {
  Wrong wrong;
  problem::Workload workload;
};

// A real workload that was right on the GPU: which of Climb::real, and what its outputs were, under fingerprint_key().
struct Verified {
  size_t real = 0;
  std::vector<device::Fingerprint> outputs;   // in the order of the plan's buffers
};

// What is known so far; each rung adds to it.
struct Climb {
  problem::Problem problem;      // once recorded it also asks for the pieces that the candidate writes
  std::string candidate_path;
  Options options;
  uint64_t seed = 0;
  toolchain::Compiler compiler;
  std::shared_ptr<device::Device> device;   // what executes plans: the emulator; of an unsealed candidate, PyTorch
  bool in_python = false;        // unsealed: its plans are torch_device.h's
  toolchain::Compiled compiled;
  std::vector<Case> cases;       // smallest ones first
  size_t smallest = 0;           // how many of them are
  std::vector<Case> real;        // recorded when a GPU is to run them, here or elsewhere
  std::vector<Case> shortened;   // real workloads, small enough for the emulator; rung shapes alone runs them
  std::vector<Correct::Output> metrics;
  int values_run = 0, schedules_run = 0, gpu_run = 0;
  std::vector<Verified> verified;
  std::vector<Timing> times;
  std::vector<std::shared_ptr<Climb>> rivals;   // candidates that are right, real workloads too; PyTorch, verified in rung full
  // Of a rival that is PyTorch: what its time is of, by workload (of those in `real`), or why it has none.
  struct InTorch {
    std::map<std::string, std::string> style, why_not;
  };
  std::optional<InTorch> torch;
  std::optional<WrongPiece> wrong_piece;   // the first that a rung saw
};

// A climb and the verdict so far: of what is undecided, what the rungs up to here say.
struct Ascent {
  Climb climb;
  Verdict verdict;
  std::optional<NotChecked> not_checked;   // from the first rung of which the emulator lacks something
};
// The rungs that need the candidate's sources, a compiler and the emulator.
Result<Ascent> climb_to_gpu(const problem::Problem& problem, const std::string& candidate_path, const Options& options,
                            const Progress& progress);
// The others (is_on_gpu), if none has decided; of Climb::compiled they need the names alone. Without a GPU the verdict stays as it is.
Result<Verdict> climb_on_gpu(Ascent ascent, const Progress& progress);

struct RungResult {
  std::optional<Outcome> failed;  // none: passed
  std::string detail;
  std::optional<problem::Workload> workload = std::nullopt;   // on which an output was wrong
};

// Once recorded, the problem asks for the pieces that the candidate writes.
void ask_for_pieces(Climb& climb);

Result<RungResult> compile_rung(Climb& climb);
Result<RungResult> record_rung(Climb& climb);
Result<RungResult> contract_rung(Climb& climb);   // contract.cc
Result<RungResult> smallest_rung(Climb& climb);
Result<RungResult> shapes_rung(Climb& climb);
Result<RungResult> values_rung(Climb& climb);
Result<RungResult> schedules_rung(Climb& climb);
Result<RungResult> pieces_rung(Climb& climb);
Result<RungResult> time_rung(Climb& climb);       // time.cc: needs Options::gpu and time
Result<RungResult> full_rung(Climb& climb);       // full.cc

// full.cc. A rival that computes the problem by PyTorch, to be verified by rung full.
Result<std::shared_ptr<Climb>> torch_rival(const problem::Problem& problem, const Options& options, std::string_view manner);

// What a plan breaks of the problem's interface or the target's limits. `verified`: hashes of the modules known to be sound.
std::optional<Outcome> breach_of_contract(const Climb& climb, const Case& c, std::set<std::string>& verified);

// Of the fingerprints that timed calls are compared by; secret as the seed is.
uint64_t fingerprint_key(const Climb& climb);

// A place as people name it: in the candidate relative to its folder, elsewhere by its absolute path.
SourcePlace place_of(const Climb& climb, const std::string& file, uint32_t line, uint32_t column = 0);

}  // namespace kw::judge
