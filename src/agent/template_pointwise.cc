#include "agent/template_pointwise.h"

#include <algorithm>

#include "agent/template_text.h"

namespace kw::agent {
namespace {

using problem::Op;

// Which element of an input belongs to element i of the outputs.
enum class Place : uint8_t { kSame, kLastAxes, kFirstAxes, kOne };

struct Input {
  std::string name, type;
  Place place = Place::kSame;
};

std::optional<Place> place_in(const problem::SymbolicShape& shape, const problem::SymbolicShape& whole) {
  if (shape == whole) return Place::kSame;
  if (all_one(shape)) return Place::kOne;
  if (shape.size() > whole.size()) return std::nullopt;
  auto begin = shape.begin();
  while (begin != shape.end() && is_one(*begin)) ++begin;
  if (std::equal(begin, shape.end(), whole.end() - (shape.end() - begin))) return Place::kLastAxes;
  if (shape.size() != whole.size()) return std::nullopt;
  auto end = shape.end();
  while (end != shape.begin() && is_one(*(end - 1))) --end;
  return std::equal(shape.begin(), end, whole.begin()) ? std::optional(Place::kFirstAxes) : std::nullopt;
}

class Writer {
 public:
  explicit Writer(const problem::Problem& problem) : problem_(problem) {}

  Result<std::string> write() {
    KW_TRY_VOID(look_at_outputs());
    KW_TRY_VOID(look_at_inputs());
    KW_TRY_VOID(write_statements());
    return source();
  }

 private:
  Status look_at_outputs() {
    const auto& outputs = problem_.outputs;
    for (const problem::TensorDecl& output : outputs) {
      if (output.shape != outputs.front().shape) return no_template(problem_, "its outputs have several shapes");
      if (type_of(output.dtype) == nullptr) return no_template(problem_, fmt::format("output {} is {}", output.name, tensor::name_of(output.dtype)));
      widest_ = std::max(widest_, tensor::bits_of(output.dtype) / 8);
    }
    return {};
  }

  // Those that the outputs need.
  Status look_at_inputs() {
    needed_ = needed_nodes(problem_);
    for (size_t i = 0; i < needed_.size(); ++i) {
      const problem::Node& node = problem_.graph.nodes[i];
      if (!needed_[i] || node.op != Op::kInput) continue;
      const problem::TensorDecl& declaration = problem_.inputs[static_cast<size_t>(node.input)];
      const auto place = place_in(declaration.shape, problem_.outputs.front().shape);
      if (type_of(declaration.dtype) == nullptr) return no_template(problem_, fmt::format("input {} is {}", declaration.name, tensor::name_of(declaration.dtype)));
      if (!place) return no_template(problem_, fmt::format("input {} is neither of the outputs' shape nor of their first or last axes", declaration.name));
      widest_ = std::max(widest_, tensor::bits_of(declaration.dtype) / 8);
      inputs_.push_back({declaration.name, type_of(declaration.dtype), *place});
    }
    return {};
  }

  Status write_statements() {
    std::vector<std::string> value(needed_.size());
    for (size_t i = 0; i < needed_.size(); ++i) {
      if (!needed_[i]) continue;
      const problem::Node& node = problem_.graph.nodes[i];
      if (node.op == Op::kInput) {
        value[i] = "in_" + problem_.inputs[static_cast<size_t>(node.input)].name;
        continue;
      }
      if (is_number(node)) {
        KW_TRY(value[i], number_of(problem_, node, axes_));
        continue;
      }
      std::vector<std::string> operands;
      for (const problem::NodeId operand : node.operands) operands.push_back(value[static_cast<size_t>(operand)]);
      KW_TRY(const std::string expression, expression_of(problem_, node, operands));
      value[i] = fmt::format("v{}", i);
      statements_ += fmt::format("      const {} {} = {};\n", type_of(node.kind), value[i], expression);
    }
    for (const problem::TensorDecl& output : problem_.outputs)
      statements_ += fmt::format("      out_{}.at[e] = kw::from_float<{}>({});\n", output.name, type_of(output.dtype), value[static_cast<size_t>(output.node)]);
    return {};
  }

  // Where a vector of an input begins, and one of its elements.
  std::string load(const Input& input) const {
    if (input.place == Place::kSame) return fmt::format("    const kw::Pack<{0}, V> pack_{1} = reinterpret_cast<const kw::Pack<{0}, V>*>({1})[at];\n", input.type, input.name);
    if (input.place == Place::kLastAxes)
      return fmt::format("    const kw::Pack<{0}, V> pack_{1} = reinterpret_cast<const kw::Pack<{0}, V>*>({1})[at % (size_{1} / V)];\n", input.type, input.name);
    const char* index = input.place == Place::kOne ? "0" : "at * V / (n / size_{0})";
    return fmt::format("    const {0} one_{1} = {1}[{2}];\n", input.type, input.name, fmt::format(fmt::runtime(index), input.name));
  }
  static std::string element(const Input& input) {
    const bool whole = input.place == Place::kSame || input.place == Place::kLastAxes;
    return fmt::format("      const float in_{0} = kw::to_float({1}_{0}{2});\n", input.name, whole ? "pack" : "one", whole ? ".at[e]" : "");
  }

  std::string source() const {
    std::string parameters, arguments, entry, loads, elements, outs, stores, divides;
    for (const Input& input : inputs_) {
      parameters += fmt::format("const {}* {}, int64_t size_{}, ", input.type, input.name, input.name);
      arguments += fmt::format("{0}.data<{1}>(), {0}.size(), ", input.name, input.type);
      entry += fmt::format("kw::In {}, ", input.name);
      loads += load(input);
      elements += element(input);
      if (input.place == Place::kLastAxes) divides += fmt::format(" && {}.size() % kVector == 0", input.name);
      if (input.place == Place::kFirstAxes) divides += fmt::format(" && n / {}.size() % kVector == 0", input.name);
    }
    for (const problem::TensorDecl& output : problem_.outputs) {
      const char* type = type_of(output.dtype);
      parameters += fmt::format("{}* {}, ", type, output.name);
      arguments += fmt::format("{}.data<{}>(), ", output.name, type);
      entry += fmt::format("kw::Out {}, ", output.name);
      outs += fmt::format("    kw::Pack<{}, V> out_{};\n", type, output.name);
      stores += fmt::format("    reinterpret_cast<kw::Pack<{0}, V>*>({1})[at] = out_{1};\n", type, output.name);
    }
    for (const std::string& axis : axes_) {
      parameters += fmt::format("int64_t axis_{}, ", axis);
      arguments += axis + ", ";
      entry += fmt::format("int64_t {}, ", axis);
    }
    std::string vectors;
    for (unsigned elements_of = 1; elements_of * widest_ <= 16; elements_of *= 2) vectors += fmt::format(" {}", elements_of);
    return fmt::format(R"(// {0}, element by element: written from the problem's reference.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

#include <cstdint>

namespace {{

constexpr int kThreads = 256;  // tune: 64 128 256 512 1024
constexpr int kVector = 1;  // tune:{1}
constexpr int kAccesses = 1;  // tune: 1 2 4 8

template <int V>
__global__ void __launch_bounds__(kThreads) pointwise({2}int64_t n) {{
  const int64_t vectors = n / V;
#pragma unroll
  for (int access = 0; access < kAccesses; ++access) {{
    const int64_t at = (static_cast<int64_t>(blockIdx.x) * kAccesses + access) * kThreads + threadIdx.x;
    if (at >= vectors) return;
{3}{4}#pragma unroll
    for (int e = 0; e < V; ++e) {{
{5}{6}    }}
{7}  }}
}}

}}  // namespace

KW_ENTRY({8}cudaStream_t stream) {{
  const int64_t n = {9}.size();
  if (n == 0) return;
  const bool whole = n % kVector == 0{10};
  const int64_t vectors = n / (whole ? kVector : 1), a_block = int64_t{{kThreads}} * kAccesses;
  auto* kernel = whole ? &pointwise<kVector> : &pointwise<1>;
  kernel<<<static_cast<unsigned>((vectors + a_block - 1) / a_block), kThreads, 0, stream>>>({11}n);
}}
)",
                       problem_.name, vectors, parameters, loads, outs, elements, statements_, stores, entry, problem_.outputs.front().name, divides, arguments);
  }

  const problem::Problem& problem_;
  std::vector<bool> needed_;   // nodes
  std::vector<Input> inputs_;
  std::vector<std::string> axes_;   // whose sizes are computed with
  std::string statements_;
  unsigned widest_ = 1;        // bytes of an element
};

}  // namespace

Result<std::string> pointwise_kernel(const problem::Problem& problem) {
  if (problem.outputs.empty()) return no_template(problem, "it has no output");
  return Writer(problem).write();
}

}  // namespace kw::agent
