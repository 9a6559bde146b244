// What every device does with a plan's steps: an order that the plan allows, and blocks of bytes with addresses put in.
// Internal to device. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "plan/plan.h"

namespace kw::device {

// SplitMix64 (Steele, Lea, Flood 2014): what a seed of schedules or layouts means in stored verdicts.
uint64_t next_random(uint64_t& state);

// Step indexes: the issue order for seed 0, another that `after` allows otherwise.
std::vector<uint32_t> order_of(const plan::Plan& plan, uint64_t seed);

using Resolve = std::function<Result<uint64_t>(const plan::Address&)>;
// Stores the address of each relocation's target, little endian, at its offset in `block`.
Status relocate(std::vector<uint8_t>& block, const std::vector<plan::Relocation>& relocations, const Resolve& resolve);

// The index of the buffer of this name. Errors: kNotFound; kInvalid when it has another size than `bytes`.
Result<size_t> find_buffer(const plan::Plan& plan, std::string_view name);
Result<size_t> find_buffer(const plan::Plan& plan, std::string_view name, size_t bytes);

// Of an input that the options name: where in its bytes the call's contents begin. 0 for others.
uint64_t turned_bytes(const CallOptions& options, const plan::Buffer& buffer);

// LoadedPlan::call for a device without clocks, by write, run and read.
Result<CallReport> call_by_running(LoadedPlan& loaded, const CallOptions& options);

// Outputs and workspace hold nothing before a call.
inline bool is_poisoned(const plan::Buffer& buffer) {
  return buffer.role == plan::Role::kOutput || buffer.role == plan::Role::kWorkspace;
}

}  // namespace kw::device
