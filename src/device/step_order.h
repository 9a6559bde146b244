// Which steps of a plan have no order between them, and what each of those touches: the race check across steps.
// One per run of a plan, which must outlive it. Used by one thread; the footprints by any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "emu/finding.h"
#include "emu/footprint.h"
#include "emu/memory.h"
#include "plan/plan.h"

namespace kw::device {

class StepOrder {
 public:
  // Longer plans that are no chain are not followed.
  static constexpr size_t kMost = 2048;
  explicit StepOrder(const plan::Plan& plan);

  // Where to note what a step touches; null when nothing can run beside it.
  emu::Footprint* footprint_of(uint32_t step) const { return steps_[step].footprint.get(); }
  // A step that is no launch has touched these: its race with a step beside it, if there is one.
  struct Touched {
    uint64_t begin = 0, end = 0;
    emu::Footprint::Use use = emu::Footprint::kRead;
  };
  std::optional<emu::Finding> move(uint32_t step, const std::vector<Touched>& touched, const emu::Memory& memory);
  // The steps that have run and have no order with this one.
  std::vector<emu::Concurrent> beside(uint32_t step) const;
  void has_run(uint32_t step);

 private:
  struct Partner {
    uint32_t step = 0;
    bool until_wait = false;         // as emu::Concurrent
  };
  struct Step {
    std::vector<Partner> partners;
    std::unique_ptr<emu::Footprint> footprint;   // until all partners have run
    bool has_run = false;
  };
  void pair(uint32_t earlier, uint32_t later, bool until_wait);
  void release(uint32_t step);

  const plan::Plan& plan_;
  std::vector<Step> steps_;
};

}  // namespace kw::device
