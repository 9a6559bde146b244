#include "agent/workload_class.h"

#include <algorithm>
#include <array>

namespace kw::agent {
namespace {

using problem::Op;
using problem::OpGroup;

constexpr std::array kNames{"elementwise", "reduction", "loss", "gemm", "gemv", "attention", "convolution", "movement"};
constexpr std::array kAfter{2, 5, 3, 6, 6, 6, 6, 3};

bool is_move(Op op) {
  switch (op) {
    case Op::kTranspose: case Op::kConcat: case Op::kTake: case Op::kPad: case Op::kFlip: case Op::kGather: case Op::kScatter: return true;
    default: return false;
  }
}

// Which nodes depend on a product, by node.
std::vector<int> products_before(const problem::Graph& graph) {
  std::vector<int> out(graph.nodes.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const problem::NodeId each : graph.nodes[i].operands) out[i] = std::max(out[i], out[static_cast<size_t>(each)]);
    if (graph.nodes[i].op == Op::kMatmul) ++out[i];
  }
  return out;
}

}  // namespace

std::string_view name_of(WorkloadClass each) { return kNames[static_cast<size_t>(each)]; }
int profile_after(WorkloadClass each) { return kAfter[static_cast<size_t>(each)]; }

WorkloadClass class_of(const problem::Problem& problem) {
  const auto any = [&](const auto& is) { return std::any_of(problem.graph.nodes.begin(), problem.graph.nodes.end(), is); };
  const std::vector<int> products = products_before(problem.graph);
  if (std::any_of(products.begin(), products.end(), [](int n) { return n > 1; })) return WorkloadClass::kAttention;
  // Of one axis, or with another of size one: as products are parsed.
  const auto is_vector = [&](problem::NodeId operand) {
    const auto& shape = problem.graph.nodes[static_cast<size_t>(operand)].shape;
    return std::count_if(shape.begin(), shape.end(), [](const problem::Dim& dim) { return dim.constant() != 1; }) <= 1;
  };
  const auto product = [](const problem::Node& n) { return n.op == Op::kMatmul; };
  const auto by_vector = [&](const problem::Node& n) { return product(n) && std::any_of(n.operands.begin(), n.operands.end(), is_vector); };
  if (any(product)) return any([&](const problem::Node& n) { return product(n) && !by_vector(n); }) ? WorkloadClass::kGemm : WorkloadClass::kGemv;
  if (any([](const problem::Node& n) { return n.op == Op::kConv || n.op == Op::kConvTranspose; })) return WorkloadClass::kConvolution;
  const bool reduces = any([](const problem::Node& n) { return problem::op_group(n.op) == OpGroup::kReduce || problem::op_group(n.op) == OpGroup::kPick; });
  if (reduces) {
    size_t rank = 0, most = 0;
    for (const auto& input : problem.inputs) rank = std::max(rank, input.shape.size());
    for (const auto& output : problem.outputs) most = std::max(most, output.shape.size());
    const bool logarithm = any([](const problem::Node& n) { return n.op == Op::kLog || n.op == Op::kLog2 || n.op == Op::kLog1p; });
    return logarithm && most < rank ? WorkloadClass::kLoss : WorkloadClass::kReduction;
  }
  return any([](const problem::Node& n) { return is_move(n.op); }) ? WorkloadClass::kMovement : WorkloadClass::kElementwise;
}

}  // namespace kw::agent
