// The special registers of PTX ISA section 10.
#pragma once

#include <string_view>

#include "ptx/module.h"

namespace kw::ptx {

struct SpecialRegister {
  std::string_view name;   // "%tid"
  Type type = Type::kU32;
  uint32_t vector = 1;     // 4: has .x .y .z .w
  int version = 10;        // first PTX version, major * 10 + minor
  int target = 0;          // first sm
};

const SpecialRegister* find_special_register(std::string_view name);  // null: no such register

}  // namespace kw::ptx
