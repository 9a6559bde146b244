// Functions: .entry and .func, their parameters and directives (PTX ISA 11.2, 11.4). Bodies: parse_body.cc.
#include <algorithm>
#include <array>

#include "ptx/parse_state.h"

namespace kw::ptx {

bool Parser::function_parameters(Function& function, std::vector<const Variable*>& to) {
  const Place open = lexer_.place();
  advance();  // (
  if (accept(')')) return true;
  do {
    if (to.size() >= 8192) return limit("parameters", 8192);
    Variable variable;
    if (!parameter(variable)) return false;
    const bool is_register = variable.space == Space::kReg;
    if (is_register && function.is_entry) return error_at(variable.place, 4, "a kernel's parameter in a register", "kernel parameters are .param");
    const Variable* declared = nullptr;
    if (is_register) {
      RegisterDeclaration declaration;
      declaration.type = variable.type;
      declaration.vector = variable.vector;
      if (!declare_register(declaration, variable.name, variable.place)) return false;
      declared = &function.variables.emplace_back(std::move(variable));
    } else if (!declare_variable(std::move(variable), declared)) {
      return false;
    }
    to.push_back(declared);
  } while (accept(','));
  if (at(')')) {
    advance();
    return true;
  }
  if (lexer_.token().kind == TokenKind::kEnd) return error_at(open, 1, "this parameter list is never closed", "close it with ')'; is the text cut off?");
  return expected("',' or ')' in the parameter list");
}

bool Parser::function_directives(Function& function) {
  constexpr std::array<std::string_view, 9> kNumbered = {".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".maxnreg",
                                                         ".reqnctapercluster", ".maxclusterrank", ".abi_preserve", ".abi_preserve_control"};
  const char* start = nullptr;
  while (lexer_.token().kind == TokenKind::kDirective) {
    const std::string_view name = lexer_.token().text;
    if (start == nullptr) start = name.data();
    if (name == ".noreturn") {
      function.noreturn = true;
      advance();
    } else if (name == ".pragma") {
      Directive ignored;
      if (!text_directive(ignored)) return false;
    } else if (name == ".attribute") {
      Variable ignored;
      if (!attribute(ignored)) return false;
    } else if (name == ".explicitcluster" || name == ".blocksareclusters") {
      function.limits.push_back({name.substr(1), {}});
      advance();
    } else if (std::find(kNumbered.begin(), kNumbered.end(), name) != kNumbered.end()) {
      Function::Limit limit{name.substr(1), {}};
      advance();
      do {
        uint64_t value = 0;
        if (limit.values.size() == 3) return error_here(fmt::format("{} takes at most three numbers", name), "one for each of x, y, z");
        if (!expect_unsigned(value, UINT32_MAX, "a number")) return false;
        limit.values.push_back(value);
      } while (accept(','));
      function.limits.push_back(std::move(limit));
    } else {
      return error_here(fmt::format("'{}' has no place between a function's parameters and its body", name),
                        "known: .maxntid .reqntid .minnctapersm .maxnctapersm .maxnreg .reqnctapercluster .maxclusterrank "
                        ".explicitcluster .blocksareclusters .noreturn .abi_preserve .abi_preserve_control .pragma");
    }
    if (function.limits.size() > 64) return limit("directives of one function", 64);
  }
  if (start != nullptr) function.attributes = text_since(start);
  return true;
}

// A function is known inside its own body (it may call itself) and, once read, to the module.
bool Parser::check_function(const Function& function) {
  const Symbol* other = symbols_.find(function.name);
  if (other == nullptr || other->depth != 0) return true;
  if (other->kind != Symbol::Kind::kFunction) return duplicate(function.name, function.place, "of the two");
  if (other->function->is_entry != function.is_entry)
    return error_at(function.place, function.name.size(), fmt::format("'{}' is declared as .entry and as .func", function.name), "rename one");
  if (other->function->has_body && at('{'))
    return error_at(function.place, function.name.size(), fmt::format("'{}' has a second body", function.name),
                    fmt::format("the first is on line {}; rename one", other->function->place.line));
  return true;
}

void Parser::add_function(Function& function) {
  const Symbol* other = symbols_.find(function.name);
  if (other != nullptr && other->depth == symbols_.depth()) {
    if (function.has_body) symbols_.replace_function(function.name, &function);
    return;
  }
  Symbol symbol;
  symbol.kind = Symbol::Kind::kFunction;
  symbol.name = function.name;
  symbol.function = &function;
  symbols_.add(symbol);
}

bool Parser::function(Place place, const char* start, bool is_extern, bool is_visible, bool is_weak) {
  Function& function = module_.functions.emplace_back();
  function.is_entry = at_directive(".entry");
  function.is_extern = is_extern;
  function.is_visible = is_visible;
  function.is_weak = is_weak;
  function.place = place;
  function_ = &function;
  label_scopes_.clear();
  label_scope_ = 0;
  labels_.clear();
  pending_.clear();
  loc_ = 0;
  latest_location_.clear();
  advance();  // .entry or .func
  Variable ignored;
  if (at_directive(".attribute") && !attribute(ignored)) return false;
  // Parameters live in a scope of their own, around the body. The function's name is outside of it.
  symbols_.open_scope();
  if (at('(')) {
    if (function.is_entry) return error_here("a kernel returns nothing", "write the name directly after .entry, then its parameters");
    if (!function_parameters(function, function.returns)) return false;
  }
  function.place = lexer_.place();
  if (!expect_name(function.name, "the function's name")) return false;
  if (at('(') && !function_parameters(function, function.params)) return false;
  if (!function_directives(function)) return false;
  function.header = text_since(start);
  const bool has_body = at('{');
  if (!has_body && !at(';')) return expected("the function's body '{' or ';'");
  if (!check_function(function)) return false;
  if (has_body) {
    function.has_body = true;
    if (symbols_.find_in_scope(function.name) == nullptr) add_function(function);
    if (!block(function.body) || !resolve_labels()) return false;
  } else {
    advance();
  }
  symbols_.close_scope();
  symbols_.clear_ranges();
  function_ = nullptr;
  add_function(function);
  module_.items.emplace_back(&function);
  return true;
}

}  // namespace kw::ptx
