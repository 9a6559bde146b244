#include "emu/mma_form.h"

#include <array>
#include <charconv>

namespace kw::emu {
namespace {

struct ElementName {
  Element element;
  std::string_view name;
  unsigned bits;
};
constexpr std::array<ElementName, 13> kElements{{
    {Element::kF16, "f16", 16},   {Element::kBF16, "bf16", 16}, {Element::kTF32, "tf32", 32},
    {Element::kF32, "f32", 32},   {Element::kF64, "f64", 64},   {Element::kE4M3, "e4m3", 8},
    {Element::kE5M2, "e5m2", 8},  {Element::kS8, "s8", 8},      {Element::kU8, "u8", 8},
    {Element::kS4, "s4", 4},      {Element::kU4, "u4", 4},      {Element::kB1, "b1", 1},
    {Element::kS32, "s32", 32},
}};

// What the multiplicands are decides the shapes, the accumulators and the options.
enum class Family : uint8_t { kNone, kF16, kBF16, kTF32, kF64, kFP8, kInt8, kInt4, kBit };

Family family_of(Element a, Element b) {
  const auto both = [&](Element x, Element y) { return (a == x || a == y) && (b == x || b == y); };
  if (both(Element::kF16, Element::kF16)) return Family::kF16;
  if (both(Element::kBF16, Element::kBF16)) return Family::kBF16;
  if (both(Element::kTF32, Element::kTF32)) return Family::kTF32;
  if (both(Element::kF64, Element::kF64)) return Family::kF64;
  if (both(Element::kE4M3, Element::kE5M2)) return Family::kFP8;
  if (both(Element::kS8, Element::kU8)) return Family::kInt8;
  if (both(Element::kS4, Element::kU4)) return Family::kInt4;
  if (both(Element::kB1, Element::kB1)) return Family::kBit;
  return Family::kNone;
}

enum class Kind : uint8_t { kDense, kSparse, kWmma };

struct Offer {
  Family family;
  Kind kind;
  MmaShape shape;
};
// Every (family, shape) of sm_70 … sm_89: tables of "Multiply-and-Accumulate Instruction: mma", "mma.sp",
// and "wmma".
constexpr Offer kOffers[] = {
    {Family::kF16, Kind::kDense, {8, 8, 4}},      {Family::kF16, Kind::kDense, {16, 8, 8}},
    {Family::kF16, Kind::kDense, {16, 8, 16}},    {Family::kBF16, Kind::kDense, {16, 8, 8}},
    {Family::kBF16, Kind::kDense, {16, 8, 16}},   {Family::kTF32, Kind::kDense, {16, 8, 4}},
    {Family::kTF32, Kind::kDense, {16, 8, 8}},    {Family::kF64, Kind::kDense, {8, 8, 4}},
    {Family::kFP8, Kind::kDense, {16, 8, 16}},    {Family::kFP8, Kind::kDense, {16, 8, 32}},
    {Family::kInt8, Kind::kDense, {8, 8, 16}},    {Family::kInt8, Kind::kDense, {16, 8, 16}},
    {Family::kInt8, Kind::kDense, {16, 8, 32}},   {Family::kInt4, Kind::kDense, {8, 8, 32}},
    {Family::kInt4, Kind::kDense, {16, 8, 32}},   {Family::kInt4, Kind::kDense, {16, 8, 64}},
    {Family::kBit, Kind::kDense, {8, 8, 128}},    {Family::kBit, Kind::kDense, {16, 8, 128}},
    {Family::kBit, Kind::kDense, {16, 8, 256}},
    {Family::kF16, Kind::kSparse, {16, 8, 16}},   {Family::kF16, Kind::kSparse, {16, 8, 32}},
    {Family::kBF16, Kind::kSparse, {16, 8, 16}},  {Family::kBF16, Kind::kSparse, {16, 8, 32}},
    {Family::kTF32, Kind::kSparse, {16, 8, 8}},   {Family::kTF32, Kind::kSparse, {16, 8, 16}},
    {Family::kInt8, Kind::kSparse, {16, 8, 32}},  {Family::kInt8, Kind::kSparse, {16, 8, 64}},
    {Family::kInt4, Kind::kSparse, {16, 8, 64}},  {Family::kInt4, Kind::kSparse, {16, 8, 128}},
    {Family::kFP8, Kind::kSparse, {16, 8, 64}},
    {Family::kF16, Kind::kWmma, {16, 16, 16}},    {Family::kF16, Kind::kWmma, {8, 32, 16}},
    {Family::kF16, Kind::kWmma, {32, 8, 16}},     {Family::kBF16, Kind::kWmma, {16, 16, 16}},
    {Family::kBF16, Kind::kWmma, {8, 32, 16}},    {Family::kBF16, Kind::kWmma, {32, 8, 16}},
    {Family::kInt8, Kind::kWmma, {16, 16, 16}},   {Family::kInt8, Kind::kWmma, {8, 32, 16}},
    {Family::kInt8, Kind::kWmma, {32, 8, 16}},    {Family::kTF32, Kind::kWmma, {16, 16, 8}},
    {Family::kF64, Kind::kWmma, {8, 8, 4}},       {Family::kInt4, Kind::kWmma, {8, 8, 32}},
    {Family::kBit, Kind::kWmma, {8, 8, 128}},
};

bool offered(Family family, Kind kind, const MmaShape& shape) {
  for (const Offer& offer : kOffers)
    if (offer.family == family && offer.kind == kind && offer.shape == shape) return true;
  return false;
}

bool accumulators_fit(Family family, Element c, Element d) {
  switch (family) {
    case Family::kF16:
    case Family::kFP8:
      return (c == Element::kF16 || c == Element::kF32) && (d == Element::kF16 || d == Element::kF32);
    case Family::kBF16:
    case Family::kTF32: return c == Element::kF32 && d == Element::kF32;
    case Family::kF64: return c == Element::kF64 && d == Element::kF64;
    case Family::kInt8:
    case Family::kInt4:
    case Family::kBit: return c == Element::kS32 && d == Element::kS32;
    case Family::kNone: break;
  }
  return false;
}

}  // namespace

unsigned bits_of(Element element) { return kElements[static_cast<size_t>(element)].bits; }
std::string_view name_of(Element element) { return kElements[static_cast<size_t>(element)].name; }

std::optional<Element> element_named(std::string_view name) {
  for (const ElementName& entry : kElements)
    if (entry.name == name) return entry.element;
  return std::nullopt;
}

std::optional<MmaShape> shape_named(std::string_view name) {
  MmaShape shape;
  const char* at = name.data();
  const char* const end = at + name.size();
  for (const auto& [letter, value] : {std::pair{'m', &shape.m}, {'n', &shape.n}, {'k', &shape.k}}) {
    if (at == end || *at != letter) return std::nullopt;
    const auto [next, error] = std::from_chars(at + 1, end, *value);
    if (error != std::errc{}) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return shape;
}

std::optional<MmaForm> mma_form(std::string_view opcode, std::span<const std::string_view> modifiers) {
  MmaForm form;
  form.wmma = opcode == "wmma";
  std::array<Element, 4> types{};
  size_t type_count = 0;
  size_t layouts = 0;
  bool sync = false, aligned = false, shaped = false, popc = false, wmma_mma = false, rounded = false;
  for (const std::string_view modifier : modifiers) {
    if (const auto element = element_named(modifier)) {
      if (type_count == types.size()) return std::nullopt;
      types[type_count++] = *element;
    } else if (const auto shape = shape_named(modifier)) {
      if (shaped) return std::nullopt;
      shaped = true;
      form.shape = *shape;
    } else if (modifier == "row" || modifier == "col") {
      if (layouts == 2) return std::nullopt;
      (layouts++ == 0 ? form.a_row : form.b_row) = modifier == "row";
    } else if (modifier == "sync") {
      sync = true;
    } else if (modifier == "aligned") {
      aligned = true;
    } else if (modifier == "mma" && form.wmma) {
      wmma_mma = true;
    } else if ((modifier == "sp" || modifier == "sp::ordered_metadata") && !form.wmma) {
      form.sparse = true;
    } else if (modifier == "satfinite") {
      form.saturate = true;
    } else if (modifier == "xor" || modifier == "and") {
      form.bitwise = modifier == "xor" ? MmaForm::Bitwise::kXor : MmaForm::Bitwise::kAnd;
    } else if (modifier == "popc") {
      popc = true;
    } else if (modifier == "rn" || modifier == "rz" || modifier == "rm" || modifier == "rp") {
      rounded = true;
      form.rounding = modifier == "rn"   ? MmaForm::Rounding::kNearest
                      : modifier == "rz" ? MmaForm::Rounding::kZero
                      : modifier == "rm" ? MmaForm::Rounding::kDown
                                         : MmaForm::Rounding::kUp;
    } else {
      return std::nullopt;
    }
  }
  if (!sync || !aligned || !shaped || layouts != 2 || wmma_mma != form.wmma) return std::nullopt;
  if (type_count == 2 && form.wmma) {   // wmma.mma of f16 names the accumulators only
    form.d = types[0];
    form.c = types[1];
    form.a = form.b = Element::kF16;
  } else if (type_count == 4) {
    form.d = types[0];
    form.a = types[1];
    form.b = types[2];
    form.c = types[3];
  } else {
    return std::nullopt;
  }
  const Family family = family_of(form.a, form.b);
  const Kind kind = form.wmma ? Kind::kWmma : form.sparse ? Kind::kSparse : Kind::kDense;
  if (family == Family::kNone || !offered(family, kind, form.shape)) return std::nullopt;
  if (!accumulators_fit(family, form.c, form.d)) return std::nullopt;
  // Sparse fp8 products into f16 begin with sm_120.
  if (form.sparse && family == Family::kFP8 && form.d != Element::kF32) return std::nullopt;
  // Of the f16 forms, only m8n8k4 and wmma mix accumulator types.
  const bool mixes = form.wmma || form.products() == 4;
  if (form.c != form.d && !(mixes && family == Family::kF16)) return std::nullopt;
  // Only f16 m8n8k4 and the wmma forms wider than a nibble have a choice of layouts.
  const bool free_layout = form.wmma ? family != Family::kInt4 && family != Family::kBit : form.products() == 4;
  if (!free_layout && (!form.a_row || form.b_row)) return std::nullopt;
  const bool integer = family == Family::kInt8 || family == Family::kInt4;
  if (form.saturate && !integer && !(form.wmma && family == Family::kF16)) return std::nullopt;
  const bool bitwise = form.bitwise != MmaForm::Bitwise::kNone;
  if (bitwise != (family == Family::kBit) || popc != bitwise) return std::nullopt;
  if (rounded && family != Family::kF64) return std::nullopt;
  return form;
}

unsigned selector_count(const MmaForm& form) {
  // A row has k/4 groups of four bits (tf32: k/2, s4: k/8); sixteen rows fill 8, 16 or all 32 lanes' words.
  const unsigned group = form.a == Element::kTF32 ? 2 : bits_of(form.a) == 4 ? 8 : 4;
  const unsigned bits_per_row = form.shape.k / group * 4;
  return 64 / bits_per_row;
}

}  // namespace kw::emu
