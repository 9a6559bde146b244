// Operands of instructions (PTX ISA 6).
#include "ptx/parse_state.h"
#include "ptx/special_registers.h"

namespace kw::ptx {

bool Parser::operand_list(char close, std::vector<Operand>& elements, const char* what) {
  const Place open = lexer_.place();
  advance();
  if (close == ')' && accept(')')) return true;
  std::vector<Operand> parts;
  do {
    if (parts.size() >= kMaxVector) return limit(what, kMaxVector);
    if (!scalar_operand(parts.emplace_back())) return false;
  } while (accept(','));
  if (!at(close)) {
    if (lexer_.token().kind == TokenKind::kEnd) return error_at(open, 1, "this list is never closed", "is the text cut off?");
    return expected(close == ')' ? "',' or ')'" : "',' or '}'");
  }
  advance();
  parts.shrink_to_fit();
  elements = std::move(parts);
  return true;
}

bool Parser::operand(Operand& out, bool lists) {
  out.place = lexer_.place();
  if (at('{')) {
    out.kind = Operand::Kind::kVector;
    return operand_list('}', out.elements, "elements of a vector");
  }
  if (at('[')) return address_operand(out);
  if (at('(') && lists) {
    out.kind = Operand::Kind::kList;
    return operand_list(')', out.elements, "arguments of a call");
  }
  if (at('!')) {
    const char after = lexer_.peek_after_space();
    if (is_name_start(after)) {
      advance();
      if (!scalar_operand(out)) return false;
      if (out.kind != Operand::Kind::kRegister && out.kind != Operand::Kind::kSpecial)
        return error_at(out.place, 1, "'!' before something that is no predicate register", "write !p with a .pred register");
      out.negated = true;
      return true;
    }
  }
  if (!scalar_operand(out)) return false;
  if (at('|')) {
    advance();
    Operand pair;
    pair.kind = Operand::Kind::kPair;
    pair.place = out.place;
    pair.elements.reserve(2);
    pair.elements.push_back(std::move(out));
    if (!scalar_operand(pair.elements.emplace_back())) return false;
    out = std::move(pair);
  }
  return true;
}

bool Parser::constant_operand(Operand& out) {
  out.place = lexer_.place();
  const char* start = lexer_.token().text.data();
  Constant value;
  if (!constant(value)) return false;
  out.kind = !value.is_float ? Operand::Kind::kInteger : value.is_float32 ? Operand::Kind::kFloat32 : Operand::Kind::kFloat64;
  out.bits = value.bits;
  out.name = text_since(start);
  return true;
}

bool Parser::scalar_operand(Operand& out) {
  out.place = lexer_.place();
  if (at_name() && lexer_.token().text != "WARP_SZ") return name_operand(out);
  const TokenKind kind = lexer_.token().kind;
  if (kind == TokenKind::kInteger || kind == TokenKind::kFloat32 || kind == TokenKind::kFloat64 || kind == TokenKind::kIdentifier ||
      at('-') || at('+') || at('~') || at('(') || at('!'))
    return constant_operand(out);
  return expected("an operand");
}

bool Parser::element_of(Operand& out) {
  std::string_view element;
  if (!lexer_.read_element(element)) return true;
  constexpr std::string_view kElements[] = {"x", "y", "z", "w", "b0", "b1", "b2", "b3", "h0", "h1"};
  constexpr std::string_view kColours[] = {"r", "g", "b", "a"};
  for (int i = 0; i < 10; ++i)
    if (element == kElements[i]) out.element = static_cast<int8_t>(i);
  for (int i = 0; i < 4; ++i) {
    if (element != kColours[i]) continue;
    out.element = static_cast<int8_t>(i);
    out.colour_letters = true;
  }
  if (out.element >= 0) return true;
  // Selectors and write masks of SIMD video instructions: four bytes of eight, two halves of four, or fewer to write.
  const bool bytes = element[0] == 'b';
  if ((bytes || element[0] == 'h') && element.size() >= 3 && element.size() <= (bytes ? 5 : 3)) {
    out.bits = 1;
    bool good = true;
    for (const char digit : element.substr(1)) {
      good = good && digit >= '0' && digit <= (bytes ? '7' : '3');
      out.bits = out.bits << 4 | static_cast<uint64_t>(digit - '0');
    }
    if (good) {
      out.element = bytes ? 10 : 11;
      return true;
    }
    out.bits = 0;
  }
  return error_at(out.place, out.name.size() + 1 + element.size(), fmt::format("'{}' has no element '.{}'", out.name, element), "elements are .x .y .z .w");
}

bool Parser::name_operand(Operand& out) {
  const std::string_view name = lexer_.token().text;
  out.name = name;
  if (name == "_") {
    out.kind = Operand::Kind::kSink;
    advance();
    return true;
  }
  const Symbol* symbol = nullptr;
  const uint32_t id = symbols_.find_register(name, function_->registers, symbol);
  if (id != Symbols::kNoRegister) {
    if (function_->registers.size() > kMaxRegisters) return limit("registers of one function", kMaxRegisters);
    out.kind = Operand::Kind::kRegister;
    out.id = id;
    if (lexer_.peek() == '.') {
      if (!element_of(out)) return false;
      const uint32_t vector = function_->registers[id].vector;
      if (out.element < 4 && (vector == 1 || static_cast<uint32_t>(out.element) >= vector))
        return error_at(out.place, name.size() + 2, fmt::format("'{}' has no such element", name),
                        vector == 1 ? "it is no vector register" : fmt::format("it has {} elements", vector));
    }
    advance();
    return true;
  }
  if (symbol == nullptr && name[0] == '%') {
    const SpecialRegister* special = find_special_register(name);
    if (special == nullptr) return unknown_name(name, out.place, "register");
    out.kind = Operand::Kind::kSpecial;
    if (lexer_.peek() == '.' && !element_of(out)) return false;
    if (out.element >= static_cast<int>(special->vector) || (out.element >= 0 && special->vector == 1))
      return error_at(out.place, name.size() + 2, fmt::format("'{}' has no such element", name), "only %tid and the like have .x .y .z .w");
    advance();
    return true;
  }
  advance();
  if (symbol == nullptr) {  // a label further down, or an error: known at the end of the function
    out.kind = Operand::Kind::kName;
    has_pending_ = true;
    return true;
  }
  if (symbol->kind == Symbol::Kind::kFunction) {
    out.kind = Operand::Kind::kFunction;
    return true;
  }
  out.kind = Operand::Kind::kVariable;
  out.variable = symbol->variable;
  const bool has_offset = (at('+') || at('-')) && !in_address_;
  return !has_offset || byte_offset(out, name);
}

bool Parser::byte_offset(Operand& out, std::string_view first) {
  const char* start = first.data();
  if (at('+')) advance();
  const Place place = lexer_.place();
  Constant offset;
  if (!constant(offset)) return false;
  if (offset.is_float) return error_at(place, 1, "an address offset must be an integer", "write the offset in bytes");
  out.offset = static_cast<int64_t>(offset.bits);
  out.name = text_since(start);
  return true;
}

bool Parser::address_operand(Operand& out) {
  const Place open = lexer_.place();
  out.kind = Operand::Kind::kAddress;
  advance();  // [
  in_address_ = true;
  const bool base_ok = scalar_operand(out.elements.emplace_back());
  in_address_ = false;
  if (!base_ok) return false;
  const Operand::Kind base = out.elements[0].kind;
  if (base == Operand::Kind::kFloat32 || base == Operand::Kind::kFloat64 || base == Operand::Kind::kSink || base == Operand::Kind::kSpecial)
    return error_at(out.elements[0].place, out.elements[0].name.size(), fmt::format("'{}' is no address", out.elements[0].name), "an address is a register, a variable or an integer, with an offset");
  if ((at('+') || at('-')) && !byte_offset(out, lexer_.token().text)) return false;
  while (at(',')) {
    if (out.elements.size() >= 16) return limit("parts of an address", 16);
    advance();
    Operand& part = out.elements.emplace_back();
    part.place = lexer_.place();
    if (at('{')) {
      part.kind = Operand::Kind::kVector;
      if (!operand_list('}', part.elements, "coordinates")) return false;
    } else if (!scalar_operand(part)) {
      return false;
    }
  }
  if (at(']')) {
    advance();
    return true;
  }
  if (lexer_.token().kind == TokenKind::kEnd) return error_at(open, 1, "this address is never closed", "close it with ']'; is the text cut off?");
  return expected("'+', ',' or ']' in the address");
}

}  // namespace kw::ptx
