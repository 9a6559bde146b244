// Directives that declare nothing: .version, .target, .address_size, and .loc, .file, .section, .pragma, .alias, which are
// kept as text (PTX ISA 11.1, 11.6).
#include "ptx/parse_state.h"

namespace kw::ptx {

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

}  // namespace kw::ptx
