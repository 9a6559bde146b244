#include "device/variables.h"

#include "plan/ptx_outline.h"

namespace kw::device {

Status Variables::add(const std::string& ptx, const emu::Program& program) {
  for (const plan::VariableOutline& variable : plan::remembered_outline(ptx)->variables) {
    if (variable.constant || variable.is_extern) continue;   // no kernel writes those
    const auto symbol = program.symbol(variable.name);
    if (!symbol) continue;                                     // a texture has no bytes
    Variable& added = variables_.emplace_back(Variable{symbol->address, std::vector<uint8_t>(symbol->bytes)});
    KW_TRY_VOID(program.memory().read(symbol->address, added.initial.data(), added.initial.size()));
  }
  return {};
}

Status Variables::mark_stale(emu::Memory& memory) const {
  for (const Variable& variable : variables_) {
    std::vector<uint8_t> now(variable.initial.size());
    KW_TRY_VOID(memory.read(variable.address, now.data(), now.size()));
    for (size_t i = 0; i < now.size(); ++i) {
      if (now[i] != variable.initial[i]) memory.mark_uninitialised(variable.address + i, 1);
    }
  }
  return {};
}

}  // namespace kw::device
