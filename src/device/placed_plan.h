// A checked plan in the emulator's memory: every buffer has an address, every module is loaded. What executes it, and what the buffers
// hold (zeros, at first), is for whoever uses it to say. Internal to device. Used by one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "device/replay.h"
#include "device/step_order.h"
#include "emu/emulator.h"
#include "ptx/module.h"

namespace kw::device {

// Modules as parsed, by their text: a judge loads one plan many times. Thread-safe.
class ModuleCache {
 public:
  Result<std::shared_ptr<const ptx::Module>> get(const std::string& text, const std::string& name);

 private:
  static constexpr size_t kMost = 16;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const ptx::Module>> modules_;
};

struct PlacedPlan {
  plan::Plan plan;
  std::unique_ptr<emu::Memory> memory;   // before programs, which refer to it
  std::vector<std::unique_ptr<emu::Program>> programs;
  std::vector<uint64_t> addresses;       // by buffer

  // `memory_bytes`: of the device. `align`: of buffers.
  Status place(plan::Plan checked, const LoadOptions& options, uint64_t memory_bytes, uint64_t align, ModuleCache& modules);

  Result<uint64_t> resolve(const plan::Address& address) const;
  emu::Launch launch_of(const plan::Launch& launch) const;
  // A step that is no launch: executes it; what it touches.
  Status move_bytes(const plan::Step& step);
  Result<std::vector<StepOrder::Touched>> touched_by(const plan::Step& step) const;

 private:
  Resolve resolver() const;
};

}  // namespace kw::device
