// Candidates in Triton. Host code runs in a jail, once for each workload and seed, and names the kernels that it launches as they are
// to be compiled; a kernel is compiled once, in a jail that knows of no workload, and kept by content. So a plan is a function of the
// candidate and the workload, whatever was recorded before. Internal to toolchain.
#pragma once

#include <chrono>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <variant>

#include "base/subprocess.h"
#include "toolchain/described.h"
#include "toolchain/recording.h"
#include "toolchain/toolchain.h"

namespace kw::arch {
struct Target;
}

namespace kw::toolchain {

Result<std::variant<Compiled, CompileErrors>> compile_triton(const Triton& triton, const Candidate& candidate, const CompileOptions& options);

// Thread-safe.
class TritonCandidate {
 public:
  TritonCandidate(Triton triton, std::string path, std::string text, const arch::Target& target, CompileOptions options, std::string cache);

  const std::string& key() const { return key_; }
  const std::string& path() const { return path_; }
  // Runs the file without calling its entry. Why it cannot be; none: it can.
  Result<std::optional<Unrecordable>> import() const;
  double compiled_seconds();   // that compilations have taken, together
  // `call`: the workload as record.cc writes it.
  Result<Outcome> record(const std::string& call, const Workload& workload, const RecordOptions& options, int seed);

 private:
  using Kernel = Result<std::variant<DescribedKernel, Unrecordable>>;
  struct Ended {
    ProcessOutcome outcome;
    std::optional<Unrecordable> failure;
    std::string first, second;   // the files that were asked for
  };
  struct Bounds {
    double wall_seconds = 0;
    uint64_t memory_bytes = 0;
  };
  Result<Ended> run(const std::string& request, const Bounds& bounds, const std::string& first, const std::string& second) const;
  Kernel kernel(const std::string& what);
  Kernel compile(const std::string& what);
  std::string request(const std::string& more) const;

  const Triton triton_;
  const std::string path_, text_;
  const arch::Target& target_;
  const CompileOptions options_;
  const std::string cache_;
  std::string key_;
  std::mutex mutex_;
  std::map<std::string, std::shared_future<Kernel>> kernels_;   // by what is to be compiled
  double compiled_s_ = 0;
};

}  // namespace kw::toolchain
