// The parser's state and its productions, spread over parser.cc (errors, tokens, module scope), parse_directive.cc
// (.version, .loc and the like), parse_function.cc (headers of functions), parse_declaration.cc (variables, registers,
// initialisers), parse_body.cc (statements, instructions, labels), parse_operand.cc and parse_constant.cc (constant
// expressions). Internal to ptx.
// A production returns false after recording the first error; the text is read once, front to back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "ptx/lexer.h"
#include "ptx/module.h"
#include "ptx/symbols.h"

namespace kw::ptx {

// Bounds on hostile text. Real modules stay far below each.
inline constexpr size_t kMaxTextBytes = size_t{64} << 20;
inline constexpr size_t kMaxNesting = 200;            // blocks, initialisers, parentheses
inline constexpr size_t kMaxStatements = 4'000'000;   // all functions together
inline constexpr size_t kMaxInitializers = 4'000'000; // all elements of all lists
inline constexpr size_t kMaxRegisters = 1'000'000;    // used, per function
inline constexpr size_t kMaxVector = 512;             // elements between braces or parentheses
inline constexpr size_t kMaxOperands = 64;
inline constexpr size_t kMaxModifiers = 40;
inline constexpr size_t kMaxRangeVariables = 65'536;  // .shared .f32 x<N>, all together

struct Constant {
  bool is_float = false;
  bool is_float32 = false;   // a single 0f literal: bits are the float's
  bool is_unsigned = false;
  uint64_t bits = 0;         // integer, or a double's bits
};

class Parser {
 public:
  Parser(Module& module, std::string_view text) : module_(module), text_(text), lexer_(text) {}
  bool parse_module();
  Error take_error();

 private:
  // --- errors
  bool error_at(Place place, size_t length, std::string message, std::string note = {});
  bool error_here(std::string message, std::string note = {});
  bool expected(const char* what);           // "expected WHAT, found …"
  bool limit(const char* what, size_t bound);
  bool duplicate(std::string_view name, Place place, const char* what);
  std::string found() const;                 // the current token in words

  // --- tokens
  bool at(char punctuation) const {
    return lexer_.token().kind == TokenKind::kPunctuation && lexer_.token().punctuation == punctuation &&
           lexer_.token().text.size() == 1;
  }
  bool at_operator(std::string_view text) const {
    return lexer_.token().kind == TokenKind::kPunctuation && lexer_.token().text == text;
  }
  bool at_directive(std::string_view text) const {
    return lexer_.token().kind == TokenKind::kDirective && lexer_.token().text == text;
  }
  bool at_name() const { return lexer_.token().kind == TokenKind::kIdentifier; }
  bool accept(char punctuation);
  bool expect(char punctuation, const char* where);
  bool expect_name(std::string_view& name, const char* what);
  bool expect_unsigned(uint64_t& value, uint64_t at_most, const char* what);
  std::string_view text_since(const char* start) const { return {start, static_cast<size_t>(last_end_ - start)}; }
  void advance() { last_end_ = lexer_.token_end(); last_place_ = lexer_.place(); lexer_.next(); }

  // --- module scope
  bool module_item();
  bool version_directive();
  bool target_directive();
  bool address_size_directive();
  bool text_directive(Directive& directive);   // .loc .file .pragma .section .alias, as written
  bool loc_directive();
  bool file_directive();
  bool section_directive();
  bool function(Place place, const char* start, bool is_extern, bool is_visible, bool is_weak);
  bool function_parameters(Function& function, std::vector<const Variable*>& to);
  bool function_directives(Function& function);
  bool check_function(const Function& function);
  void add_function(Function& function);
  void finish_locations();

  // --- declarations
  bool variable_prefix(Variable& variable, bool parameter);
  bool attribute(Variable& variable);
  bool pointer_qualifier();
  bool dimensions(Variable& variable);
  bool variable_declaration(Variable prefix, const char* start);  // after the linkage
  bool declare_variable(Variable variable, const Variable*& declared);
  bool parameter(Variable& variable);          // of a function or prototype
  bool register_declaration(RegisterDeclaration& declaration);
  bool declare_register(const RegisterDeclaration& declaration, std::string_view name, Place place);
  bool declare_range(const RegisterDeclaration& declaration, std::string_view prefix, uint64_t count, Place place);
  bool range_suffix(int64_t& count);
  bool initializer(Initializer& value);
  bool initializer_list(Initializer& value);

  // --- bodies
  bool block(Block& block);
  bool statements(Block& block);
  bool statement(Block& block);
  bool directive_statement(Block& block);
  bool label_or_instruction(Block& block);
  bool define_label(std::string_view name, Place place, char kind, uint32_t& id);
  bool branch_targets(std::string_view label, Place place, Block& block);
  bool call_prototype(std::string_view label, Place place, Block& block);
  bool instruction(Block& block);
  bool guard(Guard& guard);
  bool operand(Operand& operand, bool lists);
  bool scalar_operand(Operand& operand);
  bool name_operand(Operand& operand);
  bool element_of(Operand& operand);
  bool address_operand(Operand& operand);
  bool byte_offset(Operand& operand, std::string_view first);  // "+4" or "-4" here; first: the operand's first token
  bool operand_list(char close, std::vector<Operand>& elements, const char* what);
  bool constant_operand(Operand& operand);
  bool predicate_register(std::string_view name, Place place, uint32_t& id);
  bool unknown_name(std::string_view name, Place place, const char* what);
  void remember_pending(std::vector<Operand>& operands);
  void remember_pending(Operand& operand);
  bool resolve_labels();

  // --- constant expressions (PTX ISA 4.5.4)
  bool constant(Constant& value) { return conditional(value); }
  bool conditional(Constant& value);
  bool binary(Constant& value, int precedence);
  bool unary(Constant& value);
  bool apply(std::string_view op, Constant& left, const Constant& right, Place place);
  bool enter();                               // nesting; pair with leave()
  void leave() { --nesting_; }

  Module& module_;
  std::string_view text_;
  Lexer lexer_;
  std::optional<Error> error_;
  const char* last_end_ = nullptr;            // end of the token before the current one
  Place last_place_;
  Symbols symbols_;
  size_t nesting_ = 0, statements_ = 0, initializers_ = 0, range_variables_ = 0;

  // --- the function being parsed
  Function* function_ = nullptr;
  uint32_t loc_ = 0;
  using LocationKey = std::array<uint32_t, 3>;  // file number, line, column
  struct LocationKeyHash {
    size_t operator()(const LocationKey& key) const {
      return ((key[0] * size_t{0x9E3779B97F4A7C15} + key[1]) * size_t{0x9E3779B97F4A7C15} + key[2]) * size_t{0x9E3779B97F4A7C15} >> 16;
    }
  };
  std::unordered_map<LocationKey, uint32_t, LocationKeyHash> latest_location_;
  struct LabelScope { uint32_t parent = 0; };
  std::vector<LabelScope> label_scopes_;
  uint32_t label_scope_ = 0;
  struct LabelKey {
    uint32_t scope = 0;
    std::string_view name;
    bool operator==(const LabelKey&) const = default;
  };
  struct LabelKeyHash {
    size_t operator()(const LabelKey& key) const {
      return std::hash<std::string_view>()(key.name) ^ key.scope * size_t{0x9E3779B97F4A7C15};
    }
  };
  struct LabelValue { char kind = 'l'; uint32_t id = 0; Place place; };  // 'l'abel, 't'argets, 'p'rototype
  std::unordered_map<LabelKey, LabelValue, LabelKeyHash> labels_;
  struct Pending { Operand* operand; uint32_t scope; };
  std::vector<Pending> pending_;
  bool has_pending_ = false;
  bool in_address_ = false;
  std::vector<const Variable*> pending_variables_;  // declared by the statement being parsed
  std::vector<std::string_view> modifier_scratch_;
  std::vector<Operand> operand_scratch_;
};

}  // namespace kw::ptx
