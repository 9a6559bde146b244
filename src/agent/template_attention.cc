#include "agent/template_attention.h"

#include <cmath>

#include "agent/template_elements.h"
#include "agent/template_operand.h"

namespace kw::agent {
namespace {

using problem::DType;
using problem::Node;
using problem::NodeId;
using problem::Op;
using problem::SymbolicShape;

class Writer {
 public:
  explicit Writer(const problem::Problem& problem) : problem_(problem), nodes_(problem.graph.nodes) {}

  Result<std::string> write() {
    KW_TRY_VOID(has_names_free(problem_, {"rows", "columns", "row", "column", "any_row", "key", "batch", "head", "tiles", "first_row", "score", "product", "kernel", "blocks", "lead_keys", "lead_values", "stream"}));
    KW_TRY_VOID(find_products());
    KW_TRY_VOID(find_scores());
    KW_TRY_VOID(look_at_tensors());
    const SymbolicShape& shape = node(scores_product_).shape;
    Elements elements(problem_, shape, "batch", {{"row", "rows"}, {"column", "columns"}}, signature_);
    elements.know(scores_product_, "product");
    KW_TRY(const std::string score, elements.value_of(scores_));
    signature_.add_axes(elements.axes());
    return source(elements.statements("    "), score);
  }

 private:
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  // What is behind stores, which an implementation need not make.
  NodeId behind_stores(NodeId id) const {
    while (node(id).op == Op::kStore) id = node(id).operands[0];
    return id;
  }
  // Of a reduction over the last axis that is seen with its axis of 1.
  NodeId reduced_by(NodeId id, Op op) const {
    while (node(id).op == Op::kReshape || node(id).op == Op::kBroadcast) id = node(id).operands[0];
    const bool last = node(id).op == op && node(id).axes.size() == 1 && node(id).axes[0] + 1 == static_cast<int64_t>(node(node(id).operands[0]).shape.size());
    return last ? node(id).operands[0] : -1;
  }

  Status find_products() {
    const auto products = products_of(problem_);
    if (products.size() != 2) return no_template(problem_, fmt::format("it has {} products", products.size()));
    scores_product_ = products[0];
    values_product_ = products[1];
    if (problem_.outputs.size() != 1 || behind_stores(problem_.outputs[0].node) != values_product_) return no_template(problem_, "its output is not its second product");
    return {};
  }

  // exp(x - max(x)) / sum(exp(x - max(x))), and what x is.
  Status find_scores() {
    const auto none = [&] { return no_template(problem_, "what its second product takes is no softmax over the last axis"); };
    const Node& quotient = node(behind_stores(node(values_product_).operands[0]));
    if (quotient.op != Op::kDivide) return none();
    const NodeId numerator = quotient.operands[0];
    if (node(numerator).op != Op::kExp || reduced_by(quotient.operands[1], Op::kSum) != numerator) return none();
    const Node& difference = node(node(numerator).operands[0]);
    if (difference.op != Op::kSubtract || reduced_by(difference.operands[1], Op::kReduceMax) != difference.operands[0]) return none();
    scores_ = difference.operands[0];
    if (node(scores_).shape != node(scores_product_).shape) return no_template(problem_, "its scores have not the shape of its first product");
    leave_out_unseen();
    return {};
  }

  bool is_arange(NodeId id, const problem::Dim& size, size_t one_behind) const {
    SymbolicShape shape = node(id).shape;
    if (shape.size() < 1 + one_behind || (one_behind == 1 && !is_one(shape.back()))) return false;
    if (node(id).op == Op::kReshape) id = node(id).operands[0];
    return node(id).op == Op::kArange && node(id).start.constant() == 0 && node(id).step == 1 && node(id).shape == SymbolicShape{size} && shape[shape.size() - 1 - one_behind] == size &&
           all_one(SymbolicShape(shape.begin(), shape.end() - 1 - static_cast<std::ptrdiff_t>(one_behind)));
  }

  bool is_least(NodeId id) const {   // -inf
    const bool negated = node(id).op == Op::kNegate;
    const Node& number = negated ? node(node(id).operands[0]) : node(id);
    return number.op == Op::kConstant && number.value == (negated ? INFINITY : -INFINITY);
  }

  void leave_out_unseen() {
    const Node& choice = node(scores_);
    if (choice.op != Op::kWhere || !is_least(choice.operands[2])) return;
    const Node& seen = node(choice.operands[0]);
    const problem::Dim &queries = *(choice.shape.end() - 2), &keys = choice.shape.back();
    if (seen.op != Op::kLessEqual || queries != keys || !is_arange(seen.operands[0], keys, 0) || !is_arange(seen.operands[1], queries, 1)) return;
    causal_ = true;
    scores_ = choice.operands[1];
  }

  Status look_at_tensors() {
    KW_TRY(const Operand q, operand_of(problem_, node(scores_product_).operands[0]));
    KW_TRY(const Operand k, operand_of(problem_, node(scores_product_).operands[1]));
    KW_TRY(const Operand v, operand_of(problem_, node(values_product_).operands[1]));
    if (q.transposed || !k.transposed || v.transposed) return no_template(problem_, "its queries, keys or values do not lie row by row");
    output_ = &problem_.outputs[0];
    const DType type = output_->dtype;
    if ((type != DType::kF16 && type != DType::kBF16) || q.input->dtype != type || k.input->dtype != type || v.input->dtype != type)
      return no_template(problem_, "its queries, keys, values and output are not all f16 or all bf16");
    std::optional<int64_t> size = q.shape.back().constant();
    for (const problem::Constraint& constraint : problem_.constraints)
      if (constraint.relation == "==" && constraint.left == q.shape.back()) size = constraint.right.constant();
    if (!size || *size % 64 != 0 || *size < 64 || *size > 256 || v.shape.back() != q.shape.back()) return no_template(problem_, "the size of its heads is no constant of 64, 128, 192 or 256, or not the same for keys and values");
    head_size_ = *size;
    const SymbolicShape& whole = node(scores_product_).shape;
    const auto place = [&](const Operand& operand, const char* lead_name, const char* count, std::string& pointer) -> Status {
      KW_TRY_VOID(signature_.add_input(problem_, *operand.input));
      const auto lead = lead_at(SymbolicShape(operand.shape.begin(), operand.shape.end() - 2), SymbolicShape(whole.begin(), whole.end() - 2), "batch", lead_name);
      if (!lead) return no_template(problem_, fmt::format("the leading axes of input {} are not the result's last ones", operand.input->name));
      if (lead->find('%') != std::string::npos) signature_.add_size(lead_name, fmt::format("{}.size() / {} / kD", operand.input->name, count));
      pointer = lead->empty() ? operand.input->name : fmt::format("{} + {} * {} * kD", operand.input->name, *lead, count);
      return {};
    };
    if (SymbolicShape(q.shape.begin(), q.shape.end() - 2) != SymbolicShape(whole.begin(), whole.end() - 2)) return no_template(problem_, "its keys have more heads than its queries");
    KW_TRY_VOID(place(q, "", "rows", q_));
    KW_TRY_VOID(place(k, "lead_keys", "columns", k_));
    KW_TRY_VOID(place(v, "lead_values", "columns", v_));
    key_input_ = k.input->name;
    return signature_.add_output(problem_, *output_);
  }

  // Whether a score may be -infinity: of an infinite constant, or of an input that has infinities.
  bool may_be_masked() const {
    std::vector<bool> used(static_cast<size_t>(scores_) + 1, false);
    used.back() = true;
    for (size_t i = used.size(); i-- > 0;) {
      if (!used[i] || static_cast<NodeId>(i) == scores_product_) continue;
      if (nodes_[i].op == Op::kInput || (nodes_[i].op == Op::kConstant && !std::isfinite(nodes_[i].value))) return true;
      for (const NodeId operand : nodes_[i].operands) used[static_cast<size_t>(operand)] = true;
    }
    return false;
  }

  Result<std::string> source(const std::string& statements, const std::string& score) const {
    return fmt::format(R"(// {name}, attention with a running softmax: written from the problem's reference.
#include <kernelwright/attention_tile.cuh>
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

#include <cstdint>

namespace {{

constexpr int kWarps = 4;  // tune: 1 2 4 8
constexpr int kKeys = 32;  // tune: 32 64 128
constexpr int kD = {head_size};
using Tile = kw::AttentionTile<{type}, kD, kWarps, kKeys, {masked}>;

__global__ void __launch_bounds__(Tile::kThreads) attention({parameters}int rows, int columns) {{
  const int tiles = (rows + Tile::kRows - 1) / Tile::kRows;
  const int64_t batch = blockIdx.x / tiles;
  const int first_row = {first_row} * Tile::kRows;
  const kw::AttentionHead<{type}> head{{{q}, {k}, {v}, {output}{offset}, rows, columns}};
  const auto score = [&](float product, int any_row, int key) {{
    const int64_t row = min(any_row, rows - 1), column = key;   // rows beyond the last one are dropped
{statements}    return {score};
  }};
  Tile::forward(head, first_row, 1.0f, {seen}, score);
}}

}}  // namespace

KW_ENTRY({entry}cudaStream_t stream) {{
  if ({output}.size() == 0) return;
  const int rows = static_cast<int>({output}.shape(-2)), columns = static_cast<int>({key_input}.shape(-2));
  const int64_t blocks = {output}.size() / rows / kD * ((rows + Tile::kRows - 1) / Tile::kRows);
  cudaFuncSetAttribute(&attention, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes);
  attention<<<static_cast<unsigned>(blocks), Tile::kThreads, Tile::kSharedBytes, stream>>>({arguments}rows, columns);
}}
)",
                       fmt::arg("name", problem_.name), fmt::arg("head_size", head_size_), fmt::arg("type", type_of(output_->dtype)), fmt::arg("masked", may_be_masked()),
                       fmt::arg("parameters", signature_.parameters), fmt::arg("first_row", causal_ ? "(tiles - 1 - static_cast<int>(blockIdx.x % tiles))" : "static_cast<int>(blockIdx.x % tiles)"),
                       fmt::arg("q", q_), fmt::arg("k", k_), fmt::arg("v", v_), fmt::arg("output", output_->name),
                       fmt::arg("offset", all_one(SymbolicShape(output_->shape.begin(), output_->shape.end() - 2)) ? "" : " + batch * rows * kD"), fmt::arg("statements", statements),
                       fmt::arg("score", score), fmt::arg("seen", causal_ ? "kw::CausalKeys{rows, columns}" : "kw::AllKeys{columns}"), fmt::arg("entry", signature_.entry),
                       fmt::arg("key_input", key_input_), fmt::arg("arguments", signature_.arguments));
  }

  const problem::Problem& problem_;
  const std::vector<Node>& nodes_;
  NodeId scores_product_ = -1, values_product_ = -1, scores_ = -1;
  bool causal_ = false;
  int64_t head_size_ = 0;
  const problem::TensorDecl* output_ = nullptr;
  std::string q_, k_, v_, key_input_;
  Signature signature_;
};

}  // namespace

Result<std::string> attention_kernel(const problem::Problem& problem) { return Writer(problem).write(); }

}  // namespace kw::agent
