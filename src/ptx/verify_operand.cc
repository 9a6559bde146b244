// Whether operands fit the form of their instruction: number, kind, type (PTX ISA 9.2 to 9.4).
#include <algorithm>

#include "ptx/special_registers.h"
#include "ptx/verify_state.h"

namespace kw::ptx {
namespace {

enum class Class { kBits, kInteger, kFloat, kPacked, kPredicate, kOpaque };

Class class_of(Type type) {
  switch (type) {
    case Type::kPred: return Class::kPredicate;
    case Type::kB1: case Type::kB8: case Type::kB16: case Type::kB32: case Type::kB64: case Type::kB128: return Class::kBits;
    case Type::kU8: case Type::kU16: case Type::kU32: case Type::kU64:
    case Type::kS8: case Type::kS16: case Type::kS32: case Type::kS64: return Class::kInteger;
    case Type::kF32: case Type::kF64: return Class::kFloat;
    case Type::kTexref: case Type::kSamplerref: case Type::kSurfref: case Type::kOther: case Type::kNone: return Class::kOpaque;
    default: return Class::kPacked;
  }
}

bool register_fits(Type own, Type want, bool relaxed) {
  if (want == Type::kNone || own == want) return true;
  const Class own_class = class_of(own), want_class = class_of(want);
  if (own_class == Class::kPredicate || want_class == Class::kPredicate) return false;
  const unsigned own_bits = size_bits(own), want_bits = (size_bits(want) + 7) / 8 * 8;
  // A float register holds exactly its own format; others may be wider where the instruction allows it.
  if (own_bits != want_bits && !(relaxed && own_bits > want_bits && own_class != Class::kFloat)) return false;
  switch (want_class) {
    case Class::kBits: return true;
    case Class::kInteger: return own_class == Class::kBits || own_class == Class::kInteger;
    case Class::kFloat: return own_class == Class::kBits;
    case Class::kPacked:
      if (want == Type::kTF32) return own_class != Class::kPacked;
      return own_class == Class::kBits || (own_class == Class::kInteger && want != Type::kF16 && want != Type::kBF16) || own_class == Class::kPacked;
    default: return true;
  }
}

// Reading is laxer than "all operands have the type of the instruction" in two opcodes only.
bool reads_special(std::string_view opcode) { return opcode == "mov" || opcode == "cvt"; }

std::string type_text(Type type) { return fmt::format(".{}", name_of(type)); }

}  // namespace

std::string_view in_words(Operand::Kind kind) {
  switch (kind) {
    case Operand::Kind::kRegister: return "a register";
    case Operand::Kind::kSpecial: return "a special register";
    case Operand::Kind::kInteger: return "an integer";
    case Operand::Kind::kFloat32: case Operand::Kind::kFloat64: return "a float";
    case Operand::Kind::kVariable: return "a variable";
    case Operand::Kind::kFunction: return "a function";
    case Operand::Kind::kLabel: return "a label";
    case Operand::Kind::kAddress: return "an address in brackets";
    case Operand::Kind::kVector: return "a vector in braces";
    case Operand::Kind::kList: return "a list in parentheses";
    case Operand::Kind::kPair: return "a pair a|b";
    case Operand::Kind::kSink: return "'_'";
    case Operand::Kind::kName: return "a name";
  }
  return "an operand";
}

std::string Verifier::misfit_value(const Function& function, const Instruction& instruction, const Want& want, const Operand& operand, bool in_vector) const {
  const OperandSpec& spec = *want.spec;
  if (operand.negated && want.type != Type::kPred) return "'!' is for predicates";
  switch (operand.kind) {
    case Operand::Kind::kSink:
      if (spec.destination && (spec.sink || in_vector || spec.pair)) return {};
      return spec.destination ? "this instruction cannot discard its result" : "'_' stands for a result, not for a source";
    case Operand::Kind::kRegister: {
      const Register& own = function.registers[operand.id];
      if (operand.element > 3) return fmt::format("element selectors of bytes and halves belong to video instructions, not to {}", instruction.opcode);
      if (own.vector > 1 && operand.element < 0) return fmt::format("'{}' is a vector register; name one element (.x)", own.name);
      if (register_fits(own.type, want.type, spec.relaxed)) return {};
      return fmt::format("register '{}' is {}, {} wants {}{}", own.name, type_text(own.type), instruction.full_name(), spec.relaxed ? "at least " : "", type_text(want.type));
    }
    default: break;
  }
  if (spec.destination) return fmt::format("a result goes into a register, not into {}", in_words(operand.kind));
  const Class wanted = class_of(want.type);
  switch (operand.kind) {
    case Operand::Kind::kInteger:
      if (wanted == Class::kFloat) return fmt::format("'{}' is an integer, {} wants a float", operand.name, instruction.full_name());
      return {};
    case Operand::Kind::kFloat32: case Operand::Kind::kFloat64:
      if (wanted == Class::kInteger || wanted == Class::kPredicate) return fmt::format("'{}' is a float, {} wants {}", operand.name, instruction.full_name(), type_text(want.type));
      return {};
    case Operand::Kind::kSpecial: {
      if (!reads_special(instruction.opcode)) return fmt::format("{} cannot read the special register '{}'; mov it into a register first", instruction.opcode, operand.name);
      const SpecialRegister* special = find_special_register(operand.name);
      if (special == nullptr) return fmt::format("unknown special register '{}'", operand.name);
      if (!satisfies({special->version, special->target == 0 ? std::vector<Needs::Target>{} : std::vector<Needs::Target>{{special->target, 0}}}, target_, version_))
        return fmt::format("'{}' needs sm_{} and PTX {}.{}", operand.name, special->target, special->version / 10, special->version % 10);
      if (special->vector > 1 && operand.element < 0) return fmt::format("'{}' has elements .x .y .z; name one", operand.name);
      if ((special->type == Type::kPred) != (want.type == Type::kPred)) return fmt::format("'{}' is {}", operand.name, type_text(special->type));
      if (size_bits(want.type) > size_bits(special->type)) return fmt::format("'{}' is {}, {} wants {}", operand.name, type_text(special->type), instruction.full_name(), type_text(want.type));
      return {};
    }
    case Operand::Kind::kVariable: case Operand::Kind::kFunction:
      if (!spec.address_of) return fmt::format("'{}' is {}, not a value: mov or cvta its address into a register first", operand.name, in_words(operand.kind));
      if (wanted == Class::kFloat || wanted == Class::kPredicate || size_bits(want.type) < 32) return fmt::format("an address does not fit {}", type_text(want.type));
      return {};
    default: return fmt::format("{} cannot take {} here", instruction.full_name(), in_words(operand.kind));
  }
}

std::string Verifier::misfit_address(const Function& function, const Match& match, const Operand& operand) const {
  const Operand& base = operand.elements[0];
  if (base.kind == Operand::Kind::kRegister) {
    const Register& own = function.registers[base.id];
    const Class own_class = class_of(own.type);
    const unsigned bits = size_bits(own.type);
    if ((own_class != Class::kBits && own_class != Class::kInteger) || (bits != 32 && bits != 64) || own.vector > 1)
      return fmt::format("'{}' is {}: an address is a 32- or 64-bit integer", own.name, type_text(own.type));
    return {};
  }
  if (base.kind == Operand::Kind::kInteger) return {};
  if (base.kind != Operand::Kind::kVariable) return fmt::format("{} is no address", in_words(base.kind));
  // Copies name two spaces, one for each address: only instructions with one are told apart here.
  const bool one_space = match.form->opcode == "ld" || match.form->opcode == "st" || match.form->opcode == "atom" || match.form->opcode == "red";
  const Space space = base.variable->space;
  if (one_space && match.space != Space::kNone && space != Space::kReg && space != match.space)
    return fmt::format("'{}' lies in another state space than the instruction says", base.name);
  return {};
}

std::string Verifier::misfit(const Function& function, const Instruction& instruction, const Match& match, const Want& want, const Operand& operand) const {
  const OperandSpec& spec = *want.spec;
  switch (spec.kind) {
    case OperandSpec::Kind::kAddress:
    case OperandSpec::Kind::kCoordinates:
      if (operand.kind != Operand::Kind::kAddress) return fmt::format("expected an address in brackets, found {}", in_words(operand.kind));
      if (spec.kind == OperandSpec::Kind::kAddress && operand.elements.size() > 1) return "this address takes no coordinates";
      return misfit_address(function, match, operand);
    case OperandSpec::Kind::kConstant:
      return operand.kind == Operand::Kind::kInteger ? std::string() : fmt::format("expected an integer constant, found {}", in_words(operand.kind));
    case OperandSpec::Kind::kLabel:
      return operand.kind == Operand::Kind::kLabel ? std::string() : fmt::format("expected a label, found {}", in_words(operand.kind));
    case OperandSpec::Kind::kName:
      return operand.kind == Operand::Kind::kName ? std::string() : fmt::format("expected the label of a list of targets, found {}", in_words(operand.kind));
    case OperandSpec::Kind::kRest: return {};
    case OperandSpec::Kind::kValue:
    case OperandSpec::Kind::kFragment: break;
  }
  if (operand.kind == Operand::Kind::kPair) {
    if (!spec.pair) return "this instruction has no second destination";
    const Operand& second = operand.elements[1];
    const bool second_fits = second.kind == Operand::Kind::kSink || (second.kind == Operand::Kind::kRegister && function.registers[second.id].type == Type::kPred);
    if (!second_fits) return "the second destination is a predicate";
    return misfit_value(function, instruction, want, operand.elements[0], true);
  }
  const bool wants_vector = !want.vectors.empty() || spec.any_vector;
  if (operand.kind != Operand::Kind::kVector) {
    if (wants_vector && operand.kind == Operand::Kind::kRegister && operand.element < 0) {
      const Register& own = function.registers[operand.id];
      if (own.vector > 1 && std::find(want.vectors.begin(), want.vectors.end(), own.vector) != want.vectors.end())
        return register_fits(own.type, want.type, spec.relaxed) ? std::string() : fmt::format("'{}' is {}", own.name, type_text(own.type));
    }
    if (wants_vector && !want.scalar_too) return fmt::format("expected a vector of {} in braces, found {}", want.vectors.empty() ? 0 : want.vectors[0], in_words(operand.kind));
    return misfit_value(function, instruction, want, operand, false);
  }
  // One value in braces: the ISA's grammar has none, ptxas takes it of loads and stores, and Triton writes it.
  const bool one_of_memory = operand.elements.size() == 1 && (instruction.opcode == "ld" || instruction.opcode == "st");
  if (!wants_vector && one_of_memory) return misfit_value(function, instruction, want, operand.elements[0], true);
  if (!wants_vector) return "expected one value, found a vector in braces";
  if (!spec.any_vector && std::find(want.vectors.begin(), want.vectors.end(), operand.elements.size()) == want.vectors.end())
    return fmt::format("{} takes {} registers here, found {}", instruction.full_name(), want.vectors[0], operand.elements.size());
  for (const Operand& element : operand.elements)
    if (std::string why = misfit_value(function, instruction, want, element, true); !why.empty()) return why;
  return {};
}

std::string Verifier::misfit(const Function& function, const Instruction& instruction, const Match& match, const Operand*& at) const {
  at = nullptr;
  const auto& operands = instruction.operands;
  size_t least = 0, most = 0;
  bool open_ended = false;
  for (const Want& want : match.wants) {
    if (want.spec->kind == OperandSpec::Kind::kRest) {
      open_ended = true;
      continue;
    }
    ++most;
    if (!want.spec->optional) ++least;
  }
  if (operands.size() < least || (operands.size() > most && !open_ended)) {
    const std::string takes = open_ended ? fmt::format("{} or more", least) : least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
    return fmt::format("{} takes {} operands, found {}", instruction.full_name(), takes, operands.size());
  }
  for (size_t i = 0; i < match.wants.size() && i < operands.size(); ++i) {
    if (match.wants[i].spec->kind == OperandSpec::Kind::kRest) break;
    std::string why = misfit(function, instruction, match, match.wants[i], operands[i]);
    if (why.empty()) continue;
    at = &operands[i];
    return why;
  }
  return {};
}

}  // namespace kw::ptx
