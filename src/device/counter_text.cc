#include "device/counter_text.h"

#include <fmt/format.h>

namespace kw::device {
namespace {

void add_space(std::string& text, const char* name, const emu::SpaceCounters& space, bool sectors) {
  if (space.load_requests + space.store_requests + space.atomic_requests == 0) return;
  const auto ratio = [](uint64_t of, uint64_t per) { return per == 0 ? 0.0 : static_cast<double>(of) / static_cast<double>(per); };
  text += fmt::format("  {:<10} {:>12} loads {:>12} stores {:>10} atomics  {:>14} B loaded {:>14} B stored\n", name, space.load_requests,
                      space.store_requests, space.atomic_requests, space.load_bytes, space.store_bytes);
  if (sectors && space.sectors_load + space.sectors_store != 0)
    text += fmt::format("  {:<10} {:.2f} sectors per load, {:.2f} per store\n", "", ratio(space.sectors_load, space.load_requests),
                        ratio(space.sectors_store, space.store_requests));
  if (space.wavefronts_load + space.wavefronts_store != 0)
    text += fmt::format("  {:<10} {:.2f} wavefronts per load, {:.2f} per store ({:.2f} times the ideal)\n", "", ratio(space.wavefronts_load, space.load_requests),
                        ratio(space.wavefronts_store, space.store_requests),
                        ratio(space.wavefronts_load + space.wavefronts_store, space.ideal_wavefronts_load + space.ideal_wavefronts_store));
}

}  // namespace

std::string text_of(const emu::Counters& counters) {
  std::string text = fmt::format("  blocks {}, warps {}, barriers {}, branches {} ({} divergent), tensor operations {}\n", counters.blocks, counters.warps,
                                 counters.barriers, counters.branches, counters.divergent_branches, counters.tensor_operations);
  uint64_t warp_total = 0;
  std::string classes;
  for (size_t i = 0; i < counters.warp_instructions.size(); ++i) {
    warp_total += counters.warp_instructions[i];
    if (counters.warp_instructions[i] != 0)
      classes += fmt::format("{}{} {}", classes.empty() ? "" : ", ", name_of(static_cast<emu::Counters::Class>(i)), counters.warp_instructions[i]);
  }
  text += fmt::format("  warp instructions {} ({})\n", warp_total, classes);
  add_space(text, "global", counters.global, true);
  add_space(text, "shared", counters.shared, false);
  add_space(text, "local", counters.local, true);
  add_space(text, "ldmatrix", counters.ldmatrix, false);
  add_space(text, "cp.async", counters.cp_async, false);
  return text;
}

}  // namespace kw::device
