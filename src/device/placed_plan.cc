#include "device/placed_plan.h"

#include "base/check.h"
#include "ptx/parser.h"

namespace kw::device {

Result<std::shared_ptr<const ptx::Module>> ModuleCache::get(const std::string& text, const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = modules_.find(text); it != modules_.end()) return it->second;
  }
  KW_TRY(ptx::Module parsed, ptx::parse(text, name));
  auto module = std::make_shared<const ptx::Module>(std::move(parsed));
  const std::lock_guard lock(mutex_);
  if (modules_.size() >= kMost) modules_.clear();
  return modules_.emplace(text, std::move(module)).first->second;
}

Status PlacedPlan::place(plan::Plan checked, const LoadOptions& options, uint64_t memory_bytes, uint64_t align, ModuleCache& modules) {
  plan = std::move(checked);
  KW_TRY_VOID(plan::check(plan));
  uint64_t total = 0;
  for (const plan::Buffer& buffer : plan.buffers) {
    total += buffer.bytes;
    if (buffer.bytes > memory_bytes || total > memory_bytes)
      return fail(ErrorCode::kLimit, "the plan's buffers have {} bytes; the emulated device has {}: use a smaller workload", total, memory_bytes);
  }
  KW_TRY(memory, emu::Memory::create(memory_bytes + (uint64_t{1} << 30), options.track_initialised));
  uint64_t random = options.layout_seed;
  for (const plan::Buffer& buffer : plan.buffers) {
    if (options.layout_seed != 0) {
      KW_TRY(const uint64_t spacer, memory->allocate((next_random(random) % 64 + 1) * 256, "spacer"));
      (void)spacer;
    }
    KW_TRY(const uint64_t address, memory->allocate(buffer.bytes, buffer.name, align, buffer.role == plan::Role::kInput));
    addresses.push_back(address);
  }
  for (size_t i = 0; i < plan.modules.size(); ++i) {
    KW_TRY(auto parsed, modules.get(plan.modules[i].ptx, fmt::format("module {} of the plan", i)));
    KW_TRY(auto program, emu::Program::load(std::move(parsed), *memory));
    programs.push_back(std::move(program));
  }
  // What the scan of the plan cannot know, the parsed modules do.
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const auto* launch = std::get_if<plan::Launch>(&plan.steps[i].action);
    if (launch == nullptr) continue;
    KW_TRY(const emu::KernelInfo kernel, programs[launch->module]->kernel(launch->kernel));
    if (kernel.param_bytes != launch->params.size())
      return fail(ErrorCode::kInvalid, "step {}: {} takes {} bytes of parameters, not {}", i, launch->kernel, kernel.param_bytes, launch->params.size());
  }
  return {};
}

Result<uint64_t> PlacedPlan::resolve(const plan::Address& address) const {
  if (address.in_buffer()) return addresses[address.buffer] + static_cast<uint64_t>(address.offset);
  KW_TRY(const emu::Program::Symbol symbol, programs[address.module]->symbol(address.variable));
  return symbol.address + static_cast<uint64_t>(address.offset);
}

Resolve PlacedPlan::resolver() const {
  return [this](const plan::Address& address) { return resolve(address); };
}

emu::Launch PlacedPlan::launch_of(const plan::Launch& launch) const {
  emu::Launch out;
  out.program = programs[launch.module].get();
  out.kernel = launch.kernel;
  out.grid = launch.grid;
  out.block = launch.block;
  out.cluster = launch.cluster;
  out.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  out.cooperative = launch.cooperative;
  out.params = launch.params;
  // The plan was checked: every target exists.
  const Status relocated = relocate(out.params, launch.relocations, resolver());
  KW_CHECK(relocated.has_value());
  return out;
}

Status PlacedPlan::move_bytes(const plan::Step& step) {
  if (const auto* fill = std::get_if<plan::Fill>(&step.action)) {
    KW_TRY(const uint64_t to, resolve(fill->to));
    for (uint64_t row = 0; row < fill->rows && fill->row_bytes != 0; ++row)
      KW_TRY_VOID(memory->fill(to + row * fill->pitch, fill->pattern.data(), fill->pattern.size(), fill->row_bytes / fill->pattern.size()));
    return {};
  }
  if (const auto* copy = std::get_if<plan::Copy>(&step.action)) {
    KW_TRY(const uint64_t to, resolve(copy->to));
    KW_TRY(const uint64_t from, resolve(copy->from));
    for (uint64_t row = 0; row < copy->rows && copy->row_bytes != 0; ++row)
      KW_TRY_VOID(memory->copy(to + row * copy->to_pitch, from + row * copy->from_pitch, copy->row_bytes));
    return {};
  }
  const auto& write = std::get<plan::Write>(step.action);
  std::vector<uint8_t> data = write.data;
  KW_TRY_VOID(relocate(data, write.relocations, resolver()));
  KW_TRY(const uint64_t to, resolve(write.to));
  return data.empty() ? Status() : memory->write(to, data.data(), data.size());
}

Result<std::vector<StepOrder::Touched>> PlacedPlan::touched_by(const plan::Step& step) const {
  std::vector<StepOrder::Touched> out;
  const auto touch = [&](const plan::Address& address, uint64_t bytes, uint64_t rows, uint64_t pitch, emu::Footprint::Use use) -> Status {
    KW_TRY(const uint64_t begin, resolve(address));
    for (uint64_t row = 0; row < rows; ++row) out.push_back({begin + row * pitch, begin + row * pitch + bytes, use});
    return {};
  };
  using enum emu::Footprint::Use;
  if (const auto* fill = std::get_if<plan::Fill>(&step.action)) {
    KW_TRY_VOID(touch(fill->to, fill->row_bytes, fill->rows, fill->pitch, kWrite));
  } else if (const auto* copy = std::get_if<plan::Copy>(&step.action)) {
    KW_TRY_VOID(touch(copy->from, copy->row_bytes, copy->rows, copy->from_pitch, kRead));
    KW_TRY_VOID(touch(copy->to, copy->row_bytes, copy->rows, copy->to_pitch, kWrite));
  } else if (const auto* write = std::get_if<plan::Write>(&step.action)) {
    KW_TRY_VOID(touch(write->to, write->data.size(), 1, 0, kWrite));
  }
  return out;
}

}  // namespace kw::device
