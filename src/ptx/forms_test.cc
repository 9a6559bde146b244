// instructions.def says nothing that its readers cannot understand.
#include "ptx/forms.h"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(Forms, TargetsAndFamilies) {
  const auto ok = [](std::string_view name, const Needs& needs, int version) {
    TargetName target;
    return parse_target(name, target) && satisfies(needs, target, version);
  };
  const Needs exact{80, {{90, 'a'}}}, family{86, {{100, 'f'}, {110, 'f'}}}, later{70, {{80, 0}}};
  EXPECT_TRUE(ok("sm_90a", exact, 80));
  EXPECT_FALSE(ok("sm_90", exact, 80));
  EXPECT_FALSE(ok("sm_100a", exact, 90));
  EXPECT_FALSE(ok("sm_90a", exact, 78));
  EXPECT_TRUE(ok("sm_100a", family, 86));
  EXPECT_TRUE(ok("sm_103f", family, 88));
  EXPECT_TRUE(ok("sm_101a", family, 86));
  EXPECT_FALSE(ok("sm_100", family, 90));
  EXPECT_FALSE(ok("sm_120a", family, 90));
  EXPECT_TRUE(ok("sm_89", later, 78));
  EXPECT_FALSE(ok("sm_75", later, 90));
}

}  // namespace
}  // namespace kw::ptx
