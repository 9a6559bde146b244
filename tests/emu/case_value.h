// The types of registers and elements that instruction tests know, and how numbers of them are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kw::emu {

// The type of a register by the prefix of its name; of `bytes`, 0 for a predicate.
struct Prefix { std::string_view prefix, type; uint32_t bytes; };
// Null for a name of no known prefix.
const Prefix* prefix_of(std::string_view name);

struct ElementType { std::string_view name; uint32_t bytes; bool is_float; };
const ElementType* element_type(std::string_view name);

struct Number { uint64_t low = 0, high = 0; };
// "-3", "0x80000000", "1.5", "inf", "nan" as the bits of a type. A 128-bit value is written in hexadecimal.
bool parse_number(const std::string& text, uint32_t bytes, bool is_float, Number& out);

}  // namespace kw::emu
