// The variables of a plan's modules that outlive a call, and what calls left in them.
#pragma once

#include <string_view>
#include <vector>

#include "emu/emulator.h"

namespace kw::device {

class Variables {
 public:
  // Those of a program just loaded: they hold their initial values.
  Status add(const std::string& ptx, const emu::Program& program);
  // Bytes that are not the initial ones any more count as uninitialised, whatever they hold.
  Status mark_stale(emu::Memory& memory) const;

 private:
  struct Variable {
    uint64_t address = 0;
    std::vector<uint8_t> initial;
  };
  std::vector<Variable> variables_;
};

}  // namespace kw::device
