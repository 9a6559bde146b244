#include "agent/template_elements.h"

#include <algorithm>

namespace kw::agent {

using problem::Node;
using problem::NodeId;
using problem::Op;
using problem::SymbolicShape;

std::optional<std::string> lead_at(const SymbolicShape& lead, const SymbolicShape& whole, const std::string& at, const std::string& size) {
  if (lead == whole) return all_one(whole) ? "" : at;
  auto begin = lead.begin();
  while (begin != lead.end() && is_one(*begin)) ++begin;
  if (begin == lead.end()) return "";
  if (lead.end() - begin > static_cast<std::ptrdiff_t>(whole.size()) || !std::equal(begin, lead.end(), whole.end() - (lead.end() - begin))) return std::nullopt;
  return at + " % " + size;
}

Elements::Elements(const problem::Problem& problem, SymbolicShape whole, std::string lead, std::vector<Coordinate> trailing, Signature& signature)
    : problem_(problem), whole_(std::move(whole)), lead_(std::move(lead)), trailing_(std::move(trailing)), signature_(signature), values_(problem.graph.nodes.size()) {}

void Elements::know(NodeId id, std::string value) { values_[static_cast<size_t>(id)] = std::move(value); }

Result<std::string> Elements::value_of(NodeId id) {
  const auto& nodes = problem_.graph.nodes;
  std::vector<bool> wanted(nodes.size(), false);
  wanted[static_cast<size_t>(id)] = true;
  for (size_t i = static_cast<size_t>(id) + 1; i-- > 0;) {
    if (!wanted[i] || !values_[i].empty() || input_of(nodes[i]) != nullptr) continue;
    for (const NodeId operand : nodes[i].operands) wanted[static_cast<size_t>(operand)] = true;
  }
  for (size_t i = 0; i <= static_cast<size_t>(id); ++i)
    if (wanted[i] && values_[i].empty()) KW_TRY_VOID(make(i));
  return values_[static_cast<size_t>(id)];
}

// Of an input, or of one that is only seen with other axes of 1.
const problem::TensorDecl* Elements::input_of(const Node& node) const {
  const Node& source = node.op == Op::kReshape ? problem_.graph.nodes[static_cast<size_t>(node.operands[0])] : node;
  return source.op == Op::kInput && only_adds_ones(source.shape, node.shape) ? &problem_.inputs[static_cast<size_t>(source.input)] : nullptr;
}

Status Elements::make(size_t i) {
  const Node& node = problem_.graph.nodes[i];
  if (const problem::TensorDecl* input = input_of(node)) return load(i, *input, node.shape);
  if (is_number(node)) {
    KW_TRY(values_[i], number_of(problem_, node, axes_));
    return {};
  }
  std::vector<std::string> operands;
  for (const NodeId operand : node.operands) operands.push_back(values_[static_cast<size_t>(operand)]);
  values_[i] = fmt::format("v{}", i);
  if (node.op == Op::kReshape) {   // of one element: what is aligned with the whole would come to lie elsewhere
    if (!all_one(problem_.graph.nodes[static_cast<size_t>(node.operands[0])].shape)) return no_template(problem_, "it reshapes");
    lines_.push_back(fmt::format("const {} {} = {};\n", type_of(node.kind), values_[i], operands[0]));
    return {};
  }
  KW_TRY(const std::string expression, expression_of(problem_, node, operands));
  lines_.push_back(fmt::format("const {} {} = {};\n", type_of(node.kind), values_[i], expression));
  return {};
}

Status Elements::load(size_t i, const problem::TensorDecl& input, const SymbolicShape& shape) {
  const auto elsewhere = [&] { return no_template(problem_, fmt::format("input {} does not lie along axes of what is computed", input.name)); };
  KW_TRY_VOID(signature_.add_input(problem_, input));
  const size_t trailing = trailing_.size(), own = std::min(trailing, shape.size());
  std::vector<const Coordinate*> present;
  for (size_t t = 0; t < own; ++t) {   // from the first that the input has
    const problem::Dim& dim = shape[shape.size() - own + t];
    if (is_one(dim)) continue;
    if (dim != whole_[whole_.size() - own + t]) return elsewhere();
    present.push_back(&trailing_[trailing - own + t]);
  }
  const auto lead = lead_at(SymbolicShape(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(own)), SymbolicShape(whole_.begin(), whole_.end() - static_cast<std::ptrdiff_t>(trailing)),
                            lead_, fmt::format("lead{}_{}", i, input.name));
  if (!lead) return elsewhere();
  std::string index = *lead, size = input.name + ".size()";
  for (const Coordinate* coordinate : present) {
    index = index.empty() ? coordinate->at : fmt::format("({}) * {} + {}", index, coordinate->size, coordinate->at);
    size += " / " + coordinate->size;
  }
  if (lead->find('%') != std::string::npos) signature_.add_size(fmt::format("lead{}_{}", i, input.name), size);
  values_[i] = fmt::format("in{}_{}", i, input.name);
  lines_.push_back(fmt::format("const float {} = kw::to_float({}[{}]);\n", values_[i], input.name, index.empty() ? "0" : index));
  return {};
}

std::string Elements::statements(const std::string& indent) const {
  std::string out;
  for (const std::string& line : lines_) out += indent + line;
  return out;
}

}  // namespace kw::agent
