// Verdict: the typed outcome of the ladder for one (problem, candidate, target), with everything a third
// party needs to see why. A verdict is a value, never an error: a candidate that does not compile, hangs or
// races has a verdict; only a judge that could not do its work returns an Error.
// Serialises to one JSON schema (docs/formats/verdict.md). Values; thread-safe to read.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "device/process_spread.h"
#include "emu/finding.h"
#include "judge/interval.h"
#include "tensor/error_metrics.h"

namespace kw::device {
class Device;
}

namespace kw::judge {

// In the order in which they run; the first that fails decides (docs/formats/verdict.md says what each asks).
enum class Rung : uint8_t { kCompile, kRecord, kContract, kSmallest, kShapes, kValues, kSchedules, kPieces, kFull, kTime };
inline constexpr int kRungs = 10;
std::string_view name_of(Rung rung);  // "compile", …
std::vector<std::string> rung_names();  // from the first to the last
std::string_view question_of(Rung rung);
// The rungs that need recorded plans, the problem, the seed and a GPU, and nothing else; the last ones.
inline constexpr bool is_on_gpu(Rung rung) { return rung >= Rung::kFull; }
std::vector<std::string> gpu_rung_names();

// A workload as judged: the axes that were chosen, by the problem or by the judge.
struct WorkloadName {
  std::string name;
  std::map<std::string, int64_t> axes;
  bool chosen_by_judge = false;
  std::string text() const;       // "tail (M=3, N=1000)"
  std::string axes_text() const;  // "M=3, N=1000"
};

using emu::SourcePlace;  // the candidate's files are named relative to its folder, all others by absolute paths
bool is_candidates(const std::string& file);  // by that rule

// What the caller asks of the judge.
struct Options {
  std::string target = "sm_80";
  std::optional<uint64_t> seed;        // none: a fresh secret one
  int threads = 0;                     // host threads for emulation; 0: all
  double kernel_deadline_s = 60;       // wall time of one emulated plan
  double host_deadline_s = 10;         // wall time of the candidate's host code per workload
  double record_deadline_s = 60;       // wall time of recording all workloads: none is begun after it
  double compile_deadline_s = 300;
  int judge_shapes = 3;                // shapes of the judge's own choosing
  int value_changes = 32;              // distributions of the judge's own choosing
  int schedules = 6;                   // besides the first
  std::string cache_dir;               // empty: the default one
  bool time = false;                   // rung time too, where there is a gpu
  bool energy = false;                 // with time: joules a call too, for some seconds more a workload
  std::vector<std::string> against;    // candidates to time it against in the same run, by path; "eager", "compile": PyTorch; "cublaslt", "cudnn"
  bool unsealed = false;               // candidates in Python too: they run outside of the jail
  double time_budget_s = 4;            // of measuring one workload; it ends sooner once the interval is narrow
  std::optional<device::ProcessSpread> process_spread;   // of times on `gpu`, which their intervals are made wider by; none: not known
  std::shared_ptr<device::Device> gpu; // runs every workload too, the real ones included; none: rung full is not run
  bool gpu_elsewhere = false;          // real workloads are recorded as with `gpu`, for a GPU that is not here (bundle.h)
};

// --- outcomes -----------------------------------------------------------------------------------------------
struct CompileError {
  struct Diagnostic {
    SourcePlace place;
    std::string message;
  };
  std::vector<Diagnostic> diagnostics;
  std::string log;  // the compiler's own words, trimmed
};
struct Unrecordable {  // host code that is not a description of launches
  WorkloadName workload;
  std::string call;  // "cudaMemcpy (device to host)"; empty when the program died otherwise
  std::string message;
  SourcePlace place;
  std::vector<std::string> notes;  // remedies
  std::string printed;             // of a program that crashed: the end of what it said
};
struct ContractViolation {  // the plan breaks a limit of the target or of the problem's interface
  WorkloadName workload;
  std::string message;
  SourcePlace place;
  std::vector<std::string> notes;
};
struct WrongElement {
  std::string tensor;
  std::vector<int64_t> index;
  double got = 0, expected = 0, allowed = 0;
  bool unwritten = false;      // nothing has written it: what is there was there before
};
struct Minimal {  // the smallest failing shape that was found (minimise.h)
  WorkloadName workload;
  WrongElement first;
  int runs = 0;  // that the search took
};
struct Wrong {
  WorkloadName workload;
  WrongElement first;     // of the first output that is wrong
  tensor::ErrorMetrics metrics;
  std::string pattern;    // which elements are wrong (pattern.h)
  std::string tolerance;  // how the budget was derived, one line
  std::optional<Minimal> minimal;
  std::optional<WrongElement> first_wrong_piece;  // in the order of the reference, where the candidate writes pieces
};
struct Nondeterministic {  // two legal schedules, two answers
  WorkloadName workload;
  std::string output;
  std::vector<int64_t> index;
  double first = 0, second = 0;
  std::string first_schedule, second_schedule;
  int64_t differing = 0, elements = 0;
};
// What the bytes of a finding are to the problem.
struct TensorElement {
  std::string role, tensor, dtype;     // "output", "y", "float16"; role is empty when it is no tensor of the plan
  std::vector<int64_t> shape, index;   // index is empty outside the tensor
};
struct Unsafe {
  WorkloadName workload;
  std::vector<emu::Finding> findings;  // at least one; the first is the one to read
  std::vector<TensorElement> elements; // one per finding, or none at all
  uint32_t step = 0;                   // of the plan
  bool numbers_right = false;          // the outputs were within tolerance all the same
};
struct Timeout {
  WorkloadName workload;
  std::string what;  // "host code", "kernel k", "nvcc"
  double limit_s = 0;
};
struct NotChecked {  // the emulator lacks something the kernel uses: no claim either way
  std::string message;
  int right_on_gpu = 0;         // workloads whose outputs were right there, without the emulator's checks
};
struct Suspect {                // right, but measured as nothing honest can be: for a person to look into
  WorkloadName workload;
  std::string defence;          // "two clocks", "physical floor", "every timed output"
  std::string evidence;
};
// A rival's time over this one's, of calls in turn: above 1 this one is the faster.
struct Ratio {
  std::string rival;                   // a candidate's path, or "PyTorch 2.11.0 eager", "cuBLASLt 13.1.1 (product)", and what it computes in
  std::optional<Interval> cold;        // none: `why` it has no time that counts
  std::string why = "";
  bool sealed = true;                  // judged as candidates are; false: outside of the jail, only its outputs are compared
  std::optional<Interval> joules;      // the same of the energy of warm calls, where that was asked for
};
// How fast one real workload was. Times are of a call: all steps of the plan.
struct Timing {
  WorkloadName workload;
  Interval cold_s;              // nothing of it in the L2 cache
  std::optional<Interval> warm_s;      // calls one right after the other; none: a call changes its own inputs
  int calls = 0, groups = 0;    // timed, each checked
  double launch_s = 0;          // what the device's clock shows around a kernel that does nothing; contained in cold_s
  std::optional<double> process_s;   // how far another process's times may be from these, with 99 %; contained in the intervals. None: not known
  double floor_s = 0;           // of moving what must be moved, once, at the device's own bandwidth; 0: not known
  struct {
    double sm_mhz_low = 0, sm_mhz_high = 0, power_w = 0, temperature_c = 0;
    std::vector<std::string> slowed_by;
    int other_processes = 0;
  } conditions;                 // seen between groups
  std::vector<Ratio> rivals;
  // The device's own record of when the kernels of some more calls from cold ran, and what the two events show around these calls.
  struct Trace {
    Interval kernels_s;         // from the first step's start to the last one's end
    Interval agreement;         // of the clocks: (events - added) / kernels
    double added_s = 0;         // what events show around a kernel of ours beyond the kernel itself
    double slowed = 0;          // events around calls that are traced, over cold_s
  };
  std::optional<Trace> trace;
  std::string untraced;         // why there is none
  // Of warm calls, beyond what the device draws when idle.
  struct Energy {
    Interval joules;            // of a call
    double spread = 0;          // of the loops: the most over the least, less one
    double idle_w = 0, loaded_w = 0;
    double loop_s = 0, update_s = 0;   // how long a loop of calls, and how often the counter is updated
    int loops = 0;
  };
  std::optional<Energy> energy; // when asked for
  std::string unmetered;        // why there is none though it was
};
struct Correct {
  struct Output {
    WorkloadName workload;
    std::string output;
    tensor::ErrorMetrics metrics;
  };
  std::vector<Output> outputs;  // the worst of each output over all workloads
  std::vector<Output> pieces;   // of each piece that the candidate writes
  int workloads = 0, values = 0, schedules = 0;
  int on_gpu = 0;               // workloads that ran there too
  std::vector<Timing> times;    // of real workloads, when asked for
};

using Outcome = std::variant<CompileError, Unrecordable, ContractViolation, Wrong, Nondeterministic, Unsafe,
                             Timeout, NotChecked, Suspect, Correct>;
// "compile-error", "unrecordable", "contract-violation", "wrong", "nondeterministic", "unsafe", "timeout",
// "not-checked", "suspect", "correct": the words fixtures and exit codes use.
std::string_view name_of(const Outcome& outcome);
std::vector<std::string> outcome_names();
// 0 correct; 1 any other verdict about the candidate; 3 not checked. (2 is for input that could not be read.)
int exit_code(const Outcome& outcome);

struct RungReport {
  // kNotChecked: the emulator lacks something; what needs no emulator goes on.
  enum class Status : uint8_t { kPassed, kFailed, kNotChecked, kNotRun } status = Status::kNotRun;
  Rung rung = Rung::kCompile;
  double seconds = 0;
  std::string detail;  // "5 shapes, 1.2e6 warp instructions"; empty when not run
};
std::string_view name_of(RungReport::Status status);   // "passed", "failed", "not checked", "not run"

// Hashes (base/hash.h) of what was judged.
struct Evidence {
  struct File {
    std::string path, hash;          // relative to the candidate's folder; of a single file its name
    bool operator==(const File&) const = default;
  };
  std::string problem;               // of the problem's text
  std::vector<File> sources;         // by path
  bool operator==(const Evidence&) const = default;
};

inline constexpr std::string_view kVerdictSchema = "kernelwright/verdict/1";

struct Verdict {
  std::string problem, candidate, target;
  std::string problem_file;
  Evidence evidence;
  Options options;
  std::string gpu;             // "NVIDIA H200 (sm_90)"; empty when none was asked for
  bool sealed = true;          // false: the candidate is Python, and had the run of the process that called and timed it
  std::string candidate_hash;  // of the sources
  uint64_t seed = 0;           // everything the judge chose follows from it
  std::array<RungReport, kRungs> ladder;
  Outcome outcome;
  std::optional<Rung> decided_by;  // the rung that failed
  bool correct() const { return std::holds_alternative<Correct>(outcome); }
};

std::string to_json(const Verdict& verdict);  // schema kVerdictSchema, stable key order

}  // namespace kw::judge
