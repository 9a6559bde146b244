// Toolchain: from a candidate's sources to a plan, and from a whole CUDA program to one that runs on the
// emulator. The compiler and the candidate's host code both run in a jail (base/jail.h).
//
//   KW_TRY(auto compiler, toolchain::find_compiler("softmax.cu"));
//   KW_TRY(auto compiled, toolchain::compile(compiler, {.path = "softmax.cu", .target = "sm_80"}, {}));
//   if (auto* errors = std::get_if<CompileErrors>(&compiled)) …
//   KW_TRY(auto recorded, toolchain::record(std::get<Compiled>(compiled), workload, {}));
//   if (auto* reason = std::get_if<Unrecordable>(&recorded)) …  else std::get<plan::Plan>(recorded)
//
// What a candidate does wrong (does not compile, cannot be recorded, hangs) is a value; an Error means that
// the machine or the request is at fault: no nvcc, no jail, no such file, an unknown target.
// Functions are thread-safe; concurrent compilations of the same candidate are both right, one is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "problem/python_place.h"

namespace kw::toolchain {

// ---- languages and their compilers ------------------------------------------------------------------

enum class Language : uint8_t {
  kCuda,
  kTriton,   // a .py file that imports kernelwright, at the start of a line
  kTorch,    // any other .py file: a module that PyTorch runs; nothing here compiles or records it
};
Result<Language> language_of(const std::string& candidate_path);

struct Nvcc {
  std::string program;           // the nvcc that runs: the driver itself, not a link or a wrapper, if found
  std::string root;              // the toolkit's folder: bin/, nvvm/, include/
  std::string include;           // the folder with cuda_runtime.h
  std::string version;           // "13.0.88"
  int major = 0, minor = 0;
  std::string host_compiler;     // -ccbin, absolute
};
// Looks at KW_NVCC, CUDA_HOME/bin, CUDA_PATH/bin, .venv (nvidia/cu13/bin of the wheel) under the current folder, this program's
// and their parents, then PATH. Error: kNotFound with what to type.
Result<Nvcc> find_nvcc();
// Looks at KW_HOST_COMPILER, NVCC_CCBIN, then for g++, g++-14 … g++-11 on PATH. Error: kNotFound with what to type.
Result<std::string> find_host_compiler();

// Triton compiles in a jail, by a worker of our package (python/kernelwright/triton_worker.py).
struct Triton {
  problem::PythonPlace python;   // `found` is Triton's version
  std::string package;           // the folder of our package
};
// Error: kNotFound with what to type.
Result<Triton> find_triton();

using Compiler = std::variant<Nvcc, Triton>;
// Of the candidate's language. Errors: kUnsupported for a module of PyTorch.
Result<Compiler> find_compiler(const std::string& candidate_path);
std::string describe(const Compiler& compiler);   // "nvcc 13.0.88", "Triton 3.5.0"

// ---- candidates ------------------------------------------------------------------------------------

struct Candidate {
  std::string path;                      // a .cu file, a folder whose *.cu files are compiled together, or a .py file
  std::string target = "sm_80";
  std::vector<std::string> flags;        // of CUDA: further nvcc flags: -D…, -I relative to the folder, --use_fast_math …
};

// The files that are the candidate, by path, as the compiler is shown them. Links are not followed, hidden folders not
// entered. kLimit beyond 2000 files or 64 MiB.
struct Source {
  std::string path, text;                // relative to the candidate's folder; of a single file its name
};
Result<std::vector<Source>> candidate_sources(const std::string& path);

struct CompileOptions {
  double wall_seconds = 300;
  uint64_t memory_bytes = uint64_t{6} << 30;
  std::string cache_folder;              // empty: $KW_CACHE, or $XDG_CACHE_HOME/kernelwright, or ~/.cache/kernelwright
  bool use_cache = true;
  std::vector<std::string> include_folders;  // trusted, absolute: read-only in the jail (a CUTLASS checkout)
};

struct Diagnostic {
  enum class Severity : uint8_t { kNote, kWarning, kError } severity = Severity::kError;
  Span place;                            // file relative to the candidate's folder
  std::string message;
  std::string source_line;
};

struct CompileErrors {
  std::vector<Diagnostic> diagnostics;   // errors first as the compiler gave them; at most 50
  std::string log;                       // all that nvcc said, at most 64 KiB
  std::string summary() const;           // one line: the first error with its place
};

class CallSites;
class TritonCandidate;

// A compiled candidate: a program that records itself when run in the jail; or one in Triton, whose kernels are compiled as
// recordings ask for them, within what is left of CompileOptions::wall_seconds.
struct Compiled {
  std::string program;                   // of CUDA: absolute path in the cache; never run it outside a jail
  std::string key;                       // content hash of sources, flags, target, toolchain and runtime
  std::string name;                      // of the candidate, for people
  std::string target;
  std::string source_folder;             // prefix that frames of the candidate carry
  std::vector<Diagnostic> warnings;
  double compile_seconds = 0;            // 0 when it came from the cache
  bool from_cache = false;
  std::shared_ptr<CallSites> call_sites; // its source lines, as far as recordings asked for them
  std::shared_ptr<TritonCandidate> triton;
};
Result<std::variant<Compiled, CompileErrors>> compile(const Compiler& compiler, const Candidate& candidate,
                                                      const CompileOptions& options = {});

// ---- recording -------------------------------------------------------------------------------------

struct Argument {
  // kPiece: an output that the entry may leave out.
  enum class Kind : uint8_t { kInput, kOutput, kPiece, kInOut, kInteger, kReal, kBool } kind = Kind::kInput;
  std::string name;
  std::string dtype;                     // tensors: names of plan::bits_of_dtype
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;          // in elements; empty: contiguous
  int64_t integer = 0;                   // kInteger, kBool
  double real = 0;                       // kReal
};
// Everything a candidate of the problem may name, for one setting of the axes.
struct Workload {
  std::vector<Argument> arguments;
};

struct RecordOptions {
  double wall_seconds = 20;
  uint64_t memory_bytes = uint64_t{2} << 30;
};

// Why the host code could not be turned into a plan.
struct Unrecordable {
  enum class Kind : uint8_t {
    kCall,               // a CUDA call that needs a device, tensor contents or a library; `call` names it
    kContract,           // the entry does not fit the problem: names, types, dtypes, no or several KW_ENTRY
    kCrash,              // died by a signal (reading a device pointer is named as such), or exited by itself
    kTimeout,
    kLimit,              // memory, files, output, steps
    kNondeterministic,   // two recordings differ in more than addresses
    kLaunch,             // a launch outside the target's limits; see plan::check
    kCompile,            // a kernel that is compiled when it is launched does not compile; `output` is the compiler's
  } kind = Kind::kCall;
  std::string call;                      // "cudaMemcpy"; may be empty
  std::string message;                   // one sentence: what and why
  Span place;                            // the candidate's line; line 0 when unknown
  std::vector<std::string> notes;        // remedies
  std::string output;                    // the end of what the program printed, stderr last: at most 4 KiB
};
std::string_view name_of(Unrecordable::Kind kind);

// Runs the host code twice in the jail, with device memory at different addresses; what differs is relocated.
Result<std::variant<plan::Plan, Unrecordable>> record(const Compiled& compiled, const Workload& workload,
                                                      const RecordOptions& options = {});

// That recordings have waited for kernels to be compiled, together: of candidates in Triton.
double seconds_of_kernels(const Compiled& compiled);

// ---- whole programs --------------------------------------------------------------------------------

// `kw nvcc ARGS…`: runs nvcc with the caller's arguments, device code for the emulator (PTX of the -arch asked
// for, or compute_80) and the emulated runtime in place of cudart. Not jailed: it is the user's own build.
// Returns nvcc's exit code. Errors: targets the emulator lacks, -rdc=true, --cubin and the like.
Result<int> nvcc(const std::vector<std::string>& arguments);
// The command that nvcc() runs, for --dryrun and tests.
Result<std::vector<std::string>> nvcc_command(const Nvcc& nvcc, const std::vector<std::string>& arguments);

struct EmulatedRun {
  std::vector<std::string> command;      // program and its arguments
  bool check_races = false, check_uninitialised = false;
  bool count = false;
  int threads = 0;
  uint64_t schedule_seed = 0;
  std::string json_report;               // path; empty: none
};
// `kw emu run`: runs a program that kw nvcc built, on this terminal's streams. Findings and counters go to
// stderr when they arise and as a summary at exit. Returns the exit code to give: the program's own, or 1
// when it is 0 and there were findings.
Result<int> run_emulated(const EmulatedRun& run);

}  // namespace kw::toolchain
