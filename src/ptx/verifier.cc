#include "ptx/verifier.h"

#include <algorithm>

#include "ptx/verify_state.h"

namespace kw::ptx {

std::vector<Error> verify(const Module& module, size_t limit) { return Verifier(module, limit).run(); }

void Verifier::report(Place place, size_t length, std::string message, std::string note, ErrorCode code) {
  if (full()) return;
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.span = Span{module_.file_name, static_cast<int>(place.line), static_cast<int>(place.column), static_cast<int>(std::min<size_t>(length, 200))};
  if (module_.text && place.line > 0) error.source_line = line_of(*module_.text, static_cast<int>(place.line)).substr(0, 4096);
  if (!note.empty()) error.notes.push_back(std::move(note));
  errors_.push_back(std::move(error));
}

std::vector<Error> Verifier::run() {
  if (limit_ == 0) return {};
  header();
  for (const Variable& one : module_.variables) {
    if (full()) break;
    variable(one);
  }
  for (const Function& one : module_.functions) {
    if (full()) break;
    function(one);
  }
  return std::move(errors_);
}

void Verifier::header() {
  version_ = module_.version_major * 10 + std::min(module_.version_minor, 9);
  Place version_place, target_place, size_place;
  for (const ModuleItem& item : module_.items)
    if (const auto* directive = std::get_if<Directive>(&item)) {
      if (directive->text.starts_with(".version")) version_place = directive->place;
      else if (directive->text.starts_with(".target")) target_place = directive->place;
      else if (directive->text.starts_with(".address_size")) size_place = directive->place;
    }
  if (module_.version_major > 9)
    report(version_place, 8, fmt::format("PTX {}.{} is newer than this program knows", module_.version_major, module_.version_minor), "it knows PTX up to 9; compile with an older toolkit or lower .version", ErrorCode::kUnsupported);
  const int first = parse_target(module_.target, target_) ? first_version_of(target_) : 0;
  if (first == 0)
    report(target_place, 7, fmt::format("unknown target '{}'", module_.target), "targets are sm_70, sm_80, sm_90a, sm_100a, sm_120a and the like", ErrorCode::kUnsupported);
  else if (version_ < first)
    report(target_place, 7, fmt::format("target {} needs PTX {}.{} or later", module_.target, first / 10, first % 10), fmt::format("this module has .version {}.{}", module_.version_major, module_.version_minor));
  if (module_.address_size == 32 && target_.sm >= 90)
    report(size_place, 13, fmt::format("32-bit addresses do not exist on {}", module_.target), "write .address_size 64");
}

void Verifier::initializer(const Variable& variable, const Initializer& value) {
  if (full()) return;
  switch (value.kind) {
    case Initializer::Kind::kSymbol: case Initializer::Kind::kGenericSymbol: case Initializer::Kind::kMaskedSymbol:
      if (variable.type == Type::kTexref || variable.type == Type::kSamplerref || variable.type == Type::kSurfref) return;
      if (module_.find_variable(value.symbol) == nullptr && module_.find_function(value.symbol) == nullptr)
        report(variable.place, variable.name.size(), fmt::format("the initial value of '{}' names '{}', which the module does not declare", variable.name, value.symbol), "declare it .extern, or define it");
      return;
    case Initializer::Kind::kList:
      for (const Initializer& element : value.list) initializer(variable, element);
      return;
    case Initializer::Kind::kInteger: case Initializer::Kind::kFloat: return;
  }
}

void Verifier::variable(const Variable& variable) {
  uint64_t elements = variable.vector;
  for (const uint64_t dim : variable.dims) elements = dim != 0 && elements > UINT64_MAX / dim ? UINT64_MAX : elements * dim;
  const bool unsized = !variable.dims.empty() && variable.dims[0] == 0;
  const auto say = [&](std::string message, std::string note) { report(variable.place, variable.name.size(), std::move(message), std::move(note)); };
  if (variable.type == Type::kPred) say(fmt::format("'{}' is a predicate in memory", variable.name), "predicates live in registers; use .b8");
  if (unsized && !variable.is_extern) say(fmt::format("array '{}' has no size", variable.name), "only .extern arrays may be without; write the number of elements");
  if (variable.size_bytes() > (uint64_t{1} << 40)) say(fmt::format("'{}' is larger than any memory", variable.name), "check its dimensions");
  if (variable.is_extern && variable.has_initializer) say(fmt::format("'{}' is .extern and has an initial value", variable.name), "drop one of the two");
  if (variable.is_managed && variable.space != Space::kGlobal) say(fmt::format("'{}' is managed but not .global", variable.name), "only .global variables are managed");
  if (!variable.has_initializer) return;
  if (variable.initializer.kind == Initializer::Kind::kList && variable.initializer.list.size() > elements)
    say(fmt::format("'{}' has {} elements and {} initial values", variable.name, elements, variable.initializer.list.size()), "drop the excess, or enlarge the array");
  initializer(variable, variable.initializer);
}

void Verifier::function(const Function& function) {
  const auto say = [&](std::string message, std::string note) { report(function.place, function.name.size(), std::move(message), std::move(note)); };
  for (const Function::Limit& limit : function.limits) {
    const bool cluster = limit.name.find("cluster") != std::string_view::npos;
    if (cluster && !satisfies({78, {{90, 0}}}, target_, version_)) say(fmt::format(".{} needs sm_90 or later and PTX 7.8 or later", limit.name), fmt::format("this module has .target {} and .version {}.{}", module_.target, module_.version_major, module_.version_minor));
    if (!function.is_entry && !limit.name.starts_with("abi")) say(fmt::format(".{} on a function", limit.name), "it is for kernels (.entry)");
    for (const uint64_t value : limit.values)
      if (value == 0 && (limit.name == "maxntid" || limit.name == "reqntid" || limit.name == "reqnctapercluster")) say(fmt::format(".{} of 0", limit.name), "each dimension is at least 1");
  }
  for (const Variable& one : function.variables) {
    if (one.is_extern || one.space == Space::kParam || one.space == Space::kReg) continue;
    variable(one);
  }
  if (!function.has_body) {
    return;
  }
  prototypes_.clear();
  block(function, function.body);
}

void Verifier::block(const Function& function, const Block& block) {
  for (const Statement& statement : block.statements)
    if (const auto* prototype = std::get_if<CallPrototype>(&statement)) prototypes_[prototype->label] = prototype;
  for (const Statement& statement : block.statements) {
    if (full()) return;
    if (const auto* one = std::get_if<Instruction>(&statement)) instruction(function, *one);
    else if (const auto* inner = std::get_if<BlockPtr>(&statement)) this->block(function, **inner);
  }
}

void Verifier::instruction(const Function& function, const Instruction& instruction) {
  const Meaning& meaning = meaning_of(instruction);
  if (meaning.matches.empty()) return report(instruction.place, instruction.full_name().size(), meaning.problem, meaning.remedy, meaning.code);
  std::string first_why;
  const Operand* first_at = nullptr;
  size_t furthest = 0;
  for (const Match& match : meaning.matches) {
    if (match.form->opcode == "mov" && match.wants.size() == 1) {  // the form that packs and unpacks
      const bool has_vector = std::any_of(instruction.operands.begin(), instruction.operands.end(), [](const Operand& o) { return o.kind == Operand::Kind::kVector; });
      if (has_vector) return packing(function, instruction);
      if (first_why.empty()) first_why = "this form of mov packs or unpacks a vector in braces";
      continue;
    }
    const Operand* at = nullptr;
    std::string why = misfit(function, instruction, match, at);
    if (why.empty()) {
      if (instruction.opcode == "call") call(function, instruction);
      return;
    }
    // Of several forms, speak of the one that fits furthest.
    const size_t reach = at == nullptr ? 0 : static_cast<size_t>(at - instruction.operands.data()) + 1;
    if (!first_why.empty() && reach <= furthest) continue;
    furthest = reach;
    first_why = std::move(why);
    first_at = at;
  }
  const Place place = first_at != nullptr ? first_at->place : instruction.place;
  const size_t length = first_at != nullptr ? std::max<size_t>(1, first_at->name.size()) : instruction.full_name().size();
  report(place, length, std::move(first_why), fmt::format("{} takes: {}", instruction.full_name(), readable_operands(*meaning.matches[0].form)));
}

// mov.b64 {lo, hi}, x and mov.b64 x, {lo, hi}: the parts together are as wide as the whole.
void Verifier::packing(const Function& function, const Instruction& instruction) {
  const auto say = [&](const Operand& at, std::string message, std::string note) { report(at.place, 1, std::move(message), std::move(note)); };
  if (instruction.operands.size() != 2) return report(instruction.place, 3, fmt::format("{} takes 2 operands, found {}", instruction.full_name(), instruction.operands.size()), "write mov.b64 {lo, hi}, x or mov.b64 x, {lo, hi}");
  const Operand& destination = instruction.operands[0];
  const Operand& source = instruction.operands[1];
  const bool unpacks = destination.kind == Operand::Kind::kVector;
  if (unpacks && source.kind == Operand::Kind::kVector) return say(source, "mov cannot both pack and unpack", "one side is a vector in braces, the other a register");
  const Operand& vector = unpacks ? destination : source;
  const Operand& whole = unpacks ? source : destination;
  Type type = Type::kNone;
  for (const std::string_view modifier : instruction.modifiers) type = type_named(modifier);
  const unsigned bits = size_bits(type);
  if (whole.kind == Operand::Kind::kRegister) {
    const Register& own = function.registers[whole.id];
    if (size_bits(own.type) != bits || own.type == Type::kPred) return say(whole, fmt::format("register '{}' is .{}, {} wants .{}", own.name, name_of(own.type), instruction.full_name(), name_of(type)), "the whole has the width of the instruction's type");
  } else if (!unpacks || (whole.kind != Operand::Kind::kInteger && whole.kind != Operand::Kind::kFloat32 && whole.kind != Operand::Kind::kFloat64 && whole.kind != Operand::Kind::kSpecial)) {
    return say(whole, fmt::format("mov with a vector cannot take {} on the other side", in_words(whole.kind)), "use a register");
  }
  if (vector.elements.size() != 2 && vector.elements.size() != 4) return say(vector, fmt::format("mov packs 2 or 4 parts, found {}", vector.elements.size()), "write {a, b} or {a, b, c, d}");
  const unsigned part = bits / static_cast<unsigned>(vector.elements.size());
  for (const Operand& element : vector.elements) {
    if (element.kind == Operand::Kind::kSink && unpacks) continue;
    if (element.kind == Operand::Kind::kRegister) {
      const Register& own = function.registers[element.id];
      if (size_bits(own.type) != part || own.type == Type::kPred) say(element, fmt::format("'{}' is .{}: {} parts of {} have {} bits each", own.name, name_of(own.type), vector.elements.size(), instruction.full_name(), part), "the parts together are as wide as the whole");
    } else if (unpacks || (element.kind != Operand::Kind::kInteger && element.kind != Operand::Kind::kFloat32 && element.kind != Operand::Kind::kFloat64)) {
      say(element, fmt::format("{} cannot be a part here", in_words(element.kind)), unpacks ? "parts are registers or '_'" : "parts are registers or constants");
    }
  }
}

// call [(results),] function [, (arguments)] [, prototype or targets]
void Verifier::call(const Function& function, const Instruction& instruction) {
  const auto& operands = instruction.operands;
  size_t at = 0;
  const Operand* results = nullptr;
  const Operand* arguments = nullptr;
  if (at < operands.size() && operands[at].kind == Operand::Kind::kList) results = &operands[at++];
  if (at >= operands.size()) return report(instruction.place, 4, "call names no function", "write call (result), function, (arguments);");
  const Operand& callee = operands[at++];
  if (at < operands.size() && operands[at].kind == Operand::Kind::kList) arguments = &operands[at++];
  size_t want_results = 0, want_arguments = 0;
  if (callee.kind == Operand::Kind::kFunction) {
    const Function* called = module_.find_function(callee.name);
    if (called == nullptr) return report(callee.place, callee.name.size(), fmt::format("no function '{}'", callee.name), "declare it .extern .func, or define it");
    if (called->is_entry && !satisfies({0, {{35, 0}}}, target_, version_)) return;
    want_results = called->returns.size();
    want_arguments = called->params.size();
    if (!called->params.empty() && !called->params.back()->dims.empty() && called->params.back()->dims[0] == 0) return;  // variable arguments
  } else if (callee.kind == Operand::Kind::kRegister) {
    const Register& own = function.registers[callee.id];
    if (size_bits(own.type) != static_cast<unsigned>(module_.address_size)) return report(callee.place, callee.name.size(), fmt::format("'{}' is .{}: the address of a function has {} bits", own.name, name_of(own.type), module_.address_size), "use a .b64 register");
    if (at >= operands.size() || operands[at].kind != Operand::Kind::kName) return report(instruction.place, 4, "an indirect call names no prototype", "write the label of a .callprototype or .calltargets last");
    const auto prototype = prototypes_.find(operands[at].name);
    if (prototype == prototypes_.end()) return;
    want_results = prototype->second->returns.size();
    want_arguments = prototype->second->params.size();
  } else {
    return report(callee.place, std::max<size_t>(1, callee.name.size()), fmt::format("{} cannot be called", in_words(callee.kind)), "name a function, or a register with a prototype");
  }
  const size_t has_results = results == nullptr ? 0 : results->elements.size();
  const size_t has_arguments = arguments == nullptr ? 0 : arguments->elements.size();
  if (has_results != want_results) report(callee.place, callee.name.size(), fmt::format("'{}' returns {} values, the call takes {}", callee.name, want_results, has_results), "give as many results as the function's declaration has");
  if (has_arguments != want_arguments) report(callee.place, callee.name.size(), fmt::format("'{}' takes {} arguments, the call gives {}", callee.name, want_arguments, has_arguments), "give as many arguments as the function's declaration has");
}

}  // namespace kw::ptx
