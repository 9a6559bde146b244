// One warp instruction of the matrix family as a stand-alone PTX kernel with known operands: what the golden
// corpus is made of and checked against. The same text runs on a GPU (make_mma_golden.cc) and here.
//
// The kernel takes two pointers. It reads operand registers from the first, [register][lane] in the order
// A, B, C (and metadata), executes once, and writes D's registers to the second, [register][lane].
// Operand values are small integers where the type is a float, so that every sum is exact and the order of
// accumulation does not matter; random bits where it is an integer.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "emu/mma_form.h"
#include "emu/mma_shapes.h"

namespace kw::golden {

using emu::Element;
using emu::MmaForm;
using emu::Part;

inline std::vector<std::string_view> split_name(std::string_view name) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t dot = name.find('.');
    parts.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    name.remove_prefix(dot + 1);
  }
}

struct MmaCase {
  std::string name;   // "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
  MmaForm form;       // with the selector
};

inline void add_case(std::vector<MmaCase>& cases, std::string name) {
  const auto parts = split_name(name);
  const auto form = emu::mma_form(parts[0], std::span(parts).subspan(1));
  if (!form) {
    cases.push_back({"unknown " + name, {}});
    return;
  }
  const unsigned selectors = form->sparse ? emu::selector_count(*form) : 1;
  for (unsigned selector = 0; selector < selectors; ++selector) {
    MmaForm with = *form;
    with.selector = static_cast<uint8_t>(selector);
    cases.push_back({name, with});
  }
}

inline std::vector<MmaCase> all_mma_cases() {
  std::vector<MmaCase> cases;
  const auto add = [&](std::string name) { add_case(cases, std::move(name)); };
  const std::string s = "mma.sync.aligned.";
  for (const char* a : {"row", "col"})
    for (const char* b : {"row", "col"})
      for (const char* types : {"f16.f16.f16.f16", "f32.f16.f16.f16", "f32.f16.f16.f32"})
        add(s + "m8n8k4." + a + "." + b + "." + types);
  for (const char* shape : {"m16n8k8", "m16n8k16"}) {
    for (const char* types : {"f16.f16.f16.f16", "f32.f16.f16.f32", "f32.bf16.bf16.f32"})
      add(s + shape + ".row.col." + types);
  }
  for (const char* shape : {"m16n8k4", "m16n8k8"}) add(s + shape + ".row.col.f32.tf32.tf32.f32");
  add(s + "m8n8k4.row.col.f64.f64.f64.f64");
  for (const char* shape : {"m16n8k16", "m16n8k32"})
    for (const char* a : {"e4m3", "e5m2"})
      for (const char* b : {"e4m3", "e5m2"})
        for (const char* c : {"f16", "f32"})
          add(s + shape + ".row.col." + c + "." + a + "." + b + "." + c);
  const auto integers = [&](const std::string& head, const char* x, const char* y) {
    for (const char* saturate : {"", ".satfinite"})
      for (const char* a : {x, y})
        for (const char* b : {x, y}) add(head + ".row.col" + saturate + ".s32." + a + "." + b + ".s32");
  };
  for (const char* shape : {"m8n8k16", "m16n8k16", "m16n8k32"}) integers(s + shape, "s8", "u8");
  for (const char* shape : {"m8n8k32", "m16n8k32", "m16n8k64"}) integers(s + shape, "s4", "u4");
  for (const char* shape : {"m8n8k128", "m16n8k128", "m16n8k256"})
    for (const char* op : {"xor", "and"}) add(s + shape + ".row.col.s32.b1.b1.s32." + op + ".popc");
  for (const char* variant : {"sp", "sp::ordered_metadata"}) {
    const std::string p = std::string("mma.") + variant + ".sync.aligned.";
    for (const char* shape : {"m16n8k16", "m16n8k32"})
      for (const char* types : {"f16.f16.f16.f16", "f32.f16.f16.f32", "f32.bf16.bf16.f32"})
        add(p + shape + ".row.col." + types);
    for (const char* shape : {"m16n8k8", "m16n8k16"}) add(p + shape + ".row.col.f32.tf32.tf32.f32");
    for (const char* shape : {"m16n8k32", "m16n8k64"}) integers(p + shape, "s8", "u8");
    for (const char* shape : {"m16n8k64", "m16n8k128"}) integers(p + shape, "s4", "u4");
    for (const char* a : {"e4m3", "e5m2"})
      for (const char* b : {"e4m3", "e5m2"}) add(p + "m16n8k64.row.col.f32." + a + "." + b + ".f32");
  }
  const std::string w = "wmma.mma.sync.aligned.";
  for (const char* a : {"row", "col"})
    for (const char* b : {"row", "col"}) {
      const std::string layout = w + a + "." + b + ".";
      for (const char* shape : {"m16n16k16", "m8n32k16", "m32n8k16"}) {
        for (const char* types : {"f16.f16", "f32.f32", "f16.f32", "f32.f16", "f32.bf16.bf16.f32", "s32.s8.s8.s32",
                                  "s32.u8.u8.s32", "s32.s8.s8.s32.satfinite"})
          add(layout + shape + "." + types);
      }
      add(layout + "m16n16k8.f32.tf32.tf32.f32");
      add(layout + "m8n8k4.f64.f64.f64.f64");
    }
  for (const char* types : {"s32.s4.s4.s32", "s32.u4.u4.s32", "s32.s4.s4.s32.satfinite"})
    add(w + "row.col.m8n8k32." + types);
  for (const char* op : {"xor", "and"})
    add(std::string("wmma.mma.") + op + ".popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32");
  return cases;
}

// A fixed sequence of well-mixed words (splitmix64).
inline uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The bits of a small integer in a floating-point type, written out so that nothing under test makes them.
inline uint64_t float_bits(Element element, int value) {
  const uint64_t sign = value < 0;
  const unsigned magnitude = static_cast<unsigned>(value < 0 ? -value : value);
  const auto pack = [&](int exponent_bits, int mantissa_bits, int low) -> uint64_t {
    if (magnitude == 0) return 0;
    int exponent = 0;
    while (magnitude >> (exponent + 1)) ++exponent;
    const uint64_t mantissa = (static_cast<uint64_t>(magnitude) << mantissa_bits >> exponent) &
                              ((1ull << mantissa_bits) - 1);
    const uint64_t biased = static_cast<uint64_t>(exponent + (1 << (exponent_bits - 1)) - 1);
    return (sign << (exponent_bits + mantissa_bits) | biased << mantissa_bits | mantissa) << low;
  };
  switch (element) {
    case Element::kF16: return pack(5, 10, 0);
    case Element::kBF16: return pack(8, 7, 0);
    case Element::kTF32: return pack(8, 10, 13);
    case Element::kF32: return pack(8, 23, 0);
    case Element::kF64: return pack(11, 52, 0);
    case Element::kE4M3: return pack(4, 3, 0);
    case Element::kE5M2: return pack(5, 2, 0);
    default: return 0;
  }
}

// Registers of one operand, [register][lane]; `bytes` each.
struct Registers {
  unsigned count = 0, bytes = 4;
  std::vector<uint64_t> words;
};

inline Registers operand_registers(const MmaCase& mma, Part part) {
  const auto size = emu::fragment_size(mma.form, part);
  const Element element = emu::element_of(mma.form, part);
  const unsigned bits = emu::bits_of(element);
  Registers result{size.registers, size.register_bytes, {}};
  for (unsigned reg = 0; reg < size.registers; ++reg)
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint64_t word = 0;
      for (unsigned e = 0; e < size.per_register; ++e) {
        // An element that several lanes of a wmma fragment hold has one value: derive it from its position.
        const auto at = emu::position_of(mma.form, part, lane, reg, e);
        const uint64_t key = ((static_cast<uint64_t>(part) * 4 + at.product) * 512 + at.row) * 512 + at.column;
        const uint64_t random = mixed(key);
        uint64_t value = 0;
        switch (element) {
          case Element::kS8: case Element::kU8: case Element::kS4: case Element::kU4: case Element::kB1:
            value = random & ((1ull << bits) - 1);
            break;
          case Element::kS32:   // half of them near the limits, so that saturation and wrapping show
            value = random & 1 ? random >> 32 : (random & 2 ? 0x7fffff00u : 0x80000010u) + (random >> 8 & 0x3f);
            break;
          default:
            value = float_bits(element, part == Part::kC ? static_cast<int>(random % 81) - 40
                                                         : static_cast<int>(random % 9) - 4);
        }
        word |= value << (e * bits);
      }
      result.words.push_back(word);
    }
  return result;
}

// Metadata for every lane: groups of legal, ordered choices.
inline std::vector<uint32_t> metadata_registers(const MmaCase& mma) {
  static constexpr uint32_t kPairs[6] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
  static constexpr uint32_t kSingles[2] = {0x4, 0xe};
  std::vector<uint32_t> words;
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint32_t word = 0;
    for (unsigned group = 0; group < 8; ++group) {
      const uint64_t random = mixed(0x5eed0000 + lane * 8 + group);
      word |= (mma.form.a == Element::kTF32 ? kSingles[random % 2] : kPairs[random % 6]) << (group * 4);
    }
    words.push_back(word);
  }
  return words;
}

inline std::string kernel_text(const MmaCase& mma) {
  std::string text = ".version 8.7\n.target sm_89\n.address_size 64\n\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                     "  .reg .b32 %r<64>;\n  .reg .b64 %d<64>;\n  .reg .f64 %fd<16>;\n  .reg .f32 %f<32>;\n"
                     "  ld.param.u64 %d0, [in];\n  ld.param.u64 %d1, [out];\n"
                     "  mov.u32 %r0, %laneid;\n  mul.wide.u32 %d2, %r0, 4;\n  mul.wide.u32 %d3, %r0, 8;\n"
                     "  add.u64 %d4, %d0, %d2;\n  add.u64 %d5, %d0, %d3;\n  add.u64 %d6, %d1, %d2;\n  add.u64 %d7, %d1, %d3;\n";
  unsigned next = 1, next_double = 0, next_float = 0, offset = 0;
  const auto name_registers = [&](Part part, bool load) {
    const auto size = emu::fragment_size(mma.form, part);
    const Element element = emu::element_of(mma.form, part);
    std::vector<std::string> names;
    for (unsigned reg = 0; reg < size.registers; ++reg) {
      const bool wide = size.register_bytes == 8;
      std::string name = wide ? "%fd" + std::to_string(next_double++)
                         : element == Element::kF32 ? "%f" + std::to_string(next_float++)
                                                    : "%r" + std::to_string(next++);
      const char* type = wide ? "f64" : element == Element::kF32 ? "f32" : "b32";
      if (load)
        text += std::string("  ld.global.") + type + " " + name + ", [" + (wide ? "%d5" : "%d4") + "+" +
                std::to_string(offset) + "];\n";
      offset += 32 * size.register_bytes;
      names.push_back(name);
    }
    return names;
  };
  const auto braces = [](const std::vector<std::string>& names) {
    std::string list = "{";
    for (size_t i = 0; i < names.size(); ++i) list += (i ? ", " : "") + names[i];
    return list + "}";
  };
  const auto a = name_registers(Part::kA, true), b = name_registers(Part::kB, true), c = name_registers(Part::kC, true);
  std::string tail;
  if (mma.form.sparse) {
    const std::string name = "%r" + std::to_string(next++);
    text += "  ld.global.b32 " + name + ", [%d4+" + std::to_string(offset) + "];\n";
    tail = ", " + name + ", " + std::to_string(mma.form.selector);
  }
  offset = 0;
  const auto d = name_registers(Part::kD, false);
  text += "  " + mma.name + " " + braces(d) + ", " + braces(a) + ", " + braces(b) + ", " + braces(c) + tail + ";\n";
  const auto size = emu::fragment_size(mma.form, Part::kD);
  const char* type = size.register_bytes == 8 ? "f64" : mma.form.d == Element::kF32 ? "f32" : "b32";
  for (unsigned reg = 0; reg < d.size(); ++reg)
    text += std::string("  st.global.") + type + " [" + (size.register_bytes == 8 ? "%d7" : "%d6") + "+" +
            std::to_string(reg * 32 * size.register_bytes) + "], " + d[reg] + ";\n";
  return text + "  ret;\n}\n";
}

inline std::vector<uint8_t> input_bytes(const MmaCase& mma) {
  std::vector<uint8_t> bytes;
  const auto append = [&](uint64_t word, unsigned count) {
    for (unsigned i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(word >> (8 * i)));
  };
  for (const Part part : {Part::kA, Part::kB, Part::kC}) {
    const Registers registers = operand_registers(mma, part);
    for (const uint64_t word : registers.words) append(word, registers.bytes);
  }
  if (mma.form.sparse)
    for (const uint32_t word : metadata_registers(mma)) append(word, 4);
  return bytes;
}

inline size_t output_bytes(const MmaCase& mma) {
  const auto size = emu::fragment_size(mma.form, Part::kD);
  return size_t{size.registers} * size.register_bytes * 32;
}

}  // namespace kw::golden
