// The rows of instructions.def in a shape that can be matched, and the targets they need.
// Read-only after the first use; safe from several threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace kw::ptx {

// "80/7.0", "90a/8.0", "100f+110f/8.6".
struct Needs {
  int version = 0;                          // major * 10 + minor; 0 = any
  struct Target { int sm = 0; char suffix = 0; };
  std::vector<Target> targets;              // empty = any
};

struct TargetName {
  int sm = 0;
  char suffix = 0;                          // 'a', 'f' or 0
};
bool parse_target(std::string_view name, TargetName& target);  // "sm_90a"
int first_version_of(const TargetName& target);                // that knows the target; 0: no such target
bool satisfies(const Needs& needs, const TargetName& target, int version);
std::string describe(const Needs& needs);                      // "sm_80 or later and PTX 7.0 or later"

struct Slot {
  std::string_view label;                   // "t", or empty
  bool optional = false;
  struct Alternative {
    std::string_view text;                  // "sat", "xorsign.abs" (two modifiers), "*" (any beginning with m64)
    Needs needs;
  };
  std::vector<Alternative> alternatives;
};

struct OperandSpec {
  enum class Kind : uint8_t { kValue, kFragment, kAddress, kCoordinates, kConstant, kLabel, kName, kRest } kind = Kind::kValue;
  bool destination = false, sink = false, pair = false, optional = false;
  bool relaxed = false, twice = false, address_of = false, any_vector = false;
  char fragment = 0;
  std::string_view vector_label;            // the slot that says v2, v4, v8
  std::vector<uint32_t> vectors;            // allowed sizes; empty: scalar
  std::string_view type;                    // a slot's label or a type's name
};

struct Form {
  std::string_view opcode, pattern, operand_pattern;
  std::vector<Slot> slots;
  std::vector<OperandSpec> operands;
  Needs needs;
};

const std::vector<Form>* forms_of(std::string_view opcode);   // null: no such instruction
std::string nearest_opcode(std::string_view opcode);          // empty: none is near
std::string readable(const Form& form);                       // the pattern without needs and labels
std::string readable_operands(const Form& form);             // "result, value, value"
std::vector<const Form*> all_forms();

}  // namespace kw::ptx
