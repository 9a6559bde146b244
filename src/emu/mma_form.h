// Which matrix product an mma or wmma.mma instruction asks for, decoded from its modifiers
// (PTX ISA 9.7.14, "Warp Level Matrix Multiply-Accumulate Instructions"). Plain values; thread-safe.
// Internal to emu.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kw::emu {

enum class Element : uint8_t {
  kF16, kBF16, kTF32, kF32, kF64, kE4M3, kE5M2, kS8, kU8, kS4, kU4, kB1, kS32,
};
unsigned bits_of(Element element);
std::string_view name_of(Element element);
std::optional<Element> element_named(std::string_view name);

enum class Part : uint8_t { kA, kB, kC, kD };

struct MmaShape {
  uint16_t m = 0, n = 0, k = 0;
  bool operator==(const MmaShape&) const = default;
};
// "m16n8k16"; nothing when the text is not of that pattern.
std::optional<MmaShape> shape_named(std::string_view name);

struct MmaForm {
  enum class Bitwise : uint8_t { kNone, kXor, kAnd };
  enum class Rounding : uint8_t { kNearest, kZero, kDown, kUp };   // of f64 products
  MmaShape shape;
  Element a = Element::kF16, b = Element::kF16, c = Element::kF32, d = Element::kF32;
  bool a_row = true, b_row = false;    // only f16 m8n8k4 and wmma have a choice
  bool wmma = false;                   // fragments as wmma.load makes them
  bool sparse = false;                 // A holds half of its columns, chosen by metadata
  bool saturate = false;
  Bitwise bitwise = Bitwise::kNone;
  Rounding rounding = Rounding::kNearest;
  uint8_t selector = 0;                // sparse: which lanes of a quad supply metadata
  bool operator==(const MmaForm&) const = default;

  // f16 m8n8k4 is four products, one per quad pair of lanes; all others are one.
  unsigned products() const { return !wmma && shape.k == 4 && a == Element::kF16 ? 4 : 1; }
  // Multiply-adds × 2 of one warp instruction; sparse products count what they multiply.
  uint64_t operations() const {
    const uint64_t dense = 2ull * products() * shape.m * shape.n * shape.k;
    return sparse ? dense / 2 : dense;
  }
};

// The form that `opcode` ("mma", "wmma") with `modifiers` names; nothing when no sm_70…sm_89 target has it.
// The selector of a sparse form is an operand: the caller sets it.
std::optional<MmaForm> mma_form(std::string_view opcode, std::span<const std::string_view> modifiers);

// How many selectors a sparse form has: 4, 2 or 1 (PTX ISA, "Sparsity selector").
unsigned selector_count(const MmaForm& form);

}  // namespace kw::emu
