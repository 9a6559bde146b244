#include "ptx/printer.h"

#include <fmt/format.h>


namespace kw::ptx {
namespace {

std::string_view name_of_space(Space space) {
  switch (space) {
    case Space::kNone: return "";
    case Space::kReg: return ".reg ";
    case Space::kConst: return ".const ";
    case Space::kGlobal: return ".global ";
    case Space::kLocal: return ".local ";
    case Space::kParam: return ".param ";
    case Space::kShared: return ".shared ";
    case Space::kTex: return ".tex ";
  }
  return "";
}

class Printer {
 public:
  explicit Printer(std::string& out) : out_(out) {}

  void module(const Module& module);
  void instruction(const Function& function, const Instruction& instruction);

 private:
  template <typename... Parts>
  void put(const Parts&... parts) { (out_.append(parts), ...); }
  void number(uint64_t value) { out_.append(fmt::format_int(value).str()); }
  void line_start() { out_.append(indent_ * 2, ' '); }

  void type(Type type, uint32_t vector);
  void variable(const Variable& variable);          // without the end
  void initializer(const Initializer& value);
  void function(const Function& function);
  void parameters(const std::vector<const Variable*>& list);
  void block(const Function& function, const Block& block);
  void statement(const Function& function, const Statement& statement);
  void operand(const Function& function, const Operand& operand);
  void operands(const Function& function, const std::vector<Operand>& list, size_t from = 0);
  void literal(const Operand& operand);
  void element(const Operand& operand);

  std::string& out_;
  size_t indent_ = 0;
};

void Printer::type(Type type, uint32_t vector) {
  if (vector > 1) {
    put(".v");
    number(vector);
    put(" ");
  }
  put(".", name_of(type), " ");
}

void Printer::initializer(const Initializer& value) {
  if (!value.text.empty()) return put(value.text);
  const auto symbol = [&] {
    put(value.symbol);
    if (value.offset != 0) put(fmt::format("+{}", value.offset));
  };
  switch (value.kind) {
    case Initializer::Kind::kInteger: number(value.bits); break;
    case Initializer::Kind::kFloat: put(fmt::format("0d{:016X}", value.bits)); break;
    case Initializer::Kind::kSymbol: symbol(); break;
    case Initializer::Kind::kGenericSymbol:
      put("generic(");
      symbol();
      put(")");
      break;
    case Initializer::Kind::kMaskedSymbol:
      put(fmt::format("0x{:X}(", value.mask));
      symbol();
      put(")");
      break;
    case Initializer::Kind::kList:
      put("{");
      for (size_t i = 0; i < value.list.size(); ++i) {
        if (i != 0) put(", ");
        initializer(value.list[i]);
      }
      put("}");
      break;
  }
}

void Printer::variable(const Variable& variable) {
  if (!variable.text.empty()) return put(variable.text);
  if (variable.is_extern) put(".extern ");
  if (variable.is_visible) put(".visible ");
  if (variable.is_weak) put(".weak ");
  if (variable.is_common) put(".common ");
  put(name_of_space(variable.space));
  const bool pointer = variable.attributes.starts_with(".ptr");
  if (!variable.attributes.empty() && !pointer) put(variable.attributes, " ");
  if (variable.align != 0) put(fmt::format(".align {} ", variable.align));
  type(variable.type, variable.vector);
  if (pointer) put(variable.attributes, " ");
  put(variable.name);
  for (const uint64_t dim : variable.dims) {
    put("[");
    if (dim != 0) number(dim);
    put("]");
  }
  if (!variable.has_initializer) return;
  put(" = ");
  initializer(variable.initializer);
}

void Printer::parameters(const std::vector<const Variable*>& list) {
  put("(");
  for (size_t i = 0; i < list.size(); ++i) {
    if (i != 0) put(", ");
    variable(*list[i]);
  }
  put(")");
}

void Printer::function(const Function& function) {
  if (!function.header.empty()) {
    put(function.header);
  } else {
    if (function.is_extern) put(".extern ");
    if (function.is_visible) put(".visible ");
    if (function.is_weak) put(".weak ");
    put(function.is_entry ? ".entry " : ".func ");
    if (!function.returns.empty()) {
      parameters(function.returns);
      put(" ");
    }
    put(function.name, " ");
    parameters(function.params);
    if (!function.attributes.empty()) {
      put("\n", function.attributes);
    } else {
      if (function.noreturn) put("\n.noreturn");
      for (const Function::Limit& limit : function.limits) {
        put("\n.", limit.name);
        for (size_t i = 0; i < limit.values.size(); ++i) put(fmt::format("{} {}", i == 0 ? "" : ",", limit.values[i]));
      }
    }
  }
  if (!function.has_body) return put("\n;\n");
  put("\n");
  block(function, function.body);
  put("\n");
}

void Printer::block(const Function& function, const Block& block) {
  line_start();
  put("{\n");
  ++indent_;
  for (const Statement& one : block.statements) statement(function, one);
  --indent_;
  line_start();
  put("}");
}

void Printer::statement(const Function& function, const Statement& statement) {
  if (const auto* block = std::get_if<BlockPtr>(&statement)) {
    this->block(function, **block);
    return put("\n");
  }
  if (const auto* definition = std::get_if<LabelDefinition>(&statement))
    return put(function.labels[definition->id].name, ":\n");
  if (const auto* variable = std::get_if<const Variable*>(&statement)) {
    if ((*variable)->follows && (*variable)->text.empty()) return;
    line_start();
    this->variable(**variable);
    return put(";\n");
  }
  line_start();
  if (const auto* instruction = std::get_if<Instruction>(&statement)) {
    this->instruction(function, *instruction);
  } else if (const auto* directive = std::get_if<Directive>(&statement)) {
    put(directive->text);
  } else if (const auto* declaration = std::get_if<RegisterDeclaration>(&statement)) {
    put(".reg ");
    type(declaration->type, declaration->vector);
    for (size_t i = 0; i < declaration->items.size(); ++i) {
      if (i != 0) put(", ");
      put(declaration->items[i].name);
      if (declaration->items[i].range >= 0) put(fmt::format("<{}>", declaration->items[i].range));
    }
    put(";");
  } else if (const auto* targets = std::get_if<BranchTargets>(&statement)) {
    put(targets->label, targets->calls ? ": .calltargets " : ": .branchtargets ");
    operands(function, targets->targets);
    put(";");
  } else if (const auto* prototype = std::get_if<CallPrototype>(&statement)) {
    put(prototype->label, ": ", prototype->text, ";");
  }
  put("\n");
}

void Printer::literal(const Operand& operand) {
  if (!operand.name.empty()) return put(operand.name);
  switch (operand.kind) {
    case Operand::Kind::kFloat32: return put(fmt::format("0f{:08X}", operand.bits & 0xFFFF'FFFFu));
    case Operand::Kind::kFloat64: return put(fmt::format("0d{:016X}", operand.bits));
    default: return put(fmt::format("{}", static_cast<int64_t>(operand.bits)));
  }
}

void Printer::element(const Operand& operand) {
  constexpr const char* kElements[] = {".x", ".y", ".z", ".w", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
  constexpr const char* kColours[] = {".r", ".g", ".b", ".a"};
  if (operand.element == 10 || operand.element == 11) {
    std::string digits = fmt::format("{:x}", operand.bits);
    digits[0] = operand.element == 10 ? 'b' : 'h';
    put(".");
    put(digits);
    return;
  }
  if (operand.element < 0 || operand.element > 9) return;
  put(operand.colour_letters ? kColours[operand.element & 3] : kElements[operand.element]);
}

void Printer::operands(const Function& function, const std::vector<Operand>& list, size_t from) {
  for (size_t i = from; i < list.size(); ++i) {
    if (i != from) put(", ");
    operand(function, list[i]);
  }
}

void Printer::operand(const Function& function, const Operand& operand) {
  if (operand.negated) put("!");
  if (operand.minus) put("-");
  switch (operand.kind) {
    case Operand::Kind::kRegister:
      put(!operand.name.empty() ? operand.name : function.registers[operand.id].name);
      return element(operand);
    case Operand::Kind::kSpecial:
      put(operand.name);
      return element(operand);
    case Operand::Kind::kInteger:
    case Operand::Kind::kFloat32:
    case Operand::Kind::kFloat64: return literal(operand);
    case Operand::Kind::kVariable:
      if (!operand.name.empty()) return put(operand.name);
      put(operand.variable->name);
      if (operand.offset != 0) put(fmt::format("+{}", operand.offset));
      return;
    case Operand::Kind::kLabel:
      return put(!operand.name.empty() ? operand.name : function.labels[operand.id].name);
    case Operand::Kind::kFunction:
    case Operand::Kind::kName: return put(operand.name);
    case Operand::Kind::kSink: return put("_");
    case Operand::Kind::kAddress:
      put("[");
      if (!operand.elements.empty()) this->operand(function, operand.elements[0]);
      if (!operand.name.empty()) put(operand.name);
      else if (operand.offset != 0) put(fmt::format("+{}", operand.offset));
      if (operand.elements.size() > 1) {
        put(", ");
        operands(function, operand.elements, 1);
      }
      return put("]");
    case Operand::Kind::kVector:
      put("{");
      operands(function, operand.elements);
      return put("}");
    case Operand::Kind::kList:
      put("(");
      operands(function, operand.elements);
      return put(")");
    case Operand::Kind::kPair:
      this->operand(function, operand.elements[0]);
      put("|");
      return this->operand(function, operand.elements[1]);
  }
}

void Printer::instruction(const Function& function, const Instruction& instruction) {
  if (instruction.guard.present)
    put(instruction.guard.negated ? "@!" : "@", function.registers[instruction.guard.register_id].name, " ");
  put(instruction.opcode);
  for (const std::string_view modifier : instruction.modifiers) put(".", modifier);
  if (!instruction.operands.empty()) put(" ");
  operands(function, instruction.operands);
  put(";");
}

void Printer::module(const Module& module) {
  bool has_header = false;
  for (const ModuleItem& item : module.items)
    if (const auto* directive = std::get_if<Directive>(&item)) has_header |= directive->text.starts_with(".version");
  if (!has_header) {
    put(fmt::format(".version {}.{}\n.target {}", module.version_major, module.version_minor, module.target));
    for (const std::string_view option : module.target_options) put(", ", option);
    put(fmt::format("\n.address_size {}\n", module.address_size));
  }
  for (const ModuleItem& item : module.items) {
    if (const auto* directive = std::get_if<Directive>(&item)) {
      put(directive->text, "\n");
    } else if (const auto* variable = std::get_if<const Variable*>(&item)) {
      if ((*variable)->follows && (*variable)->text.empty()) continue;
      this->variable(**variable);
      put(";\n");
    } else {
      put("\n");
      this->function(*std::get<Function*>(item));
    }
  }
}

}  // namespace

std::string print(const Module& module) {
  std::string out;
  if (module.text) out.reserve(module.text->size() + module.text->size() / 8);
  Printer(out).module(module);
  return out;
}

std::string print(const Function& function, const Instruction& instruction) {
  std::string out;
  Printer(out).instruction(function, instruction);
  return out;
}

}  // namespace kw::ptx
