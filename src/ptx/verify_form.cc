// Which form of instructions.def an instruction is.
#include <algorithm>
#include <functional>

#include "ptx/verify_state.h"

namespace kw::ptx {
namespace {

// A modifier whose place among its like matters: types and matrix layouts.
bool is_ordered(std::string_view modifier) {
  return modifier == "row" || modifier == "col" || type_named(modifier) != Type::kNone;
}

struct Binding {
  std::vector<int> alternative;   // per slot: the alternative taken, or -1
};

bool accepts(const Slot::Alternative& alternative, const std::vector<std::string_view>& modifiers, size_t at, size_t& taken) {
  if (alternative.text == modifiers[at]) {
    taken = 1;
    return true;
  }
  if (alternative.text == "*") {
    taken = 1;
    return modifiers[at].starts_with("m64n");
  }
  const size_t dot = alternative.text.find('.');
  if (dot == std::string_view::npos || at + 1 >= modifiers.size()) return false;
  taken = 2;
  return alternative.text.substr(0, dot) == modifiers[at] && alternative.text.substr(dot + 1) == modifiers[at + 1];
}

// Every modifier takes an unused slot. `last_ordered` keeps types and layouts in their order.
bool bind_slots(const Form& form, const std::vector<std::string_view>& modifiers, size_t at, int last_ordered, Binding& binding) {
  if (at == modifiers.size()) {
    for (size_t i = 0; i < form.slots.size(); ++i)
      if (binding.alternative[i] < 0 && !form.slots[i].optional) return false;
    return true;
  }
  const bool ordered = is_ordered(modifiers[at]);
  for (int slot = ordered ? last_ordered + 1 : 0; slot < static_cast<int>(form.slots.size()); ++slot) {
    const size_t index = static_cast<size_t>(slot);
    if (binding.alternative[index] >= 0) continue;
    const auto& alternatives = form.slots[index].alternatives;
    for (size_t i = 0; i < alternatives.size(); ++i) {
      size_t taken = 0;
      if (!accepts(alternatives[i], modifiers, at, taken)) continue;
      binding.alternative[index] = static_cast<int>(i);
      if (bind_slots(form, modifiers, at + taken, ordered ? slot : last_ordered, binding)) return true;
      binding.alternative[index] = -1;
    }
  }
  return false;
}

struct Shape { uint32_t m = 0, n = 0, k = 0; };

Shape shape_named(std::string_view name) {
  Shape shape;
  uint32_t* part = nullptr;
  for (const char c : name) {
    if (c == 'm') part = &shape.m;
    else if (c == 'n') part = &shape.n;
    else if (c == 'k') part = &shape.k;
    else if (c >= '0' && c <= '9' && part != nullptr && *part < 10'000) *part = *part * 10 + static_cast<uint32_t>(c - '0');
    else return {};
  }
  return shape;
}

// The type that a fragment's registers have.
Type register_type(Type element) {
  switch (element) {
    case Type::kF32: case Type::kF64: case Type::kS32: return element;
    default: return Type::kB32;
  }
}

// Registers per thread of a fragment with `elements` elements in the warp.
uint32_t registers_for(uint32_t elements, Type type, uint32_t bits) {
  if (type == Type::kF32 || type == Type::kF64 || type == Type::kS32) return elements / 32;
  return std::max(1u, elements * bits / 32 / 32);
}

uint32_t tcgen05_registers(std::string_view shape, uint32_t repeats) {
  const uint32_t each = shape == "16x128b" ? 2 : shape == "16x256b" ? 4 : 1;
  return repeats * each;
}

}  // namespace

const Meaning& Verifier::meaning_of(const Instruction& instruction) {
  // The full name as it stands in the text is the key; names that a program put together are spelled out.
  std::string_view key = instruction.opcode;
  if (!instruction.modifiers.empty()) {
    const std::string_view last = instruction.modifiers.back();
    const std::string_view text = module_.text ? std::string_view(*module_.text) : std::string_view();
    const std::less_equal<const char*> before;
    const char* end = last.data() + last.size();
    if (before(text.data(), key.data()) && before(key.data(), last.data()) && before(end, text.data() + text.size())) {
      key = {key.data(), static_cast<size_t>(end - key.data())};
    } else {
      names_.push_back(std::make_unique<std::string>(instruction.full_name()));
      key = *names_.back();
    }
  }
  const auto found = meanings_.find(key);
  if (found != meanings_.end()) return found->second;
  return meanings_.emplace(key, find_meaning(instruction)).first->second;
}

Meaning Verifier::find_meaning(const Instruction& instruction) {
  Meaning meaning;
  const std::string name = instruction.full_name();
  const std::vector<Form>* forms = forms_of(instruction.opcode);
  if (forms == nullptr) {
    meaning.problem = fmt::format("unknown instruction '{}'", instruction.opcode);
    const std::string near = nearest_opcode(instruction.opcode);
    meaning.remedy = near.empty() ? "PTX has no instruction of this name" : fmt::format("did you mean '{}'?", near);
    return meaning;
  }
  const Needs* lacking = nullptr;
  std::string lacking_name;
  for (const Form& form : *forms) {
    Binding binding{std::vector<int>(form.slots.size(), -1)};
    if (!bind_slots(form, instruction.modifiers, 0, -1, binding)) continue;
    const auto check = [&](const Needs& needs, std::string_view what) {
      if (satisfies(needs, target_, version_)) return true;
      if (lacking == nullptr) {
        lacking = &needs;
        lacking_name = what.empty() ? name : fmt::format("'.{}' of {}", what, instruction.opcode);
      }
      return false;
    };
    if (!check(form.needs, "")) continue;
    bool available = true;
    for (size_t i = 0; i < form.slots.size() && available; ++i)
      if (binding.alternative[i] >= 0) {
        const Slot::Alternative& alternative = form.slots[i].alternatives[static_cast<size_t>(binding.alternative[i])];
        available = check(alternative.needs, alternative.text);
      }
    if (!available) continue;

    const auto bound = [&](std::string_view label) -> std::string_view {
      for (size_t i = 0; i < form.slots.size(); ++i)
        if (form.slots[i].label == label)
          return binding.alternative[i] < 0 ? std::string_view() : form.slots[i].alternatives[static_cast<size_t>(binding.alternative[i])].text;
      return {};
    };
    Match match;
    match.form = &form;
    for (const std::string_view modifier : instruction.modifiers) {
      if (modifier == "global") match.space = Space::kGlobal;
      else if (modifier == "shared" || modifier == "shared::cta" || modifier == "shared::cluster") match.space = Space::kShared;
      else if (modifier == "local") match.space = Space::kLocal;
      else if (modifier == "const") match.space = Space::kConst;
      else if (modifier == "param" || modifier == "param::entry" || modifier == "param::func") match.space = Space::kParam;
    }
    std::string_view shape_name = bound("shape");
    for (const std::string_view modifier : instruction.modifiers)
      if (shape_name == "*" && modifier.starts_with("m64n")) shape_name = modifier;
    const Shape shape = shape_named(shape_name);
    bool consistent = true;
    for (const OperandSpec& spec : form.operands) {
      Want want;
      want.spec = &spec;
      want.vectors = spec.vectors;
      want.scalar_too = spec.vectors == std::vector<uint32_t>{1};  // {x} and x are the same
      const std::string_view slot = bound(spec.type);
      want.type = type_named(slot.empty() ? spec.type : slot);
      if (spec.twice) {
        switch (want.type) {
          case Type::kU16: want.type = Type::kU32; break;
          case Type::kS16: want.type = Type::kS32; break;
          case Type::kU32: want.type = Type::kU64; break;
          case Type::kS32: want.type = Type::kS64; break;
          default: break;
        }
      }
      if (!spec.vector_label.empty()) {
        const std::string_view vector = bound(spec.vector_label);
        if (!vector.empty()) want.vectors = {static_cast<uint32_t>(vector[1] - '0')};
      }
      if (spec.kind == OperandSpec::Kind::kFragment) {
        const Type element = want.type;
        // Formats of six and four bits fill a byte each unless the kind packs them.
        uint32_t bits = size_bits(element);
        if (bits == 6 || (bits == 4 && element == Type::kE2M1 && shape.k == 32)) bits = 8;
        uint32_t count = 0;
        switch (spec.fragment) {
          case 'A': count = registers_for(shape.m * shape.k, element, bits); break;
          case 'S': count = registers_for(shape.m * shape.k / 2, element, bits); break;
          case 'B': count = registers_for(shape.n * shape.k, element, bits); break;
          case 'C': case 'D': count = registers_for(shape.m * shape.n, element, bits); break;
          case 'N': count = static_cast<uint32_t>(bound("n")[1] - '0'); break;
          case 'M': count = 2 * static_cast<uint32_t>(bound("n")[1] - '0'); break;
          case 'W':
            count = shape.n / (element == Type::kF16 ? 4 : 2);
            if (shape.m != 64 || shape.n < 8 || shape.n > 256 || shape.n % 8 != 0 || shape.k == 0) consistent = false;
            break;
          case 'T': {
            uint32_t repeats = 0;
            for (const char c : bound("n").substr(1)) repeats = repeats * 10 + static_cast<uint32_t>(c - '0');
            count = tcgen05_registers(shape_name, repeats);
            if (count > 128) consistent = false;
            break;
          }
          default: break;
        }
        // Volta's shape is computed by four groups of eight threads, each holding its own tile.
        if (form.opcode == "mma" && shape_name == "m8n8k4" && (element == Type::kF16 || bound("a") == "f16"))
          count = spec.fragment == 'A' || spec.fragment == 'B' ? 2 : element == Type::kF16 ? 4 : 8;
        want.type = register_type(element);
        want.vectors = {count};
        want.scalar_too = count == 1;
      }
      match.wants.push_back(std::move(want));
    }
    if (consistent) meaning.matches.push_back(std::move(match));
    else if (meaning.problem.empty()) meaning.problem = fmt::format("'{}' has no such shape", name), meaning.remedy = "check the sizes and repeat counts in the name";
  }
  if (!meaning.matches.empty()) return meaning;
  if (!meaning.problem.empty()) return meaning;
  if (lacking != nullptr) {
    meaning.problem = fmt::format("{} needs {}", lacking_name, describe(*lacking));
    meaning.remedy = fmt::format("this module has .target {} and .version {}.{}", module_.target, module_.version_major, module_.version_minor);
    meaning.code = ErrorCode::kUnsupported;
    return meaning;
  }
  for (const std::string_view modifier : instruction.modifiers) {
    bool known = false;
    for (const Form& form : *forms)
      for (const Slot& slot : form.slots)
        for (const Slot::Alternative& alternative : slot.alternatives) {
          const std::string_view text = alternative.text;
          const size_t dot = text.find('.');
          known |= text == modifier || (text == "*" && modifier.starts_with("m64n")) ||
                   (dot != std::string_view::npos && (text.substr(0, dot) == modifier || text.substr(dot + 1) == modifier));
        }
    if (known) continue;
    meaning.problem = fmt::format("'.{}' is no modifier of '{}'", modifier, instruction.opcode);
    break;
  }
  if (meaning.problem.empty()) meaning.problem = fmt::format("'{}' is no form of '{}': these modifiers do not go together, or one is missing", name, instruction.opcode);
  meaning.remedy = "known forms: ";
  for (size_t i = 0; i < forms->size() && i < 4; ++i) meaning.remedy += (i != 0 ? ", " : "") + readable((*forms)[i]);
  if (forms->size() > 4) meaning.remedy += fmt::format(" and {} more", forms->size() - 4);
  return meaning;
}

}  // namespace kw::ptx
