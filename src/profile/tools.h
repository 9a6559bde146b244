// The micro-profiling tools. Each looks at one kernel (or at the candidate as a whole) for one fault: trigger, analysis in
// numbers, what to change, the gain by estimate.h, the place in the source. Small functions, by theme in tools_*.cc; one table.
// Deterministic. Pure; thread-safe.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "profile/advice.h"
#include "profile/roofline.h"
#include "profile/subject.h"

namespace kw::profile {

struct Tool {
  std::string_view name;       // "bank_conflicts"
  std::string_view finds;      // one line
  unsigned classes = 0;        // Class bits of the problems that it is apt for
  // One of the two. Advice comes without tool and kernel names.
  std::optional<Advice> (*of_kernel)(const Subject&, const Kernel&) = nullptr;
  std::optional<Advice> (*of_candidate)(const Subject&, const Roofline&) = nullptr;
};

// For Tool::classes.
inline constexpr unsigned kCompute = static_cast<unsigned>(Class::kCompute), kMemory = static_cast<unsigned>(Class::kMemory),
                          kLatency = static_cast<unsigned>(Class::kLatency), kMixed = static_cast<unsigned>(Class::kMixed),
                          kAll = kCompute | kMemory | kLatency | kMixed;

std::span<const Tool> tools();
std::vector<Tool> memory_tools();
std::vector<Tool> occupancy_tools();
std::vector<Tool> instruction_tools();
std::vector<Tool> parallelism_tools();
std::vector<Tool> counter_tools();   // silent where the GPU's counters were not read

// Runs every tool that is apt for the class on every kernel that takes part in the time. The best gain first. Advice whose
// gain is below kLeastGain is left out, unless it is a question.
inline constexpr double kLeastGain = 1.02;
std::vector<Advice> advise(const Subject& subject, const Roofline& roofline);

// For the tools: advice at the place that an instruction came from.
Advice advice_at(const Subject& subject, const emu::Party& party);
Advice advice_at_launch(const Kernel& kernel);
// What counters of the GPU say goes before what is estimated. Of the time of all kernels, as measured where all were; the candidate's
// gain when this kernel is so many times faster; and how many times that is when warps lose so large a part of their waiting.
double measured_share(const Subject& subject, const Kernel& kernel);
double gain_of(const Subject& subject, const Kernel& kernel, double times);
double without_stall(const HardwareCounters& counters, double share);
// Measured: two warps or more are ready a clock, of which one issues. More of them on an SM would wait for their turn.
bool warps_suffice(const Kernel& kernel);
// A gain by the estimate, at the most what warps lose by all of these stall reasons, where that was measured.
double within_stalls(const Subject& subject, const Kernel& kernel, std::initializer_list<std::string_view> reasons, double gain);
double share_of(double part, double whole);   // 0 when there is no whole

}  // namespace kw::profile
