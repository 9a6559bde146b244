// parse(): module scope, and what the parser's files (parse_state.h) share. Their only external entry point.
#include "ptx/parser.h"

#include <algorithm>

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

}  // namespace kw::ptx
