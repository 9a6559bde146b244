#include "device/replay.h"

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

}  // namespace kw::device
