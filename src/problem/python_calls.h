// Calls functions of section python in a Python process of ours (python/kernelwright/worker.py), in the jail: nobody knows
// what the functions do. What comes back is checked for size and kind; whatever the process does ends in values or an Error.
//
// One process is one call of one function, at one precision or several. Answers are remembered: tolerance.h asks for the
// same call again and again, and starting Python with torch takes longer than most calls.
// Errors: no Python, torch or jail; what the function raised, with its line of the problem file; limits (kLimit).
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "problem/host_ops.h"
#include "problem/python_section.h"

namespace kw::problem {

struct PythonPlace;

enum class PythonPrecision {
  kExact,   // fp64; what the function casts to a narrower dtype is kept in fp64 as it is
  kSingle,  // fp32, operands too; what the function casts to a narrower dtype is rounded to that
  kDouble,  // fp64, and rounded likewise
};

struct PythonOperand {
  Kind kind = Kind::kReal;
  bool number = false;  // a Python number, not a tensor: sizes, attributes
  Array value;
};

struct PythonResult {
  std::int32_t output = 0;
  Kind kind = Kind::kReal;
  tensor::Shape shape;
};

struct PythonCall {
  const PythonSection& section;
  std::string function;
  std::vector<PythonOperand> operands;
  std::vector<PythonResult> results;  // which outputs are wanted and what they must be
};

struct PythonLimits {
  std::int64_t memory_bytes = std::int64_t{4} << 30;  // beyond what Python and torch themselves take
  double wall_seconds = 300;
};

class PythonCalls {
 public:
  // The results at `precision`. Those at `also` are computed by the same process and remembered.
  Result<std::vector<Buffer>> call(const PythonCall& call, PythonPrecision precision,
                                   std::optional<PythonPrecision> also, const PythonLimits& limits);

 private:
  using Answer = std::shared_ptr<const std::vector<Buffer>>;
  Answer remembered(const std::string& key);
  void remember(const std::string& key, const Answer& answer);
  Result<std::shared_ptr<const PythonPlace>> place();

  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::uint64_t remembered_bytes_ = 0;
  std::shared_ptr<const PythonPlace> place_;
};

}  // namespace kw::problem
