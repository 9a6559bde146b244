// Function bodies: statements, instructions, labels (PTX ISA 4.3, 6, 9).
#include "ptx/parse_state.h"

namespace kw::ptx {

bool Parser::block(Block& block) {
  block.begin = lexer_.place();
  const Place open = block.begin;
  if (!enter()) return false;
  advance();  // {
  symbols_.open_scope();
  const uint32_t outer = label_scope_;
  label_scope_ = static_cast<uint32_t>(label_scopes_.size());
  label_scopes_.push_back({outer});  // the body itself is scope 0 and its own parent
  while (!at('}')) {
    if (lexer_.token().kind == TokenKind::kEnd)
      return error_at(open, 1, "this scope is never closed", "close it with '}'; is the text cut off?");
    if (!statement(block)) return false;
  }
  block.end = lexer_.place();
  label_scope_ = outer;
  symbols_.close_scope();
  leave();
  advance();
  return true;
}

bool Parser::statement(Block& into) {
  if (++statements_ > kMaxStatements) return limit("statements", kMaxStatements);
  const Token& token = lexer_.token();
  switch (token.kind) {
    case TokenKind::kIdentifier: return label_or_instruction(into);
    case TokenKind::kDirective: return directive_statement(into);
    case TokenKind::kPunctuation: break;
    default: return expected("a statement");
  }
  if (at('@')) return instruction(into);
  if (at('{')) {
    auto inner = std::make_unique<Block>();
    if (!block(*inner)) return false;
    into.statements.emplace_back(std::move(inner));
    return true;
  }
  if (at(';')) return error_here("an empty statement", "delete this ';': the statement before it has ended already");
  return expected("a statement");
}

bool Parser::directive_statement(Block& into) {
  const std::string_view name = lexer_.token().text;
  if (name == ".loc" || name == ".pragma" || name == ".section" || name == ".file") {
    Directive directive;
    if (!text_directive(directive)) return false;
    into.statements.emplace_back(directive);
    return true;
  }
  if (name == ".reg") {
    RegisterDeclaration declaration;
    if (!register_declaration(declaration)) return false;
    into.statements.emplace_back(std::move(declaration));
    return true;
  }
  if (name == ".branchtargets" || name == ".calltargets" || name == ".callprototype")
    return error_here(fmt::format("{} without a label", name), fmt::format("write label: {} …;", name));
  if (name == ".entry" || name == ".func" || name == ".visible")
    return error_here(fmt::format("{} inside a function's body", name), "is the '}' of the function before it missing?");
  Variable prefix;
  const char* start = name.data();
  if (name == ".extern" || name == ".weak") {
    (name == ".extern" ? prefix.is_extern : prefix.is_weak) = true;
    advance();
  }
  pending_variables_.clear();
  if (!variable_declaration(std::move(prefix), start)) return false;
  statements_ += pending_variables_.size();
  for (const Variable* variable : pending_variables_) into.statements.emplace_back(variable);
  return true;
}

bool Parser::define_label(std::string_view name, Place place, char kind, uint32_t& id) {
  const auto [found, added] = labels_.try_emplace(LabelKey{label_scope_, name});
  if (!added)
    return error_at(place, name.size(), fmt::format("label '{}' is defined twice in one scope", name),
                    fmt::format("the first is on line {}; rename one, or put inline assembly into {{ }} of its own", found->second.place.line));
  id = 0;
  if (kind == 'l') {
    id = static_cast<uint32_t>(function_->labels.size());
    function_->labels.push_back({name, place});
  }
  found->second = {kind, id, place};
  return true;
}

bool Parser::label_or_instruction(Block& into) {
  const char next = lexer_.peek();
  const bool is_label = next == ':' || (next != '.' && lexer_.peek_after_space() == ':');
  if (!is_label) return instruction(into);
  const std::string_view name = lexer_.token().text;
  const Place place = lexer_.place();
  advance();
  advance();  // :
  if (at_directive(".branchtargets") || at_directive(".calltargets")) return branch_targets(name, place, into);
  if (at_directive(".callprototype")) return call_prototype(name, place, into);
  LabelDefinition definition;
  definition.place = place;
  if (!define_label(name, place, 'l', definition.id)) return false;
  into.statements.emplace_back(definition);
  return true;
}

bool Parser::branch_targets(std::string_view label, Place place, Block& into) {
  uint32_t id = 0;
  if (!define_label(label, place, 't', id)) return false;
  BranchTargets targets;
  targets.label = label;
  targets.place = place;
  targets.calls = at_directive(".calltargets");
  advance();
  do {
    if (targets.targets.size() >= 65'536) return limit("branch targets", 65'536);
    Operand target;
    target.place = lexer_.place();
    if (!expect_name(target.name, targets.calls ? "a function" : "a label")) return false;
    target.kind = targets.calls ? Operand::Kind::kFunction : Operand::Kind::kName;
    if (targets.calls) {
      const Symbol* symbol = symbols_.find(target.name);
      if (symbol == nullptr || symbol->kind != Symbol::Kind::kFunction) return unknown_name(target.name, target.place, "function");
    }
    targets.targets.push_back(std::move(target));
  } while (accept(','));
  if (!expect(';', "after the list of targets")) return false;
  if (!targets.calls) remember_pending(targets.targets);
  into.statements.emplace_back(std::move(targets));
  return true;
}

bool Parser::call_prototype(std::string_view label, Place place, Block& into) {
  uint32_t id = 0;
  if (!define_label(label, place, 'p', id)) return false;
  CallPrototype prototype;
  prototype.label = label;
  prototype.place = place;
  const char* start = lexer_.token().text.data();
  advance();
  const auto list = [&](std::vector<Variable>& to) {
    advance();  // (
    if (accept(')')) return true;
    do {
      if (to.size() >= 8192) return limit("parameters", 8192);
      if (!parameter(to.emplace_back())) return false;
    } while (accept(','));
    return expect(')', "to close the parameter list");
  };
  if (at('(') && !list(prototype.returns)) return false;
  std::string_view name;
  if (!expect_name(name, "'_' in place of the function's name")) return false;
  if (at('(') && !list(prototype.params)) return false;
  while (lexer_.token().kind == TokenKind::kDirective) {
    const std::string_view directive = lexer_.token().text;
    if (directive == ".noreturn") {
      prototype.noreturn = true;
      advance();
    } else if (directive == ".abi_preserve" || directive == ".abi_preserve_control") {
      advance();
      uint64_t count = 0;
      if (!expect_unsigned(count, UINT32_MAX, "a number of registers")) return false;
    } else {
      return error_here(fmt::format("'{}' has no place in a call prototype", directive), "known: .noreturn .abi_preserve .abi_preserve_control");
    }
  }
  prototype.text = text_since(start);
  if (!expect(';', "after the call prototype")) return false;
  into.statements.emplace_back(std::move(prototype));
  return true;
}

// --- instructions

bool Parser::unknown_name(std::string_view name, Place place, const char* what) {
  const std::string near = symbols_.nearest(name);
  return error_at(place, name.size(), fmt::format("unknown {} '{}'", what, name),
                  near.empty() ? fmt::format("declare the {} before its use", what) : fmt::format("did you mean '{}'?", near));
}

bool Parser::predicate_register(std::string_view name, Place place, uint32_t& id) {
  const Symbol* other = nullptr;
  id = symbols_.find_register(name, function_->registers, other);
  if (id == Symbols::kNoRegister)
    return other != nullptr ? error_at(place, name.size(), fmt::format("'{}' is no register", name), "a guard is @p or @!p with a predicate register")
                            : unknown_name(name, place, "register");
  return true;
}

bool Parser::guard(Guard& guard) {
  advance();  // @
  guard.present = true;
  guard.negated = accept('!');
  const Place place = lexer_.place();
  std::string_view name;
  if (!expect_name(name, "a predicate register after '@'")) return false;
  if (!predicate_register(name, place, guard.register_id)) return false;
  if (function_->registers[guard.register_id].type != Type::kPred)
    return error_at(place, name.size(), fmt::format("'{}' is no predicate", name), "a guard is a .pred register; compare with setp first");
  return true;
}

bool Parser::instruction(Block& into) {
  Instruction instruction;
  instruction.place = lexer_.place();
  instruction.loc = loc_;
  if (at('@') && !guard(instruction.guard)) return false;
  if (!at_name()) return expected("an instruction");
  if (instruction.guard.present) instruction.place = lexer_.place();
  instruction.opcode = lexer_.token().text;
  modifier_scratch_.clear();
  std::string_view modifier;
  while (lexer_.read_modifier(modifier)) {
    if (modifier_scratch_.size() >= kMaxModifiers) return limit("modifiers of one instruction", kMaxModifiers);
    modifier_scratch_.push_back(modifier);
  }
  instruction.modifiers.assign(modifier_scratch_.begin(), modifier_scratch_.end());
  const bool is_call = instruction.opcode == "call";
  advance();
  has_pending_ = false;
  operand_scratch_.clear();
  if (!at(';')) {
    do {
      if (operand_scratch_.size() >= kMaxOperands) return limit("operands of one instruction", kMaxOperands);
      if (!operand(operand_scratch_.emplace_back(), is_call)) return false;
    } while (accept(','));
  }
  if (!at(';') && lexer_.token().kind == TokenKind::kDirective && operand_scratch_.empty())
    return error_here(fmt::format("'{}' is no modifier of {}", lexer_.token().text, instruction.opcode), "write ';' after the instruction before");
  if (!expect(';', "after the instruction")) return false;
  instruction.operands.reserve(operand_scratch_.size());
  for (Operand& operand : operand_scratch_) instruction.operands.push_back(std::move(operand));
  if (has_pending_) remember_pending(instruction.operands);
  into.statements.emplace_back(std::move(instruction));
  return true;
}

// --- labels

void Parser::remember_pending(Operand& operand) {
  if (operand.kind == Operand::Kind::kName) pending_.push_back({&operand, label_scope_});
  if (!operand.elements.empty()) remember_pending(operand.elements);
}

void Parser::remember_pending(std::vector<Operand>& operands) {
  for (Operand& operand : operands) remember_pending(operand);
}

bool Parser::resolve_labels() {
  for (const Pending& pending : pending_) {
    Operand& operand = *pending.operand;
    const LabelValue* value = nullptr;
    for (uint32_t scope = pending.scope;; scope = label_scopes_[scope].parent) {
      const auto found = labels_.find({scope, operand.name});
      if (found != labels_.end()) {
        value = &found->second;
        break;
      }
      if (scope == 0) break;
    }
    if (value == nullptr) {
      // Everything that labels_ holds, under the names near to this one.
      for (const auto& [key, label] : labels_) {
        Symbol symbol;
        symbol.name = key.name;
        symbols_.add(symbol);
      }
      const std::string near = symbols_.nearest(operand.name);
      return error_at(operand.place, operand.name.size(), fmt::format("unknown name '{}': no register, variable, function or label", operand.name),
                      near.empty() ? "declare it before its use; a label must be in this scope or one around it"
                      : near == operand.name ? "a label of this name is in a scope { } that this is outside of"
                                             : fmt::format("did you mean '{}'?", near));
    }
    if (value->kind != 'l') continue;
    operand.kind = Operand::Kind::kLabel;
    operand.id = value->id;
  }
  pending_.clear();
  return true;
}

}  // namespace kw::ptx
