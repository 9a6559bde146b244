#include "emu/object_name.h"

#include <fmt/format.h>

#include "base/demangle.h"
#include "emu/program.h"

namespace kw::emu {
namespace {

using ptx::Space;

struct Named { const ptx::Variable* variable = nullptr; uint64_t begin = 0; };

// True when [begin, begin + size) holds `at`; a variable that nothing else follows may be taken for what lies behind.
bool holds(uint64_t begin, uint64_t bytes, uint64_t at) { return at >= begin && at - begin < bytes; }

void name_shared(const Warp& warp, Finding& finding) {
  const BlockContext& block = *warp.block;
  finding.object = "shared memory";
  finding.object_offset = static_cast<int64_t>(finding.address);
  if (block.launch == nullptr || block.launch->program == nullptr || block.options == nullptr) return;
  const bool observed = block.options->checked() || block.options->count;
  const auto kernel = block.launch->program->impl().kernel(block.launch->kernel, observed);
  if (!kernel) return;
  const SharedLayout& layout = (*kernel)->shared;
  if (block.reserved_shared != 0 && holds(block.reserved_shared, kReservedSharedBytes, finding.address)) {
    finding.object = "reserved shared memory";
    finding.object_offset = static_cast<int64_t>(finding.address - block.reserved_shared);
    return;
  }
  if (finding.address >= layout.static_bytes && block.shared_bytes > layout.static_bytes) {
    finding.object = "dynamic shared memory";
    finding.object_offset = static_cast<int64_t>(finding.address - layout.static_bytes);
    return;
  }
  Named found;
  for (const auto& [variable, begin] : layout.offset) {
    if (variable->size_bytes() == 0) continue;
    const bool last = finding.address >= block.shared_bytes && (found.variable == nullptr || begin > found.begin);
    if (holds(begin, variable->size_bytes(), finding.address) || last) found = {variable, begin};
  }
  if (found.variable == nullptr) return;   // between two of them
  finding.object = readable_name(found.variable->name);
  finding.object_offset = static_cast<int64_t>(finding.address - found.begin);
}

void name_local(const Warp& warp, Finding& finding) {
  finding.object = "local memory";
  finding.object_offset = static_cast<int64_t>(finding.address);
  if (warp.code == nullptr || finding.address < warp.local_frame) return;
  const uint64_t at = finding.address - warp.local_frame;
  for (const FrameVariable& each : warp.code->frame_variables) {
    // The compiler's own area, which holds whatever the author declared, is no name to anybody.
    if (each.variable->name.starts_with("__local_depot") || !holds(each.offset, each.variable->size_bytes(), at)) continue;
    finding.object = readable_name(each.variable->name);
    finding.object_offset = static_cast<int64_t>(at - each.offset);
    return;
  }
}

}  // namespace

std::string name_object(const Warp& warp, Finding& finding) {
  if (finding.space == Space::kShared || finding.space == Space::kLocal) {
    const bool shared = finding.space == Space::kShared;
    shared ? name_shared(warp, finding) : name_local(warp, finding);
    const char* const memory = shared ? "shared memory" : "local memory";
    if (finding.object.ends_with(memory)) return fmt::format("offset {} of {}", finding.object_offset, finding.object);
    return fmt::format("offset {} of '{}' in {}", finding.object_offset, finding.object, memory);
  }
  const Allocation* const holder = warp.block->memory->find(finding.address);
  finding.object = holder != nullptr ? holder->label : "";
  finding.object_offset = holder != nullptr ? static_cast<int64_t>(finding.address - holder->begin) : 0;
  return fmt::format("offset {} of '{}'", finding.object_offset, finding.object);
}

}  // namespace kw::emu
