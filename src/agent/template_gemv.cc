#include "agent/template_gemv.h"

#include "agent/template_elements.h"
#include "agent/template_operand.h"

namespace kw::agent {

using problem::Node;
using problem::NodeId;
using problem::SymbolicShape;

namespace {

bool is_vector(const SymbolicShape& shape, size_t one_from_last) {
  if (shape.size() < 2) return true;
  return is_one(shape[shape.size() - 1 - one_from_last]) && all_one(SymbolicShape(shape.begin(), shape.end() - 2));
}

// As what the product is used: itself, or without the axis of the vector's.
NodeId result_of(const problem::Problem& problem, NodeId product) {
  const std::vector<bool> needed = needed_nodes(problem);
  for (size_t i = 0; i < needed.size(); ++i) {
    const Node& node = problem.graph.nodes[i];
    if (needed[i] && node.op == problem::Op::kReshape && node.operands[0] == product && only_adds_ones(node.shape, problem.graph.nodes[static_cast<size_t>(product)].shape)) return static_cast<NodeId>(i);
  }
  return product;
}

}  // namespace

bool multiplies_vector(const problem::Problem& problem, NodeId product) {
  const auto& nodes = problem.graph.nodes;
  const std::vector<NodeId>& operands = nodes[static_cast<size_t>(product)].operands;
  return is_vector(nodes[static_cast<size_t>(operands[0])].shape, 1) || is_vector(nodes[static_cast<size_t>(operands[1])].shape, 0);
}

Result<std::string> gemv_kernel(const problem::Problem& problem) {
  KW_TRY_VOID(has_names_free(problem, {"rows", "columns", "first", "row", "lane", "warp", "group", "sums", "partial", "at", "each", "nth", "other", "vector", "matrix", "product", "kernel", "blocks", "stream"}));
  const std::vector<NodeId> products = products_of(problem);
  if (products.size() != 1) return no_template(problem, "it has more than one product");
  const auto& operands = problem.graph.nodes[static_cast<size_t>(products[0])].operands;
  KW_TRY(Operand matrix, operand_of(problem, operands[0]));
  KW_TRY(Operand vector, operand_of(problem, operands[1]));
  if (!is_vector(problem.graph.nodes[static_cast<size_t>(operands[1])].shape, 0)) {   // x @ transpose(a) is a @ x
    std::swap(matrix, vector);
    matrix.transposed = !matrix.transposed;
  }
  if (matrix.transposed) return no_template(problem, fmt::format("it multiplies columns of {}, which do not lie side by side", matrix.input->name));
  const NodeId result = result_of(problem, products[0]);
  const SymbolicShape& shape = problem.graph.nodes[static_cast<size_t>(result)].shape;
  Signature signature;
  KW_TRY_VOID(signature.add_input(problem, *matrix.input));
  KW_TRY_VOID(signature.add_input(problem, *vector.input));
  const std::string vectors = signature.vectors();
  Elements elements(problem, shape, "row", {}, signature);
  elements.know(result, "product");
  std::string stores;
  for (const problem::TensorDecl& output : problem.outputs) {
    if (output.shape != shape) return no_template(problem, fmt::format("output {} is not of the product's shape", output.name));
    KW_TRY_VOID(signature.add_output(problem, output));
    KW_TRY(const std::string value, elements.value_of(output.node));
    stores += fmt::format("    {}[row] = kw::from_float<{}>({});\n", output.name, type_of(output.dtype), value);
  }
  signature.add_axes(elements.axes());
  return fmt::format(R"(// {name}, a matrix times a vector: written from the problem's reference.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>
#include <kernelwright/reduce.cuh>

#include <cstdint>

namespace {{

constexpr int kWarps = 1;  // tune: 1 2 4 8
constexpr int kRows = 1;  // tune: 1 2 4 8
constexpr int kGroups = 4;  // tune: 1 2 4
constexpr int kVector = 1;  // tune:{vectors}
constexpr int kUnroll = 1;  // tune: 1 2 4 8
constexpr int kThreads = 32 * kWarps * kGroups;

// A group of kWarps warps takes kRows rows at once.
template <int V>
__global__ void __launch_bounds__(kThreads) gemv({parameters}int64_t rows, int64_t columns) {{
  const int warp = threadIdx.x / 32 % kWarps, group = threadIdx.x / (32 * kWarps), lane = threadIdx.x % (32 * kWarps);
  const int64_t first = (static_cast<int64_t>(blockIdx.x) * kGroups + group) * kRows;
  float sums[kRows] = {{}};
#pragma unroll kUnroll
  for (int64_t at = lane; at < columns / V; at += 32 * kWarps) {{
    const kw::Pack<{vector_type}, V> vector = reinterpret_cast<const kw::Pack<{vector_type}, V>*>({vector})[at];
#pragma unroll
    for (int each = 0; each < kRows; ++each) {{
      const int64_t row = first + each < rows ? first + each : rows - 1;   // beyond the last one it is read again and dropped
      const kw::Pack<{matrix_type}, V> matrix = reinterpret_cast<const kw::Pack<{matrix_type}, V>*>({matrix} + row * columns)[at];
#pragma unroll
      for (int nth = 0; nth < V; ++nth) sums[each] = fmaf(kw::to_float(matrix.at[nth]), kw::to_float(vector.at[nth]), sums[each]);
    }}
  }}
#pragma unroll
  for (int each = 0; each < kRows; ++each) sums[each] = kw::warp_reduce<kw::Sum>(sums[each]);
  if constexpr (kWarps > 1) {{
    __shared__ float partial[kGroups][kWarps][kRows];
#pragma unroll
    for (int each = 0; each < kRows; ++each)
      if (lane % 32 == each) partial[group][warp][each] = sums[each];
    __syncthreads();
#pragma unroll
    for (int each = 0; each < kRows; ++each) {{
      sums[each] = 0;
      for (int other = 0; other < kWarps; ++other) sums[each] += partial[group][other][each];
    }}
  }}
#pragma unroll
  for (int each = 0; each < kRows; ++each) {{
    const int64_t row = first + each;
    if (lane != each || row >= rows) continue;
    const float product = sums[each];
{statements}{stores}  }}
}}

}}  // namespace

KW_ENTRY({entry}cudaStream_t stream) {{
  const int64_t rows = {output}.size(), columns = {vector}.size();
  if (rows == 0) return;
  auto* kernel = columns % kVector == 0 ? &gemv<kVector> : &gemv<1>;
  const int64_t blocks = (rows + kGroups * kRows - 1) / (kGroups * kRows);
  kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>({arguments}rows, columns);
}}
)",
                     fmt::arg("name", problem.name), fmt::arg("vectors", vectors), fmt::arg("parameters", signature.parameters), fmt::arg("vector_type", type_of(vector.input->dtype)),
                     fmt::arg("vector", vector.input->name), fmt::arg("matrix_type", type_of(matrix.input->dtype)), fmt::arg("matrix", matrix.input->name),
                     fmt::arg("statements", elements.statements("    ")), fmt::arg("stores", stores), fmt::arg("entry", signature.entry), fmt::arg("output", problem.outputs.front().name),
                     fmt::arg("arguments", signature.arguments));
}

}  // namespace kw::agent
