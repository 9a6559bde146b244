#include "device/replay.h"

#include <algorithm>

namespace kw::device {

uint64_t next_random(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::vector<uint32_t> order_of(const plan::Plan& plan, uint64_t seed) {
  const size_t count = plan.steps.size();
  std::vector<uint32_t> out;
  if (seed == 0) {
    for (uint32_t i = 0; i < count; ++i) out.push_back(i);
    return out;
  }
  std::vector<std::vector<uint32_t>> followers(count);
  std::vector<uint32_t> waiting(count, 0), ready;
  for (uint32_t i = 0; i < count; ++i) {
    waiting[i] = static_cast<uint32_t>(plan.steps[i].after.size());
    for (const uint32_t before : plan.steps[i].after) followers[before].push_back(i);
    if (waiting[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const size_t pick = next_random(seed) % ready.size();
    const uint32_t index = ready[pick];
    ready[pick] = ready.back();
    ready.pop_back();
    out.push_back(index);
    for (const uint32_t next : followers[index])
      if (--waiting[next] == 0) ready.push_back(next);
  }
  return out;
}

Status relocate(std::vector<uint8_t>& block, const std::vector<plan::Relocation>& relocations, const Resolve& resolve) {
  for (const plan::Relocation& relocation : relocations) {
    KW_TRY(const uint64_t address, resolve(relocation.target));
    for (size_t i = 0; i < 8; ++i) block[relocation.offset + i] = static_cast<uint8_t>(address >> (8 * i));
  }
  return {};
}

Result<size_t> find_buffer(const plan::Plan& plan, std::string_view name) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (plan.buffers[i].name == name) return i;
  }
  return fail(ErrorCode::kNotFound, "the plan has no buffer '{}'", name);
}

Result<size_t> find_buffer(const plan::Plan& plan, std::string_view name, size_t bytes) {
  KW_TRY(const size_t index, find_buffer(plan, name));
  if (plan.buffers[index].bytes != bytes)
    return fail(ErrorCode::kInvalid, "buffer '{}' has {} bytes, not {}", name, plan.buffers[index].bytes, bytes);
  return index;
}

uint64_t turned_bytes(const CallOptions& options, const plan::Buffer& buffer) {
  if (std::find(options.turned.begin(), options.turned.end(), buffer.name) == options.turned.end()) return 0;
  const uint64_t element = std::max(1u, plan::bits_of_dtype(buffer.dtype) / 8);   // of narrower ones a byte's worth
  const uint64_t elements = buffer.bytes / element;
  return elements == 0 ? 0 : options.turn % elements * element;
}

Result<CallReport> call_by_running(LoadedPlan& loaded, const CallOptions& options) {
  std::vector<std::pair<std::string, std::vector<uint8_t>>> contents;   // of inputs and inouts, as written
  for (const plan::Buffer& buffer : loaded.plan().buffers) {
    if (is_poisoned(buffer)) continue;
    std::vector<uint8_t> bytes(buffer.bytes);
    KW_TRY_VOID(loaded.read(buffer.name, bytes));
    const auto first = static_cast<std::ptrdiff_t>(turned_bytes(options, buffer));
    std::vector<uint8_t> turned = bytes;
    std::rotate(turned.begin(), turned.begin() + first, turned.end());
    KW_TRY_VOID(loaded.write(buffer.name, turned));
    contents.emplace_back(buffer.name, std::move(bytes));
  }
  RunOptions run;
  run.deadline_s = options.deadline_s;
  KW_TRY(RunReport ran, loaded.run(run));
  for (int i = options.cold ? 0 : std::max(1, options.repeats); i > 0 && ran.clean(); --i) {
    KW_TRY(ran, loaded.run(run));
  }
  CallReport report;
  report.completed = ran.completed;
  if (options.trace) report.untraced = "this device has no clock";
  for (const StepReport& step : ran.steps) report.findings.insert(report.findings.end(), step.findings.begin(), step.findings.end());
  for (const plan::Buffer& buffer : loaded.plan().buffers) {
    if (buffer.role != plan::Role::kOutput && buffer.role != plan::Role::kInOut) continue;
    std::vector<uint8_t> bytes(buffer.bytes);
    KW_TRY_VOID(loaded.read(buffer.name, bytes));
    report.outputs.push_back(fingerprint_of(bytes, options.key));
  }
  for (const auto& [name, bytes] : contents) KW_TRY_VOID(loaded.write(name, bytes));
  return report;
}

}  // namespace kw::device
