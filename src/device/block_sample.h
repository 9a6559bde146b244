// Chosen blocks of a plan's launches on the emulator, for their counters alone: how a launch of any size is counted, whatever its grid.
//
// Buffers cost memory only where they are touched, so their size does not matter. What they hold: an input what fill() put there, over
// and over; everything else zeros, and what the blocks that ran have written. Nothing is checked but bounds, and results mean nothing: the
// blocks that were left out have written nothing. Whoever waits for one of those does not end: a finding, as is a fault.
// Used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "device/device.h"

namespace kw::device {

class BlockSample {
 public:
  static constexpr uint64_t kTileUnit = 4096;            // tiles of a multiple of it are not copied
  static constexpr uint64_t kLarge = uint64_t{16} << 20;   // bytes

  static Result<std::unique_ptr<BlockSample>> load(plan::Plan plan);
  ~BlockSample();

  const plan::Plan& plan() const;
  Status fill(std::string_view buffer, std::span<const uint8_t> tile);
  // A step that is no launch. Fills and copies of more than kLarge bytes are left out: they would touch what nobody reads.
  Status move(uint32_t step);
  // Blocks by their linear indices. Of `options`: threads, deadline_s, max_warp_instructions; sites are counted.
  Result<StepReport> run(uint32_t step, std::span<const uint64_t> blocks, const RunOptions& options);
  // Whether blocks of this launch may tell each other something, so that what one does depends on those before it.
  Result<bool> communicates(uint32_t step) const;
  // Buffers of more than kLarge bytes are as fill() left them, and give their memory back.
  Status forget();

 private:
  BlockSample();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kw::device
