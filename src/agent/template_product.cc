#include "agent/template_product.h"

#include "agent/template_elements.h"
#include "agent/template_operand.h"

namespace kw::agent {
namespace {

using problem::DType;
using problem::Node;
using problem::SymbolicShape;

class Writer {
 public:
  explicit Writer(const problem::Problem& problem) : problem_(problem) {}

  Result<std::string> write() {
    KW_TRY_VOID(has_names_free(problem_, {"rows", "columns", "depth", "batch", "batches", "tile", "tiles", "tiles_m", "tiles_n", "first", "height", "m0", "n0", "even", "store", "row", "column",
                                          "first_column", "product", "product_0", "product_1", "products", "nth", "to", "aligned", "kernel", "lead_left", "lead_right", "stream"}));
    const auto products = products_of(problem_);
    if (products.size() != 1) return no_template(problem_, "it has more than one product");
    const Node& node = problem_.graph.nodes[static_cast<size_t>(products[0])];
    KW_TRY(left_, operand_of(problem_, node.operands[0]));
    KW_TRY(right_, operand_of(problem_, node.operands[1]));
    if (left_.shape.size() < 2 || right_.shape.size() < 2) return no_template(problem_, "it multiplies a vector by a matrix's columns");
    for (const Operand& operand : {left_, right_}) KW_TRY_VOID(signature_.add_input(problem_, *operand.input));
    KW_TRY_VOID(write_matrix(left_, node.shape, "left", "rows", "depth", left_matrix_));
    KW_TRY_VOID(write_matrix(right_, node.shape, "right", "depth", "columns", right_matrix_));
    Elements elements(problem_, node.shape, "batch", {{"row", "rows"}, {"column", "columns"}}, signature_);
    elements.know(products[0], "product");
    for (const problem::TensorDecl& output : problem_.outputs) {
      if (output.shape != node.shape) return no_template(problem_, fmt::format("output {} is not of the product's shape", output.name));
      KW_TRY_VOID(signature_.add_output(problem_, output));
      KW_TRY(const std::string value, elements.value_of(output.node));
      const char* type = type_of(output.dtype);
      outs_ += fmt::format("    kw::Pack<{}, 2> out_{};\n", type, output.name);
      each_ += fmt::format("      out_{}.at[nth] = kw::from_float<{}>({});\n", output.name, type, value);
      pairs_ += fmt::format("      *reinterpret_cast<kw::Pack<{0}, 2>*>({1} + to) = out_{1};\n", type, output.name);
      singles_ += fmt::format("      {0}[to] = out_{0}.at[0];\n      if (first_column + 1 < columns) {0}[to + 1] = out_{0}.at[1];\n", output.name);
    }
    signature_.add_axes(elements.axes());
    return source(elements.statements("      "));
  }

 private:
  // An operand in device memory, as the tiles take it.
  Status write_matrix(const Operand& operand, const SymbolicShape& whole, const char* side, std::string rows, std::string columns, std::string& matrix) {
    const SymbolicShape& shape = operand.shape;
    const std::string lead_name = fmt::format("lead_{}", side), stride = fmt::format("{} * {}", rows, columns);
    const auto lead = lead_at(SymbolicShape(shape.begin(), shape.end() - 2), SymbolicShape(whole.begin(), whole.end() - 2), "batch", lead_name);
    if (!lead) return no_template(problem_, fmt::format("the leading axes of input {} are not the result's last ones", operand.input->name));
    if (lead->find('%') != std::string::npos) signature_.add_size(lead_name, fmt::format("{}.size() / {} / {}", operand.input->name, rows, columns));
    if (operand.transposed) std::swap(rows, columns);
    matrix = fmt::format("kw::Matrix<{}>{{{}{}, {}, {}, {}}}", type_of(operand.input->dtype), operand.input->name, lead->empty() ? "" : fmt::format(" + {} * {}", *lead, stride), rows, columns, columns);
    return {};
  }

  // 16-bit operands, or fp32 ones that may be kept as tf32.
  bool fits_tensor_cores() const {
    const DType type = left_.input->dtype;
    if (type != right_.input->dtype || left_.transposed) return false;
    return type != DType::kF32 || (left_.stored == DType::kTF32 && right_.stored == DType::kTF32 && right_.transposed);
  }

  std::string tunables_and_tile() const {
    const std::string layout = right_.transposed ? "kw::BLayout::kColumns" : "kw::BLayout::kRows";
    const std::string fma = fmt::format("kw::FmaTile<{}, {}, {}, {}, kM, kN, kK, kThreadM, kThreadN, kAligned>", type_of(left_.input->dtype), left_.transposed, type_of(right_.input->dtype), layout);
    if (!fits_tensor_cores())
      return fmt::format(R"(constexpr int kM = 64;  // tune: 32 64 128
constexpr int kN = 64;  // tune: 32 64 128
constexpr int kK = 8;  // tune: 8 16 32
constexpr int kThreadM = 4;  // tune: 4 8
constexpr int kThreadN = 4;  // tune: 4 8
constexpr int kGroup = 1;  // tune: 1 2 4 8 16

template <bool kAligned>
using Tile = {};
)", fma);
    return fmt::format(R"(constexpr bool kTensorCores = true;  // tune: false true
constexpr int kM = 64;  // tune: 32 64 128
constexpr int kN = 64;  // tune: 64 128 256
constexpr int kWarpsM = 2;  // tune: 1 2
constexpr int kWarpsN = 2;  // tune: 1 2 4
constexpr int kStages = 2;  // tune: 2 3 4 5
constexpr int kGroup = 1;  // tune: 1 2 4 8 16
constexpr int kK = 16, kThreadM = 8, kThreadN = 4;  // without tensor cores

template <bool kAligned>
using Tile = std::conditional_t<kTensorCores, kw::GemmTile<{}, {}, kM, kN, kM / kWarpsM, kN / kWarpsN, kStages, kAligned>,
                                {}>;
)", type_of(left_.input->dtype), layout, fma);
  }

  static std::string whole_chunks(const Operand& operand, const char* rows, const char* columns) {
    return fmt::format("{} % {} == 0", operand.transposed ? rows : columns, 128 / tensor::bits_of(operand.input->dtype));
  }

  std::string source(const std::string& statements) const {
    return fmt::format(R"(// {name}, a matrix product with its epilogue: written from the problem's reference.
#include <kernelwright/candidate.h>
#include <kernelwright/fma_tile.cuh>
#include <kernelwright/gemm_tile.cuh>
#include <kernelwright/pack.cuh>

#include <cstdint>
#include <type_traits>

namespace {{

{tile}
// Tiles follow each other down kGroup rows of tiles, then to the next column of them.
template <bool kAligned>
__global__ void __launch_bounds__(Tile<kAligned>::kThreads) product({parameters}int rows, int columns, int depth) {{
  const int tiles_m = (rows + kM - 1) / kM, tiles_n = (columns + kN - 1) / kN;
  const int64_t batch = blockIdx.x / (static_cast<int64_t>(tiles_m) * tiles_n);
  const int tile = static_cast<int>(blockIdx.x - batch * tiles_m * tiles_n);
  const int first = tile / (kGroup * tiles_n) * kGroup, height = min(kGroup, tiles_m - first);
  const int m0 = (first + tile % (kGroup * tiles_n) % height) * kM, n0 = tile % (kGroup * tiles_n) / height * kN;
  const bool even = columns % 2 == 0;
  const auto store = [&](int64_t row, int64_t first_column, float product_0, float product_1) {{
    const float products[2] = {{product_0, product_1}};
{outs}#pragma unroll
    for (int nth = 0; nth < 2; ++nth) {{
      const int64_t column = first_column + nth;
      if (column >= columns) break;
      const float product = products[nth];
{statements}{each}    }}
    const int64_t to = (batch * rows + row) * columns + first_column;
    if (even) {{
{pairs}    }} else {{
{singles}    }}
  }};
  Tile<kAligned>::multiply({left}, {right}, m0, n0, store);
}}

}}  // namespace

KW_ENTRY({entry}cudaStream_t stream) {{
  if ({output}.size() == 0) return;
  const int rows = static_cast<int>({output}.shape(-2)), columns = static_cast<int>({output}.shape(-1)), depth = static_cast<int>({left_name}.shape({depth}));
  const int64_t batches = {output}.size() / rows / columns, tiles = batches * ((rows + kM - 1) / kM) * ((columns + kN - 1) / kN);
  const bool aligned = {left_chunks} && {right_chunks};
  auto* kernel = aligned ? &product<true> : &product<false>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile<true>::kSharedBytes);
  kernel<<<static_cast<unsigned>(tiles), Tile<true>::kThreads, Tile<true>::kSharedBytes, stream>>>({arguments}rows, columns, depth);
}}
)",
                       fmt::arg("name", problem_.name), fmt::arg("tile", tunables_and_tile()), fmt::arg("parameters", signature_.parameters), fmt::arg("outs", outs_),
                       fmt::arg("statements", statements), fmt::arg("each", each_), fmt::arg("pairs", pairs_), fmt::arg("singles", singles_), fmt::arg("left", left_matrix_),
                       fmt::arg("right", right_matrix_), fmt::arg("entry", signature_.entry), fmt::arg("output", problem_.outputs.front().name), fmt::arg("left_name", left_.input->name),
                       fmt::arg("depth", left_.transposed ? -2 : -1), fmt::arg("left_chunks", whole_chunks(left_, "rows", "depth")),
                       fmt::arg("right_chunks", whole_chunks(right_, "depth", "columns")), fmt::arg("arguments", signature_.arguments));
  }

  const problem::Problem& problem_;
  Operand left_, right_;
  Signature signature_;
  std::string left_matrix_, right_matrix_;
  std::string outs_, each_, pairs_, singles_;
};

}  // namespace

Result<std::string> product_kernel(const problem::Problem& problem) { return Writer(problem).write(); }

}  // namespace kw::agent
