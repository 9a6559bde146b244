// What bounds a candidate, told twice: by the problem alone, and by what was counted of the candidate. Pure; thread-safe.
//
//   by the problem   time to move every input and output byte once at the specified rate, against the time to compute the
//                    reference's operations at the peak for its dtypes (tensor cores for matrix products)
//                    specified, or measured where a calibration of such a device is at hand (then tensor cores stay at the
//                    specification where mma.sync is not their fastest instruction: from sm_90 to sm_110)
//   by counters      the resources of estimate.h, all kernels together; where the GPU's own counters were read, those: what share of
//                    their peaks the memory system and the SMs reach
// One time twice the other or more: memory or compute; else mixed. Both below two launches: latency. When the two disagree,
// the problem is right: counters describe the candidate's faults (KernelPro, 2026, found that rule to serve better).
// Williams, Waterman, Patterson, "Roofline: an insightful visual performance model" (2009).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "device/calibration.h"
#include "profile/subject.h"

namespace kw::profile {

enum class Class : uint8_t { kCompute = 1, kMemory = 2, kLatency = 4, kMixed = 8 };   // bits: tools name several
std::string_view name_of(Class each);   // "memory-bound"

struct Roofline {
  double bytes = 0, operations = 0, matmul_operations = 0;
  double needed_bytes = 0;           // of `bytes`: what no implementation can leave alone
  double bytes_per_second = 0, operations_per_second = 0;   // operations: harmonic mean of what each kind of them may use
  std::string bytes_measured_on, operations_measured_on;    // the device that each of them is measured on, wholly; empty: as specified
  std::string peak;                  // what the operations run on: "fp32", "tensor cores, f16"
  double memory_seconds = 0, compute_seconds = 0;
  double intensity() const { return bytes > 0 ? operations / bytes : 0; }
  double ridge() const { return bytes_per_second > 0 ? operations_per_second / bytes_per_second : 0; }
  double floor_seconds() const;      // no candidate is faster that does all that the reference names
  Class by_problem = Class::kMixed;
  std::optional<Class> by_counters;  // none: nothing was counted
  Time::Resource bound = Time::kDram;   // by the estimate
  std::optional<double> memory_share, compute_share;   // of their peaks, by the GPU's counters: where they were read
  std::string why_by_counters() const;
  std::string conflict;              // empty: both agree
};

Roofline roofline(const Subject& subject, const std::optional<device::Calibration>& measured = std::nullopt);
// By the problem alone, at the specified rates: there is no candidate. Errors: sizes that cannot be.
Result<Roofline> roofline(const problem::Problem& problem, const problem::Workload& workload, const arch::Target& target);

// Of the operands, where most operations are those of matrix products.
std::optional<tensor::DType> matmul_dtype(const problem::Problem& problem, const problem::Cost& cost);

}  // namespace kw::profile
