#include "ptx/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "base/near_miss.h"

namespace kw::ptx {
namespace {

struct Row {
  const char* opcode;
  const char* modifiers;
  const char* operands;
  const char* needs;
};

constexpr Row kRows[] = {
#define KW_FORM(opcode, modifiers, operands, needs) Row{opcode, modifiers, operands, needs},
#include "ptx/instructions.def"
#undef KW_FORM
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    if (end != 0) parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

int number(std::string_view digits) {
  int value = 0;
  for (const char c : digits) {
    KW_CHECK(c >= '0' && c <= '9');
    value = value * 10 + (c - '0');
  }
  return value;
}

Needs parse_needs(std::string_view text) {
  Needs needs;
  const size_t slash = text.find('/');
  for (const std::string_view target : split(text.substr(0, slash), '+')) {
    const char last = target.back();
    const bool has_suffix = last == 'a' || last == 'f';
    needs.targets.push_back({number(target.substr(0, target.size() - (has_suffix ? 1 : 0))), has_suffix ? last : '\0'});
  }
  if (slash != std::string_view::npos) {
    const auto version = split(text.substr(slash + 1), '.');
    KW_CHECK(version.size() == 2);
    needs.version = number(version[0]) * 10 + number(version[1]);
  }
  return needs;
}

Slot parse_slot(std::string_view text) {
  Slot slot;
  if (text[0] == '?') {
    slot.optional = true;
    text.remove_prefix(1);
  }
  if (const size_t equals = text.find('='); equals != std::string_view::npos) {
    slot.label = text.substr(0, equals);
    text.remove_prefix(equals + 1);
  }
  for (const std::string_view alternative : split(text, '|')) {
    const size_t at = alternative.find('@');
    slot.alternatives.push_back({alternative.substr(0, at), at == std::string_view::npos ? Needs{} : parse_needs(alternative.substr(at + 1))});
  }
  return slot;
}

OperandSpec parse_operand(std::string_view text) {
  OperandSpec spec;
  const auto take = [&](char c) {
    if (text.empty() || text[0] != c) return false;
    text.remove_prefix(1);
    return true;
  };
  if (text.back() == '?') {
    spec.optional = true;
    text.remove_suffix(1);
  }
  if (text == "[a]") spec.kind = OperandSpec::Kind::kAddress;
  else if (text == "[*]") spec.kind = OperandSpec::Kind::kCoordinates;
  else if (text == "#") spec.kind = OperandSpec::Kind::kConstant;
  else if (text == "L") spec.kind = OperandSpec::Kind::kLabel;
  else if (text == "name") spec.kind = OperandSpec::Kind::kName;
  else if (text == "*") spec.kind = OperandSpec::Kind::kRest;
  if (spec.kind != OperandSpec::Kind::kValue) return spec;
  spec.destination = take('=');
  spec.sink = take('_');
  if (text.ends_with("|p")) {
    spec.pair = true;
    text.remove_suffix(2);
  }
  spec.address_of = take('&');
  if (text.starts_with("v:")) {
    spec.vector_label = "v";
    text.remove_prefix(2);
  }
  if (take('{')) {
    const size_t close = text.find('}');
    if (text[0] == '*') spec.any_vector = true;
    else for (const std::string_view size : split(text.substr(0, close), '|')) spec.vectors.push_back(static_cast<uint32_t>(number(size)));
    text.remove_prefix(close + 1);
  } else if (take('<')) {
    spec.kind = OperandSpec::Kind::kFragment;
    spec.fragment = text[0];
    text.remove_prefix(2);
  }
  spec.relaxed = take('~');
  spec.twice = take('2');
  spec.type = text;
  return spec;
}

using Table = std::unordered_map<std::string_view, std::vector<Form>>;

const Table& table() {
  static const Table table = [] {
    Table made;
    for (const Row& row : kRows) {
      Form form;
      form.opcode = row.opcode;
      form.pattern = row.modifiers;
      form.operand_pattern = row.operands;
      form.needs = parse_needs(row.needs);
      for (const std::string_view slot : split(row.modifiers, ' ')) form.slots.push_back(parse_slot(slot));
      for (const std::string_view operand : split(row.operands, ' ')) form.operands.push_back(parse_operand(operand));
      made[row.opcode].push_back(std::move(form));
    }
    return made;
  }();
  return table;
}

// The first PTX version that knows each architecture, with no suffix, with a, with f; 0 = never.
struct TargetRow { int sm, plain, a, f; };
constexpr TargetRow kTargets[] = {
    {10, 10, 0, 0},  {11, 10, 0, 0},  {12, 12, 0, 0},   {13, 12, 0, 0},  {20, 20, 0, 0},   {21, 20, 0, 0},
    {30, 31, 0, 0},  {32, 40, 0, 0},  {35, 31, 0, 0},   {37, 41, 0, 0},  {50, 40, 0, 0},   {52, 41, 0, 0},
    {53, 42, 0, 0},  {60, 50, 0, 0},  {61, 50, 0, 0},   {62, 50, 0, 0},  {70, 60, 0, 0},   {72, 61, 0, 0},
    {75, 63, 0, 0},  {80, 70, 0, 0},  {86, 71, 0, 0},   {87, 74, 0, 0},  {88, 90, 0, 0},   {89, 78, 0, 0},
    {90, 78, 80, 0}, {100, 86, 86, 88}, {101, 86, 86, 88}, {103, 88, 88, 88}, {110, 90, 90, 90},
    {120, 87, 87, 88}, {121, 88, 88, 88}};

}  // namespace

bool parse_target(std::string_view name, TargetName& target) {
  const size_t underscore = name.find('_');
  if (underscore == std::string_view::npos) return false;
  std::string_view digits = name.substr(underscore + 1);
  target = {};
  if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) {
    target.suffix = digits.back();
    digits.remove_suffix(1);
  }
  if (digits.empty() || digits.size() > 4) return false;
  for (const char c : digits) {
    if (c < '0' || c > '9') return false;
    target.sm = target.sm * 10 + (c - '0');
  }
  return true;
}

int first_version_of(const TargetName& target) {
  for (const TargetRow& row : kTargets)
    if (row.sm == target.sm) return target.suffix == 'a' ? row.a : target.suffix == 'f' ? row.f : row.plain;
  return 0;
}

bool satisfies(const Needs& needs, const TargetName& target, int version) {
  if (version < needs.version) return false;
  if (needs.targets.empty()) return true;
  // sm_101 was renamed sm_110 in PTX 9.0: one architecture under two names.
  const auto canonical = [](int sm) { return sm == 101 ? 110 : sm; };
  const int own = canonical(target.sm);
  for (const Needs::Target& one : needs.targets) {
    const int need = canonical(one.sm);
    if (one.suffix == 0 && own >= need) return true;
    if (one.suffix == 'a' && target.suffix == 'a' && own == need) return true;
    if (one.suffix == 'f' && target.suffix != 0 && own / 10 == need / 10 && own >= need) return true;
  }
  return false;
}

std::string describe(const Needs& needs) {
  std::string text;
  for (size_t i = 0; i < needs.targets.size(); ++i) {
    const Needs::Target& target = needs.targets[i];
    if (i != 0) text += i + 1 == needs.targets.size() ? " or " : ", ";
    text += fmt::format("sm_{}", target.sm);
    if (target.suffix != 0) text += target.suffix;
    else if (target.sm != 0) text += " or later";
  }
  if (needs.version != 0) text += fmt::format("{}PTX {}.{} or later", text.empty() ? "" : " and ", needs.version / 10, needs.version % 10);
  return text;
}

const std::vector<Form>* forms_of(std::string_view opcode) {
  const auto found = table().find(opcode);
  return found == table().end() ? nullptr : &found->second;
}

std::string nearest_opcode(std::string_view opcode) {
  std::vector<std::string> known;
  for (const Row& row : kRows) known.emplace_back(row.opcode);
  return nearest(opcode, known);
}

std::string readable(const Form& form) {
  std::string text(form.opcode);
  for (const Slot& slot : form.slots) {
    // Cache hints are many and never the point.
    if (slot.optional && (slot.alternatives[0].text.starts_with("L1::") || slot.alternatives[0].text.starts_with("L2::"))) continue;
    text += slot.optional ? "{." : ".";
    for (size_t i = 0; i < slot.alternatives.size(); ++i) {
      if (i != 0) text += '|';
      if (i == 5 && slot.alternatives.size() > 6) {
        text += "…";
        break;
      }
      text += slot.alternatives[i].text;
    }
    if (slot.optional) text += '}';
  }
  return text;
}

std::string readable_operands(const Form& form) {
  std::string text;
  for (const OperandSpec& spec : form.operands) {
    std::string word;
    switch (spec.kind) {
      case OperandSpec::Kind::kAddress: word = "[address]"; break;
      case OperandSpec::Kind::kCoordinates: word = "[address, {coordinates}]"; break;
      case OperandSpec::Kind::kConstant: word = "constant"; break;
      case OperandSpec::Kind::kLabel: word = "label"; break;
      case OperandSpec::Kind::kName: word = "list of targets"; break;
      case OperandSpec::Kind::kRest: word = "…"; break;
      case OperandSpec::Kind::kFragment: word = spec.destination ? "{results}" : "{fragment}"; break;
      case OperandSpec::Kind::kValue:
        word = spec.destination ? "result" : spec.type == "pred" ? "predicate" : "value";
        if (spec.any_vector || !spec.vectors.empty()) word = "{" + word + "s}";
        if (spec.pair) word += "|predicate";
        break;
    }
    text += (text.empty() ? "" : ", ") + (spec.optional ? "optionally " + word : word);
  }
  return text.empty() ? "no operands" : text;
}

std::vector<const Form*> all_forms() {
  std::vector<const Form*> all;
  std::map<std::string_view, const std::vector<Form>*> sorted;
  for (const auto& [opcode, forms] : table()) sorted.emplace(opcode, &forms);
  for (const auto& [opcode, forms] : sorted)
    for (const Form& form : *forms) all.push_back(&form);
  return all;
}

}  // namespace kw::ptx
