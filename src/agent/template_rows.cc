#include "agent/template_rows.h"

#include <algorithm>

#include "agent/template_text.h"

namespace kw::agent {
namespace {

using problem::Node;
using problem::NodeId;
using problem::Op;
using problem::SymbolicShape;

enum class Place : uint8_t { kRows, kColumns, kRow, kOne };   // of an element: its own, its column's, its row's, the only one

struct Reduction {
  const char* functor;   // of kernelwright/reduce.cuh
  const char* sign;      // the least is the largest of what is negated
};

std::optional<Reduction> reduction_of(Op op) {
  switch (op) {
    case Op::kSum:
    case Op::kMean: return Reduction{"kw::Sum", ""};
    case Op::kReduceMax: return Reduction{"kw::Max", ""};
    case Op::kReduceMin: return Reduction{"kw::Max", "-"};
    default: return std::nullopt;
  }
}

class Writer {
 public:
  explicit Writer(const problem::Problem& problem) : problem_(problem), nodes_(problem.graph.nodes), known_(nodes_.size()) {}

  Result<std::string> write() {
    KW_TRY_VOID(find_rows());
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (needed_[i]) KW_TRY_VOID(look_at(i));
    if (passes_ == 0) return no_template(problem_, "it reduces nothing over its last axis");
    std::string body = scalars_of(0);
    for (int pass = 1; pass <= passes_; ++pass) body += reductions_of(pass) + scalars_of(pass);
    KW_TRY(const std::string outputs, write_outputs());
    return source(body + outputs);
  }

 private:
  struct Known {
    bool varies = false;   // along the row
    int pass = 0;          // after which it can be had
    std::string value;     // a name or a number
    std::string statement;
  };

  const Known& at(NodeId id) const { return known_[static_cast<size_t>(id)]; }

  // The shape of the rows is that of what is reduced; what the outputs need.
  Status find_rows() {
    needed_ = needed_nodes(problem_);
    for (size_t i = nodes_.size(); i-- > 0;) {
      if (!needed_[i] || !reduction_of(nodes_[i].op)) continue;
      const SymbolicShape& reduced = nodes_[static_cast<size_t>(nodes_[i].operands[0])].shape;
      if (nodes_[i].axes.size() != 1 || nodes_[i].axes[0] + 1 != static_cast<int64_t>(reduced.size())) return no_template(problem_, fmt::format("'{}' is not over the last axis alone", problem::op_name(nodes_[i].op)));
      if (!whole_.empty() && reduced != whole_) return no_template(problem_, "it reduces several shapes");
      whole_ = reduced;
    }
    if (whole_.size() < 2) return no_template(problem_, "it reduces no rows");
    return {};
  }

  bool is_of_rows(const SymbolicShape& shape) const {
    SymbolicShape lead(whole_.begin(), whole_.end() - 1);
    if (shape == lead) return true;
    lead.emplace_back(1);
    return shape == lead;
  }

  std::optional<Place> place_of(const SymbolicShape& shape) const {
    if (shape == whole_) return Place::kRows;
    if (all_one(shape)) return Place::kOne;
    if (is_of_rows(shape)) return Place::kRow;
    const bool last = !shape.empty() && shape.back() == whole_.back() && all_one(SymbolicShape(shape.begin(), shape.end() - 1));
    return last ? std::optional(Place::kColumns) : std::nullopt;
  }

  Status look_at(size_t i) {
    const Node& node = nodes_[i];
    Known& known = known_[i];
    if (node.op == Op::kInput) return look_at_input(node, known);
    if (is_number(node)) {
      KW_TRY(known.value, number_of(problem_, node, axes_));
      return {};
    }
    for (const NodeId operand : node.operands) {
      known.varies = known.varies || at(operand).varies;
      known.pass = std::max(known.pass, at(operand).pass);
    }
    known.value = fmt::format("v{}", i);
    if (reduction_of(node.op)) {
      if (!at(node.operands[0]).varies) return no_template(problem_, "it reduces what is the same along a row");
      known.varies = false;
      passes_ = std::max(passes_, ++known.pass);
      return {};
    }
    std::vector<std::string> operands;
    for (const NodeId operand : node.operands) {
      operands.push_back(at(operand).value);
      // One value a row without an axis of 1 behind it would be taken for one a column.
      const SymbolicShape& shape = nodes_[static_cast<size_t>(operand)].shape;
      if (known.varies && !at(operand).varies && !all_one(shape) && shape.size() < whole_.size()) return no_template(problem_, "it aligns rows with columns");
    }
    const std::string kind = type_of(node.kind);
    if (node.op == Op::kReshape) {
      if (known.varies || !(is_of_rows(node.shape) || all_one(node.shape))) return no_template(problem_, "it reshapes");
      known.statement = fmt::format("const {} {} = {};\n", kind, known.value, operands[0]);
      return {};
    }
    if (known.varies ? node.shape != whole_ && place_of(node.shape) != Place::kColumns : !(is_of_rows(node.shape) || all_one(node.shape)))
      return no_template(problem_, fmt::format("'{}' is of another shape than the rows", problem::op_name(node.op)));
    KW_TRY(const std::string expression, expression_of(problem_, node, operands));
    known.statement = fmt::format("const {} {} = {};\n", kind, known.value, expression);
    return {};
  }

  Status look_at_input(const Node& node, Known& known) {
    const problem::TensorDecl& input = problem_.inputs[static_cast<size_t>(node.input)];
    const auto place = place_of(input.shape);
    KW_TRY_VOID(signature_.add_input(problem_, input));
    const char* type = type_of(input.dtype);
    if (!place) return no_template(problem_, fmt::format("input {} is neither of the rows' shape nor of their number nor of their last axis", input.name));
    known.value = "in_" + input.name;
    known.varies = *place == Place::kRows || *place == Place::kColumns;
    if (known.varies) {
      // Of a row the pack, then its element.
      known.statement = fmt::format("const float in_{0} = kw::to_float(reinterpret_cast<const kw::Pack<{1}, V>*>({0}{2})[at].at[e]);\n", input.name, type,
                                    *place == Place::kRows ? " + row * columns" : "");
      return {};
    }
    known.statement = fmt::format("const float in_{0} = kw::to_float({0}[{1}]);\n", input.name, *place == Place::kRow ? "row" : "0");
    return {};
  }

  // What is known after a walk and does not vary along the row.
  std::string scalars_of(int pass) const {
    std::string out;
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (needed_[i] && !known_[i].varies && known_[i].pass == pass && !known_[i].statement.empty()) out += "  " + known_[i].statement;
    return out;
  }

  // The statements, in order, that give these along a row.
  std::string along(const std::vector<NodeId>& wanted) const {
    std::vector<bool> used(nodes_.size(), false);
    for (const NodeId id : wanted) used[static_cast<size_t>(id)] = true;
    std::string out;
    for (size_t i = nodes_.size(); i-- > 0;) {
      if (!used[i] || !known_[i].varies) continue;
      for (const NodeId operand : nodes_[i].operands) used[static_cast<size_t>(operand)] = true;
    }
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (used[i] && known_[i].varies) out += "      " + known_[i].statement;
    return out;
  }

  static std::string walk(const std::string& begin, const std::string& each, const std::string& end) {
    return fmt::format("  for (int64_t at = threadIdx.x; at < columns / V; at += kThreads) {{\n{}#pragma unroll\n    for (int e = 0; e < V; ++e) {{\n{}    }}\n{}  }}\n", begin, each, end);
  }

  std::string reductions_of(int pass) const {
    std::string begin, each, end;
    std::vector<NodeId> wanted;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const auto reduction = reduction_of(nodes_[i].op);
      if (!needed_[i] || !reduction || known_[i].pass != pass) continue;
      const NodeId operand = nodes_[i].operands[0];
      wanted.push_back(operand);
      begin += fmt::format("  float r{} = {}::identity();\n", i, reduction->functor);
      each += fmt::format("      r{0} = {1}::combine(r{0}, {2}{3});\n", i, reduction->functor, reduction->sign, at(operand).value);
      end += fmt::format("  const float v{0} = {1}kw::block_reduce<{2}, kThreads>(r{0}, scratch){3};\n", i, reduction->sign, reduction->functor,
                         nodes_[i].op == Op::kMean ? " / static_cast<float>(columns)" : "");
    }
    return begin + walk("", along(wanted) + each, "") + end;
  }

  Result<std::string> write_outputs() {
    std::string begin, each, end, rows;
    std::vector<NodeId> wanted;
    for (const problem::TensorDecl& output : problem_.outputs) {
      KW_TRY_VOID(signature_.add_output(problem_, output));
      const char* type = type_of(output.dtype);
      const std::string value = fmt::format("kw::from_float<{}>({})", type, at(output.node).value);
      if (output.shape != whole_) {
        if (at(output.node).varies || !is_of_rows(output.shape)) return no_template(problem_, fmt::format("output {} is neither of the rows' shape nor of their number", output.name));
        rows += fmt::format("  if (threadIdx.x == 0) {}[row] = {};\n", output.name, value);
        continue;
      }
      wanted.push_back(output.node);
      begin += fmt::format("    kw::Pack<{}, V> out_{};\n", type, output.name);
      each += fmt::format("      out_{}.at[e] = {};\n", output.name, value);
      end += fmt::format("    reinterpret_cast<kw::Pack<{0}, V>*>({1} + row * columns)[at] = out_{1};\n", type, output.name);
    }
    if (wanted.empty()) return rows;
    return walk(begin, along(wanted) + each, end) + rows;
  }

  // The number of rows and columns, of a tensor that has the rows' shape.
  Result<std::string> source(const std::string& body) {
    std::string of;
    for (const auto* tensors : {&problem_.inputs, &problem_.outputs})
      for (const problem::TensorDecl& tensor : *tensors)
        if (tensor.shape == whole_ && of.empty() && signature_.entry.find(" " + tensor.name + ",") != std::string::npos) of = tensor.name;
    if (of.empty()) return no_template(problem_, "no input or output has the shape of its rows");
    signature_.add_axes(axes_);
    return fmt::format(R"(// {0}, a row a block: written from the problem's reference.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>
#include <kernelwright/reduce.cuh>

#include <cstdint>

namespace {{

constexpr int kThreads = 256;  // tune: 32 64 128 256 512 1024
constexpr int kVector = 1;  // tune:{1}

template <int V>
__global__ void __launch_bounds__(kThreads) rows({2}int64_t columns) {{
  __shared__ float scratch[kThreads / 32];
  const int64_t row = blockIdx.x;
{3}}}

}}  // namespace

KW_ENTRY({4}cudaStream_t stream) {{
  const int64_t columns = {5}.shape(-1);
  if ({5}.size() == 0) return;
  auto* kernel = columns % kVector == 0 ? &rows<kVector> : &rows<1>;
  kernel<<<static_cast<unsigned>({5}.size() / columns), kThreads, 0, stream>>>({6}columns);
}}
)",
                       problem_.name, signature_.vectors(), signature_.parameters, body, signature_.entry, of, signature_.arguments);
  }

  const problem::Problem& problem_;
  const std::vector<Node>& nodes_;
  std::vector<bool> needed_;
  std::vector<Known> known_;
  SymbolicShape whole_;             // of the rows
  int passes_ = 0;
  std::vector<std::string> axes_;   // whose sizes are computed with
  Signature signature_;
};

}  // namespace

Result<std::string> rows_kernel(const problem::Problem& problem) { return Writer(problem).write(); }

}  // namespace kw::agent
