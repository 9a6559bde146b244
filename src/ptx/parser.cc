// parse(): module scope and functions. Only external entry point of the parser's four files.
#include "ptx/parser.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "ptx/parse_state.h"

namespace kw::ptx {

Result<Module> parse(std::string text, std::string file_name) {
  Module module;
  module.file_name = std::move(file_name);
  const size_t size = text.size();
  module.text = std::make_shared<const std::string>(std::move(text));
  if (size > kMaxTextBytes) {
    Error error{ErrorCode::kLimit, fmt::format("the PTX text has {} bytes; the limit is {}", size, kMaxTextBytes)};
    error.span = Span{module.file_name};
    error.notes.push_back("split the module, or compile fewer kernels into it");
    return fail(std::move(error));
  }
  Parser parser(module, *module.text);
  if (!parser.parse_module()) return fail(parser.take_error());
  return module;
}

// --- errors

bool Parser::error_at(Place place, size_t length, std::string message, std::string note) {
  if (error_) return false;
  Error error;
  error.code = ErrorCode::kInvalid;
  error.message = std::move(message);
  error.span = Span{module_.file_name, static_cast<int>(place.line), static_cast<int>(place.column),
                    static_cast<int>(std::min<size_t>(length, 200))};
  error.source_line = line_of(text_, static_cast<int>(place.line)).substr(0, 4096);
  if (!note.empty()) error.notes.push_back(std::move(note));
  error_ = std::move(error);
  return false;
}

bool Parser::error_here(std::string message, std::string note) {
  const Token& token = lexer_.token();
  if (token.kind == TokenKind::kBad) return error_at(lexer_.place(), token.text.size(), token.problem, token.remedy);
  return error_at(lexer_.place(), token.text.size(), std::move(message), std::move(note));
}

std::string Parser::found() const {
  const Token& token = lexer_.token();
  if (token.kind == TokenKind::kEnd) return "the end of the text";
  return fmt::format("'{}'", token.text.substr(0, 60));
}

bool Parser::expected(const char* what) {
  return error_here(fmt::format("expected {}, found {}", what, found()),
                    lexer_.token().kind == TokenKind::kEnd ? "is the text cut off?" : "");
}

bool Parser::limit(const char* what, size_t bound) {
  error_here(fmt::format("too many {}: the limit is {}", what, bound), "no compiler makes such PTX; is this text damaged?");
  error_->code = ErrorCode::kLimit;
  return false;
}

Error Parser::take_error() {
  KW_CHECK(error_.has_value());
  return std::move(*error_);
}

// --- tokens

bool Parser::accept(char punctuation) {
  if (!at(punctuation)) return false;
  advance();
  return true;
}

bool Parser::expect(char punctuation, const char* where) {
  if (accept(punctuation)) return true;
  if (punctuation == ';' && lexer_.token().kind != TokenKind::kBad && last_end_ != nullptr && lexer_.token().line != last_place_.line) {
    // The ';' is missing where the line before ended, not where the next one begins.
    const size_t behind = static_cast<size_t>(last_end_ - text_.data());
    const size_t line_start = text_.rfind('\n', behind == 0 ? 0 : behind - 1);
    const Place place{last_place_.line, static_cast<uint32_t>(behind - (line_start == std::string_view::npos ? 0 : line_start + 1)) + 1};
    return error_at(place, 1, fmt::format("expected ';' {}, found {}", where, found()), "end the line with ';'");
  }
  return expected(fmt::format("'{}' {}", punctuation, where).c_str());
}

bool Parser::expect_name(std::string_view& name, const char* what) {
  if (!at_name()) return expected(what);
  name = lexer_.token().text;
  advance();
  return true;
}

bool Parser::expect_unsigned(uint64_t& value, uint64_t at_most, const char* what) {
  const Token& token = lexer_.token();
  if (token.kind != TokenKind::kInteger) return expected(what);
  if (token.bits > at_most) return error_here(fmt::format("{} is too large for {}: at most {}", token.text, what, at_most), "use a smaller number");
  value = token.bits;
  advance();
  return true;
}

// --- module scope

bool Parser::parse_module() {
  if (lexer_.token().kind == TokenKind::kEnd)
    return error_here("the text is empty", "a PTX module begins with .version, .target and .address_size");
  while (lexer_.token().kind != TokenKind::kEnd)
    if (!module_item()) return false;
  if (module_.version_major == 0) return error_here("the module has no .version", "begin it with .version 9.0 or the like");
  if (module_.target.empty()) return error_here("the module has no .target", "write .target sm_80 or the like after .version");
  finish_locations();
  return true;
}

bool Parser::module_item() {
  const Token& token = lexer_.token();
  const Place place = lexer_.place();
  if (token.kind != TokenKind::kDirective) {
    if (at('}')) return error_here("a '}' that closes nothing", "delete it, or add the '{' it belongs to");
    if (token.kind == TokenKind::kIdentifier && module_.items.empty())
      return error_here(fmt::format("expected .version, found {}", found()), "a PTX module begins with .version, .target and .address_size");
    return error_here(fmt::format("expected a directive (.entry, .func, .global, …), found {}", found()),
                      "instructions and labels belong into a function's body");
  }
  const char* start = token.text.data();
  if (token.text == ".version") return version_directive();
  if (module_.version_major == 0) return error_here(fmt::format("{} comes before .version", token.text), "begin the module with .version 9.0 or the like");
  if (token.text == ".target") return target_directive();
  if (module_.target.empty()) return error_here(fmt::format("{} comes before .target", token.text), "write .target sm_80 or the like after .version");
  if (token.text == ".address_size") return address_size_directive();
  if (token.text == ".file" || token.text == ".loc" || token.text == ".section" || token.text == ".pragma" || token.text == ".alias") {
    Directive directive;
    if (!text_directive(directive)) return false;
    module_.items.emplace_back(directive);
    return true;
  }
  bool is_extern = false, is_visible = false, is_weak = false, is_common = false;
  for (;; advance()) {
    if (at_directive(".visible")) is_visible = true;
    else if (at_directive(".extern")) is_extern = true;
    else if (at_directive(".weak")) is_weak = true;
    else if (at_directive(".common")) is_common = true;
    else break;
  }
  if (at_directive(".entry") || at_directive(".func")) {
    if (is_common) return error_here(".common is for variables", "functions are .visible, .extern or .weak");
    return function(place, start, is_extern, is_visible, is_weak);
  }
  if (lexer_.token().kind != TokenKind::kDirective) return expected(".entry, .func or a variable's state space");
  if (lexer_.token().text == ".reg") return error_here("registers cannot be declared outside functions", "move the declaration into a function body");
  Variable prefix;
  prefix.is_extern = is_extern;
  prefix.is_visible = is_visible;
  prefix.is_weak = is_weak;
  prefix.is_common = is_common;
  return variable_declaration(std::move(prefix), start);
}

bool Parser::version_directive() {
  const Place place = lexer_.place();
  const char* start = lexer_.token().text.data();
  if (module_.version_major != 0) return error_here("a second .version", "a module has one; were two modules concatenated?");
  advance();
  // "9.0" lexes as a decimal float; its text is what counts.
  const std::string_view text = lexer_.token().text;
  const size_t dot = text.find('.');
  const auto number = [](std::string_view digits, int& value) {
    value = 0;
    if (digits.empty() || digits.size() > 3) return false;
    for (const char c : digits) {
      if (c < '0' || c > '9') return false;
      value = value * 10 + (c - '0');
    }
    return true;
  };
  if (dot == std::string_view::npos || !number(text.substr(0, dot), module_.version_major) ||
      !number(text.substr(dot + 1), module_.version_minor) || module_.version_major == 0) {
    module_.version_major = 0;
    return expected("a version such as 9.0");
  }
  advance();
  module_.items.emplace_back(Directive{text_since(start), place});
  return true;
}

bool Parser::target_directive() {
  const Place place = lexer_.place();
  const char* start = lexer_.token().text.data();
  if (!module_.target.empty()) return error_here("a second .target", "a module has one; were two modules concatenated?");
  advance();
  do {
    std::string_view name;
    const Place name_place = lexer_.place();
    if (!expect_name(name, "a target such as sm_80")) return false;
    if (name.starts_with("sm_") || name.starts_with("compute_")) {
      if (!module_.target.empty()) return error_at(name_place, name.size(), "a second architecture in .target", "a module has one");
      module_.target = name;
    } else {
      module_.target_options.push_back(name);
    }
  } while (accept(','));
  if (module_.target.empty()) return error_at(place, 7, ".target names no architecture", "write .target sm_80 or the like");
  module_.items.emplace_back(Directive{text_since(start), place});
  return true;
}

bool Parser::address_size_directive() {
  const Place place = lexer_.place();
  const char* start = lexer_.token().text.data();
  advance();
  uint64_t bits = 0;
  const Place at_value = lexer_.place();
  if (!expect_unsigned(bits, 1024, "32 or 64")) return false;
  if (bits != 32 && bits != 64) return error_at(at_value, 1, fmt::format("an address size of {} bits", bits), "write .address_size 64");
  module_.address_size = static_cast<int>(bits);
  module_.items.emplace_back(Directive{text_since(start), place});
  return true;
}

bool Parser::text_directive(Directive& directive) {
  directive.place = lexer_.place();
  const char* start = lexer_.token().text.data();
  const std::string_view name = lexer_.token().text;
  bool ok = true;
  if (name == ".loc") {
    ok = loc_directive();
  } else if (name == ".file") {
    ok = file_directive();
  } else if (name == ".section") {
    ok = section_directive();
  } else if (name == ".pragma") {
    advance();
    do {
      if (lexer_.token().kind != TokenKind::kString) return expected("a string after .pragma");
      advance();
    } while (accept(','));
    ok = expect(';', "after .pragma");
  } else {  // .alias a, b;
    advance();
    std::string_view alias, of;
    ok = expect_name(alias, "the alias") && expect(',', "between an alias and what it stands for") &&
         expect_name(of, "the function that the alias stands for") && expect(';', "after .alias");
  }
  if (!ok) return false;
  directive.text = text_since(start);
  return true;
}

bool Parser::loc_directive() {
  const auto location = [&](SourceLocation& location) {
    uint64_t file = 0, line = 0, column = 0;
    if (!expect_unsigned(file, UINT32_MAX, "the file's number") || !expect_unsigned(line, UINT32_MAX, "the line") ||
        !expect_unsigned(column, UINT32_MAX, "the column"))
      return false;
    location = {static_cast<uint32_t>(file), static_cast<uint32_t>(line), static_cast<uint32_t>(column)};
    return true;
  };
  const auto add = [&](const SourceLocation& location) {
    const auto index = static_cast<uint32_t>(module_.locations.size());
    module_.locations.push_back(location);
    latest_location_[{location.file, location.line, location.column}] = index;
    return index;
  };
  advance();
  SourceLocation own, caller;
  if (!location(own)) return false;
  if (!at(',')) {
    loc_ = add(own);
    return true;
  }
  advance();
  std::string_view word;
  if (!expect_name(word, "function_name") || word != "function_name")
    return error_at(last_place_, word.size(), fmt::format("expected function_name, found '{}'", word), ".loc file line column, function_name label, inlined_at file line column");
  if (!expect_name(word, "the label of the function's name")) return false;
  if (accept('+')) {
    uint64_t offset = 0;
    if (!expect_unsigned(offset, UINT64_MAX, "an offset")) return false;
  }
  if (!expect(',', "before inlined_at")) return false;
  if (!expect_name(word, "inlined_at") || word != "inlined_at")
    return error_at(last_place_, word.size(), fmt::format("expected inlined_at, found '{}'", word), ".loc file line column, function_name label, inlined_at file line column");
  if (!location(caller)) return false;
  // The call's place is that of an earlier .loc of the function (PTX ISA, .loc), which may be inlined itself; of
  // several, the latest: compilers write a chain of calls outermost first.
  const auto found = latest_location_.find({caller.file, caller.line, caller.column});
  own.inlined_at = found != latest_location_.end() ? found->second : add(caller);
  loc_ = add(own);
  return true;
}

bool Parser::file_directive() {
  advance();
  uint64_t index = 0, number = 0;
  if (!expect_unsigned(index, UINT32_MAX, "the file's number")) return false;
  if (lexer_.token().kind != TokenKind::kString) return expected("the file's name in quotes");
  const std::string_view text = lexer_.token().text;
  module_.files.push_back({static_cast<uint32_t>(index), text.substr(1, text.size() - 2)});
  advance();
  for (int i = 0; i < 2 && at(','); ++i) {  // time stamp and size
    advance();
    if (!expect_unsigned(number, UINT64_MAX, "the file's time stamp or size")) return false;
  }
  return true;
}

bool Parser::section_directive() {
  advance();
  if (lexer_.token().kind != TokenKind::kDirective) return expected("the section's name, such as .debug_info");
  advance();
  if (!at('{')) return expected("'{' after the section's name");
  const Place open = lexer_.place();
  if (!lexer_.skip_section()) return error_at(open, 1, "this section is never closed", "close it with '}'; is the text cut off?");
  last_end_ = lexer_.position();
  last_place_ = open;
  lexer_.next();
  return true;
}

void Parser::finish_locations() {
  // .loc names files by number, and .file may come after it.
  std::unordered_map<uint32_t, uint32_t> positions;
  for (size_t i = 0; i < module_.files.size(); ++i) positions.emplace(module_.files[i].index, static_cast<uint32_t>(i));
  for (size_t i = 1; i < module_.locations.size(); ++i) {
    uint32_t& file = module_.locations[i].file;
    const auto [found, added] = positions.try_emplace(file, static_cast<uint32_t>(module_.files.size()));
    if (added) module_.files.push_back({file, {}});
    file = found->second;
  }
}

// --- functions

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
