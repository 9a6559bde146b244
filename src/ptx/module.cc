#include <array>

#include "ptx/module.h"

namespace kw::ptx {
namespace {

struct TypeRow {
  Type type;
  std::string_view name;
  unsigned bits;
};

// In the order of the enumeration, so that a type indexes its row.
constexpr std::array kTypes = {
    TypeRow{Type::kNone, "", 0},
    TypeRow{Type::kPred, "pred", 1},
    TypeRow{Type::kB1, "b1", 1},
    TypeRow{Type::kB8, "b8", 8},
    TypeRow{Type::kB16, "b16", 16},
    TypeRow{Type::kB32, "b32", 32},
    TypeRow{Type::kB64, "b64", 64},
    TypeRow{Type::kB128, "b128", 128},
    TypeRow{Type::kU4, "u4", 4},
    TypeRow{Type::kU8, "u8", 8},
    TypeRow{Type::kU16, "u16", 16},
    TypeRow{Type::kU32, "u32", 32},
    TypeRow{Type::kU64, "u64", 64},
    TypeRow{Type::kS4, "s4", 4},
    TypeRow{Type::kS8, "s8", 8},
    TypeRow{Type::kS16, "s16", 16},
    TypeRow{Type::kS32, "s32", 32},
    TypeRow{Type::kS64, "s64", 64},
    TypeRow{Type::kF16, "f16", 16},
    TypeRow{Type::kF16x2, "f16x2", 32},
    TypeRow{Type::kBF16, "bf16", 16},
    TypeRow{Type::kBF16x2, "bf16x2", 32},
    TypeRow{Type::kTF32, "tf32", 32},
    TypeRow{Type::kF32, "f32", 32},
    TypeRow{Type::kF32x2, "f32x2", 64},
    TypeRow{Type::kF64, "f64", 64},
    TypeRow{Type::kE4M3, "e4m3", 8},
    TypeRow{Type::kE5M2, "e5m2", 8},
    TypeRow{Type::kE4M3x2, "e4m3x2", 16},
    TypeRow{Type::kE5M2x2, "e5m2x2", 16},
    TypeRow{Type::kE4M3x4, "e4m3x4", 32},
    TypeRow{Type::kE5M2x4, "e5m2x4", 32},
    TypeRow{Type::kE2M3, "e2m3", 6},
    TypeRow{Type::kE3M2, "e3m2", 6},
    TypeRow{Type::kE2M1, "e2m1", 4},
    TypeRow{Type::kE2M3x2, "e2m3x2", 16},
    TypeRow{Type::kE3M2x2, "e3m2x2", 16},
    TypeRow{Type::kE2M1x2, "e2m1x2", 8},
    TypeRow{Type::kE2M3x4, "e2m3x4", 32},
    TypeRow{Type::kE3M2x4, "e3m2x4", 32},
    TypeRow{Type::kE2M1x4, "e2m1x4", 16},
    TypeRow{Type::kUE8M0, "ue8m0", 8},
    TypeRow{Type::kUE8M0x2, "ue8m0x2", 16},
    TypeRow{Type::kUE4M3, "ue4m3", 8},
    TypeRow{Type::kS2F6x2, "s2f6x2", 16},
    TypeRow{Type::kU16x2, "u16x2", 32},
    TypeRow{Type::kS16x2, "s16x2", 32},
    TypeRow{Type::kU8x4, "u8x4", 32},
    TypeRow{Type::kS8x4, "s8x4", 32},
    TypeRow{Type::kTexref, "texref", 64},
    TypeRow{Type::kSamplerref, "samplerref", 64},
    TypeRow{Type::kSurfref, "surfref", 64},
    TypeRow{Type::kOther, "?", 0},
};

constexpr bool rows_in_order() {
  for (size_t i = 0; i < kTypes.size(); ++i)
    if (static_cast<size_t>(kTypes[i].type) != i) return false;
  return kTypes.size() == static_cast<size_t>(Type::kOther) + 1;
}
static_assert(rows_in_order());

uint64_t saturating_multiply(uint64_t a, uint64_t b) {
  return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

}  // namespace

unsigned size_bits(Type type) { return kTypes[static_cast<size_t>(type)].bits; }

std::string_view name_of(Type type) { return kTypes[static_cast<size_t>(type)].name; }

Type type_named(std::string_view name) {
  if (name.size() < 2 || name.size() > 10) return Type::kNone;
  // The types of nearly every declaration and instruction, without a search.
  switch (name[0]) {
    case 'b': case 'u': case 's': case 'f': case 'p': case 'e': case 't': break;
    default: return Type::kNone;
  }
  for (size_t i = 1; i + 1 < kTypes.size(); ++i)
    if (kTypes[i].name == name) return kTypes[i].type;
  return Type::kNone;
}

uint64_t Variable::size_bytes() const {
  const uint64_t bits = ptx::size_bits(type);
  uint64_t bytes = saturating_multiply((bits + 7) / 8, vector);
  for (const uint64_t dim : dims) bytes = saturating_multiply(bytes, dim);
  return bytes;
}

uint32_t Variable::align_bytes() const {
  if (align != 0) return align;
  const uint32_t natural = (ptx::size_bits(type) + 7) / 8 * vector;
  return natural == 0 ? 1 : natural;
}

bool Instruction::has(std::string_view modifier) const {
  for (const std::string_view own : modifiers)
    if (own == modifier) return true;
  return false;
}

std::string Instruction::full_name() const {
  std::string name(opcode);
  for (const std::string_view modifier : modifiers) {
    name += '.';
    name += modifier;
  }
  return name;
}

const Function* Module::find_function(std::string_view name) const {
  const Function* found = nullptr;
  for (const Function& function : functions)
    if (function.name == name && (found == nullptr || (function.has_body && !found->has_body)))
      found = &function;
  return found;
}

const Variable* Module::find_variable(std::string_view name) const {
  const Variable* found = nullptr;
  for (const Variable& variable : variables)
    if (variable.name == name && (found == nullptr || (found->is_extern && !variable.is_extern)))
      found = &variable;
  return found;
}

std::string_view Module::intern(std::string made) { return interned.emplace_back(std::move(made)); }

}  // namespace kw::ptx
