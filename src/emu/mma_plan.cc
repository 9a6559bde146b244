#include "emu/mma_plan.h"

#include <deque>
#include <mutex>

namespace kw::emu {
namespace {

MmaPlan make_plan(const MmaForm& form) {
  MmaPlan plan;
  plan.form = form;
  plan.operations = form.operations();
  for (const Part part : {Part::kA, Part::kB, Part::kC, Part::kD}) {
    const auto index = static_cast<size_t>(part);
    const FragmentSize size = plan.size[index] = fragment_size(form, part);
    const Extent extent = plan.extent[index] = extent_of(form, part);
    const bool words = element_of(form, part) == Element::kB1;
    for (unsigned reg = 0; reg < size.registers; ++reg)
      for (unsigned lane = 0; lane < kLanes; ++lane)
        for (unsigned e = 0; e < (words ? 1 : size.per_register); ++e) {
          const Position at = position_of(form, part, lane, reg, e);
          unsigned element = (at.product * extent.rows + at.row) * extent.columns + at.column;
          if (words) {
            const unsigned per_line = form.shape.k / 32;
            element = part == Part::kA ? at.row * per_line + at.column / 32 : at.column * per_line + at.row / 32;
          }
          plan.element[index].push_back(static_cast<uint16_t>(element));
        }
  }
  if (form.sparse) {
    const Extent a = extent_of(form, Part::kA);
    for (unsigned row = 0; row < a.rows; ++row)
      for (unsigned stored = 0; stored < a.columns; ++stored)
        plan.metadata.push_back(metadata_bits(form, row, stored / stored_per_group(form)));
    for (unsigned stored = 0; stored < a.columns; ++stored)
      for (unsigned bits = 0; bits < 16; ++bits)
        plan.column.push_back(static_cast<uint8_t>(dense_column(form, stored, bits)));
  }
  return plan;
}

}  // namespace

unsigned MmaPlan::first(Part part) const {
  const unsigned d = of(Part::kD).registers, a = of(Part::kA).registers, b = of(Part::kB).registers;
  switch (part) {
    case Part::kD: return 0;
    case Part::kA: return d;
    case Part::kB: return d + a;
    case Part::kC: return d + a + b;
  }
  return 0;
}

const MmaPlan& mma_plan(const MmaForm& form) {
  static std::mutex mutex;
  static std::deque<MmaPlan> plans;   // a few hundred forms exist
  const std::lock_guard lock(mutex);
  for (const MmaPlan& plan : plans)
    if (plan.form == form) return plan;
  plans.push_back(make_plan(form));
  return plans.back();
}

}  // namespace kw::emu
