#include "device/block_sample.h"

#include "device/placed_plan.h"

namespace kw::device {

struct BlockSample::Impl {
  ModuleCache modules;
  PlacedPlan placed;
};

BlockSample::BlockSample() : impl_(std::make_unique<Impl>()) {}
BlockSample::~BlockSample() = default;

const plan::Plan& BlockSample::plan() const { return impl_->placed.plan; }

Result<std::unique_ptr<BlockSample>> BlockSample::load(plan::Plan plan) {
  constexpr uint64_t kMost = uint64_t{1} << 40;   // of address space
  uint64_t bytes = 0;
  for (const plan::Buffer& buffer : plan.buffers) {
    if (buffer.bytes > kMost - bytes) return fail(ErrorCode::kLimit, "the plan's buffers have more than {} bytes: use a smaller workload", kMost);
    bytes += buffer.bytes;
  }
  bytes += plan.buffers.size() * 2 * kTileUnit;
  std::unique_ptr<BlockSample> out(new BlockSample);
  KW_TRY_VOID(out->impl_->placed.place(std::move(plan), {.track_initialised = false}, bytes, kTileUnit, out->impl_->modules));
  return out;
}

Status BlockSample::fill(std::string_view buffer, std::span<const uint8_t> tile) {
  const PlacedPlan& placed = impl_->placed;
  KW_TRY(const size_t index, find_buffer(placed.plan, buffer));
  return placed.memory->repeat(placed.addresses[index], placed.plan.buffers[index].bytes, tile.data(), tile.size());
}

Status BlockSample::move(uint32_t step) {
  const plan::Step& what = impl_->placed.plan.steps[step];
  const auto* fill = std::get_if<plan::Fill>(&what.action);
  const auto* copy = std::get_if<plan::Copy>(&what.action);
  const auto large = [](uint64_t row_bytes, uint64_t rows) { return rows != 0 && row_bytes > kLarge / rows; };
  if ((fill != nullptr && large(fill->row_bytes, fill->rows)) || (copy != nullptr && large(copy->row_bytes, copy->rows))) return {};
  return impl_->placed.move_bytes(what);
}

Result<StepReport> BlockSample::run(uint32_t step, std::span<const uint64_t> blocks, const RunOptions& options) {
  const auto& launch = std::get<plan::Launch>(impl_->placed.plan.steps[step].action);
  emu::Options emulator;
  emulator.count = emulator.count_sites = true;
  emulator.threads = options.threads;
  emulator.max_warp_instructions = options.max_warp_instructions;
  emulator.deadline_s = options.deadline_s;
  emulator.blocks = blocks;
  KW_TRY(emu::LaunchReport done, emu::run(impl_->placed.launch_of(launch), emulator));
  return StepReport{step, done.completed, std::move(done.findings), done.counters, done.warp_instructions, std::move(done.sites)};
}

Result<bool> BlockSample::communicates(uint32_t step) const {
  const auto& launch = std::get<plan::Launch>(impl_->placed.plan.steps[step].action);
  KW_TRY(const emu::KernelInfo info, impl_->placed.programs[launch.module]->kernel(launch.kernel));
  return info.order_sensitive || launch.cooperative;
}

Status BlockSample::forget() {
  const PlacedPlan& placed = impl_->placed;
  for (size_t i = 0; i < placed.addresses.size(); ++i) {
    if (placed.plan.buffers[i].bytes > kLarge) KW_TRY_VOID(placed.memory->restore(placed.addresses[i], placed.plan.buffers[i].bytes));
  }
  return {};
}

}  // namespace kw::device
