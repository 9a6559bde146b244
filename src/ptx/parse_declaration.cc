// Declarations: registers, variables, parameters, initialisers (PTX ISA 5.4, 7.1).
#include "ptx/parse_state.h"

namespace kw::ptx {
namespace {

Space space_named(std::string_view directive) {
  if (directive == ".param") return Space::kParam;
  if (directive == ".shared" || directive == ".shared::cta") return Space::kShared;
  if (directive == ".global") return Space::kGlobal;
  if (directive == ".local") return Space::kLocal;
  if (directive == ".const") return Space::kConst;
  if (directive == ".reg") return Space::kReg;
  if (directive == ".tex") return Space::kTex;
  return Space::kNone;
}

}  // namespace

bool Parser::attribute(Variable& variable) {
  advance();  // .attribute
  if (!expect('(', "after .attribute")) return false;
  do {
    if (at_directive(".managed")) {
      variable.is_managed = true;
      advance();
    } else if (at_directive(".unified")) {
      advance();
      uint64_t half = 0;
      if (!expect('(', "after .unified") || !expect_unsigned(half, UINT64_MAX, "an integer of a .unified id") ||
          !expect(',', "between the two integers of .unified") ||
          !expect_unsigned(half, UINT64_MAX, "an integer of a .unified id") || !expect(')', "to close .unified"))
        return false;
    } else {
      return expected(".managed or .unified(a, b)");
    }
  } while (accept(','));
  return expect(')', "to close .attribute");
}

// .ptr [.const|.global|.local|.shared] [.align N]
bool Parser::pointer_qualifier() {
  advance();
  const Space space = lexer_.token().kind == TokenKind::kDirective ? space_named(lexer_.token().text) : Space::kNone;
  if (space != Space::kNone) {
    if (space == Space::kReg || space == Space::kTex) return expected(".const, .global, .local, .shared or .param after .ptr");
    advance();
  }
  uint64_t align = 0;
  if (!at_directive(".align")) return true;
  advance();
  return expect_unsigned(align, UINT32_MAX, "the alignment in bytes after .align");
}

bool Parser::variable_prefix(Variable& variable, bool parameter) {
  const char* qualifiers = nullptr;
  while (lexer_.token().kind == TokenKind::kDirective) {
    const std::string_view text = lexer_.token().text;
    if (const Space space = space_named(text); space != Space::kNone) {
      if (variable.space != Space::kNone) return error_here("a second state space in one declaration", "a variable lives in one space");
      variable.space = space;
      advance();
      if (space == Space::kConst && at('[')) return error_here("constant banks (.const[N]) left PTX with version 2.2", "write .const");
      continue;
    }
    if (text == ".align") {
      advance();
      uint64_t align = 0;
      const Place place = lexer_.place();
      if (!expect_unsigned(align, UINT32_MAX, "the alignment in bytes after .align")) return false;
      if (align == 0 || (align & (align - 1)) != 0) return error_at(place, last_end_ ? 1 : 0, fmt::format("alignment {} is no power of two", align), "use 1, 2, 4, 8, 16, …");
      variable.align = static_cast<uint32_t>(align);
      continue;
    }
    if (text == ".attribute" || text == ".ptr") {
      const char* start = text.data();
      if (text == ".ptr" && !parameter) return error_here(".ptr outside a parameter list", "only kernel parameters carry .ptr");
      if (!(text == ".ptr" ? pointer_qualifier() : attribute(variable))) return false;
      if (qualifiers == nullptr) qualifiers = start;
      variable.attributes = text_since(qualifiers);
      continue;
    }
    if (text == ".v2" || text == ".v4" || text == ".v8") {
      variable.vector = static_cast<uint32_t>(text[2] - '0');
      advance();
      continue;
    }
    if (const Type type = type_named(text.substr(1)); type != Type::kNone) {
      if (variable.type != Type::kNone) return error_here("a second type in one declaration", "a variable has one type");
      variable.type = type;
      advance();
      continue;
    }
    return error_here(fmt::format("'{}' has no place in a declaration", text),
                      "a declaration is: state space, .align N, .v2 or .v4, type, name");
  }
  if (variable.space == Space::kNone) return expected("a state space (.global, .shared, .local, .const, .param)");
  if (variable.type == Type::kNone) return expected("a type (.b32, .f32, …) before the name");
  return true;
}

bool Parser::dimensions(Variable& variable) {
  while (at('[')) {
    advance();
    if (accept(']')) {
      if (!variable.dims.empty()) return error_at(last_place_, 1, "only the first dimension may be without a size", "write the number of elements");
      variable.dims.push_back(0);
      continue;
    }
    const Place place = lexer_.place();
    Constant size;
    if (!constant(size)) return false;
    if (size.is_float || (!size.is_unsigned && static_cast<int64_t>(size.bits) < 0))
      return error_at(place, 1, "an array size must be a whole number, not negative", "write the number of elements");
    if (variable.dims.size() >= 16) return limit("dimensions of an array", 16);
    variable.dims.push_back(size.bits);
    if (!expect(']', "after an array size")) return false;
  }
  return true;
}

bool Parser::range_suffix(int64_t& count) {
  count = -1;
  if (!at('<')) return true;
  advance();
  const Place place = lexer_.place();
  uint64_t value = 0;
  if (!expect_unsigned(value, UINT32_MAX, "the number of names in a range")) return false;
  if (value == 0) return error_at(place, 1, "a range of no names", "name<N> declares name0 … name(N-1): N is at least 1");
  count = static_cast<int64_t>(value);
  return expect('>', "to close the range");
}

bool Parser::duplicate(std::string_view name, Place place, const char* what) {
  return error_at(place, name.size(), fmt::format("'{}' is declared twice in one scope", name),
                  fmt::format("rename one {}, or put the second into a scope {{ … }} of its own", what));
}

bool Parser::declare_register(const RegisterDeclaration& declaration, std::string_view name, Place place) {
  if (symbols_.find_in_scope(name) != nullptr) return duplicate(name, place, "register");
  if (function_->registers.size() >= kMaxRegisters) return limit("registers of one function", kMaxRegisters);
  Symbol symbol;
  symbol.kind = Symbol::Kind::kRegister;
  symbol.name = name;
  symbol.id = static_cast<uint32_t>(function_->registers.size());
  function_->registers.push_back({name, declaration.type, declaration.vector, place});
  symbols_.add(symbol);
  return true;
}

bool Parser::declare_range(const RegisterDeclaration& declaration, std::string_view prefix, uint64_t count, Place place) {
  const Range range{prefix, count, declaration.type, declaration.vector, place};
  if (symbols_.find_range_in_scope(range) != nullptr) return duplicate(prefix, place, "range of registers");
  symbols_.add_range(range);
  return true;
}

bool Parser::register_declaration(RegisterDeclaration& declaration) {
  declaration.place = lexer_.place();
  advance();  // .reg
  Variable prefix;
  prefix.space = Space::kReg;
  if (!variable_prefix(prefix, false)) return false;
  if (prefix.align != 0 || !prefix.attributes.empty()) return error_at(declaration.place, 4, "registers take no .align and no .attribute", "write .reg, the type and the names");
  declaration.type = prefix.type;
  declaration.vector = prefix.vector;
  do {
    RegisterDeclaration::Item item;
    const Place place = lexer_.place();
    if (!expect_name(item.name, "a register name") || !range_suffix(item.range)) return false;
    if (item.name == "_") return error_at(place, 1, "'_' cannot be declared", "'_' is the operand that discards a result");
    if (at('[')) return error_here("registers form no arrays", "declare name<N> for N registers, or a .local array");
    const bool ok = item.range < 0 ? declare_register(declaration, item.name, place)
                                   : declare_range(declaration, item.name, static_cast<uint64_t>(item.range), place);
    if (!ok) return false;
    declaration.items.push_back(item);
  } while (accept(','));
  return expect(';', "after the register declaration");
}

bool Parser::declare_variable(Variable variable, const Variable*& declared) {
  if (const Symbol* other = symbols_.find_in_scope(variable.name); other != nullptr && variable.name != "_") {
    const bool redeclares = other->kind == Symbol::Kind::kVariable && (other->variable->is_extern || variable.is_extern || other->variable->is_common || variable.is_common) && function_ == nullptr;
    if (!redeclares) return duplicate(variable.name, variable.place, "variable");
  }
  std::deque<Variable>& owner = function_ != nullptr ? function_->variables : module_.variables;
  declared = &owner.emplace_back(std::move(variable));
  if (declared->name == "_") return true;
  Symbol symbol;
  symbol.kind = Symbol::Kind::kVariable;
  symbol.name = declared->name;
  symbol.variable = declared;
  symbols_.add(symbol);
  return true;
}

bool Parser::variable_declaration(Variable prefix, const char* start) {
  prefix.place = lexer_.place();
  if (!variable_prefix(prefix, false)) return false;
  const bool in_module = function_ == nullptr;
  if (in_module && (prefix.space == Space::kReg || prefix.space == Space::kLocal || prefix.space == Space::kParam))
    return error_at(prefix.place, 1, "registers, .local and .param variables belong to functions", "move the declaration into a function body");
  std::vector<const Variable*> made;
  const Variable* first = nullptr;
  do {
    Variable variable = prefix;
    variable.follows = first != nullptr;
    variable.place = lexer_.place();
    int64_t count = -1;
    if (!expect_name(variable.name, "a variable name") || !range_suffix(count) || !dimensions(variable)) return false;
    if (at('=')) {
      if (count >= 0) return error_here("a range of variables cannot have an initial value", "declare the names one by one");
      advance();
      if (variable.space != Space::kGlobal && variable.space != Space::kConst)
        return error_at(variable.place, variable.name.size(), fmt::format("'{}' cannot have an initial value", variable.name),
                        "only .global and .const variables are initialised; store the value with st");
      variable.has_initializer = true;
      if (!initializer(variable.initializer)) return false;
      if (!variable.dims.empty() && variable.dims[0] == 0) variable.dims[0] = variable.initializer.list.size();
    }
    std::vector<std::string_view> names{variable.name};
    if (count >= 0) {  // x<4> declares x0 … x3; each is a variable of its own
      range_variables_ += static_cast<size_t>(count);
      if (range_variables_ > kMaxRangeVariables) return limit("variables declared by ranges", kMaxRangeVariables);
      names.clear();
      for (int64_t i = 0; i < count; ++i) names.push_back(module_.intern(fmt::format("{}{}", variable.name, i)));
    }
    for (const std::string_view name : names) {
      Variable one = count < 0 ? std::move(variable) : variable;
      one.name = name;
      one.follows = first != nullptr;
      const Variable* declared = nullptr;
      if (!declare_variable(std::move(one), declared)) return false;
      if (first == nullptr) first = declared;
      made.push_back(declared);
    }
  } while (accept(','));
  const_cast<Variable*>(first)->text = text_since(start);
  if (!expect(';', "after the declaration")) return false;
  for (const Variable* variable : made) {
    if (in_module) module_.items.emplace_back(variable);
    else pending_variables_.push_back(variable);
  }
  return true;
}

bool Parser::parameter(Variable& variable) {
  variable.place = lexer_.place();
  const char* start = lexer_.token().text.data();
  if (!variable_prefix(variable, true)) return false;
  if (variable.space != Space::kParam && variable.space != Space::kReg)
    return error_at(variable.place, 1, "a parameter lives in .param or .reg", "write .param before its type");
  if (!expect_name(variable.name, "the parameter's name") || !dimensions(variable)) return false;
  variable.text = text_since(start);
  return true;
}

bool Parser::initializer_list(Initializer& value) {
  value.kind = Initializer::Kind::kList;
  if (!enter()) return false;
  advance();  // {
  if (!at('}')) {
    do {
      if (at('}')) break;  // a comma may end the list
      if (++initializers_ > kMaxInitializers) return limit("elements of initialisers", kMaxInitializers);
      if (!initializer(value.list.emplace_back())) return false;
    } while (accept(','));
  }
  leave();
  return expect('}', "to close the list of initial values");
}

// A value: constant expression, list, symbol [+ offset], generic(symbol) [+ offset], 0xFF(symbol [+ offset]),
// or the field = value of texture and sampler references.
bool Parser::initializer(Initializer& value) {
  const char* start = lexer_.token().text.data();
  const auto finish = [&] {
    value.text = text_since(start);
    return true;
  };
  const auto offset = [&] {
    if (!at('+') && !at('-')) return true;
    if (at('+')) advance();
    Constant c;
    const Place place = lexer_.place();
    if (!constant(c)) return false;
    if (c.is_float) return error_at(place, 1, "an address offset must be an integer", "write the offset in bytes");
    value.offset = static_cast<int64_t>(c.bits);
    return true;
  };
  if (at('{')) return initializer_list(value) && finish();
  if (at_name() && lexer_.token().text != "WARP_SZ") {
    std::string_view name;
    Place place = lexer_.place();
    if (!expect_name(name, "a symbol")) return false;
    if (at('=')) {
      advance();
      if (!enter() || !initializer(value)) return false;
      leave();
      return finish();
    }
    value.kind = Initializer::Kind::kSymbol;
    if (name == "generic" && at('(')) {
      value.kind = Initializer::Kind::kGenericSymbol;
      advance();
      place = lexer_.place();
      if (!expect_name(name, "the variable inside generic()") || !offset() || !expect(')', "to close generic(")) return false;
    }
    value.symbol = name;
    return offset() && finish();
  }
  Constant c;
  const Place place = lexer_.place();
  if (!constant(c)) return false;
  if (at('(')) {
    if (c.is_float) return error_at(place, 1, "a mask must be an integer", "masks are 0xFF, 0xFF00, …, one byte of an address");
    value.kind = Initializer::Kind::kMaskedSymbol;
    value.mask = c.bits;
    advance();
    if (!expect_name(value.symbol, "the variable inside the mask")) return false;
    if (value.symbol == "generic" && at('(')) {
      advance();
      if (!expect_name(value.symbol, "the variable inside generic()") || !expect(')', "to close generic(")) return false;
    }
    return offset() && expect(')', "to close the mask") && finish();
  }
  value.kind = c.is_float ? Initializer::Kind::kFloat : Initializer::Kind::kInteger;
  value.bits = c.bits;
  if (c.is_float32) {  // Initializer keeps floats as doubles
    float single;
    const uint32_t bits = static_cast<uint32_t>(c.bits);
    static_assert(sizeof single == sizeof bits);
    __builtin_memcpy(&single, &bits, sizeof single);
    const double wide = static_cast<double>(single);
    __builtin_memcpy(&value.bits, &wide, sizeof wide);
  }
  return finish();
}

}  // namespace kw::ptx
