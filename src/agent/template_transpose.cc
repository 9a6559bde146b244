#include "agent/template_transpose.h"

#include <algorithm>

#include "agent/template_elements.h"

namespace kw::agent {
namespace {

using problem::Node;
using problem::NodeId;
using problem::Op;

// Neighbouring axes of the input that stay neighbours are one.
struct Group {
  int64_t first = 0, count = 0;   // of the input's axes
  std::string size, at;           // names
  std::vector<size_t> behind, behind_out;   // groups that lie further inside: in the input, in the output
};

class Writer {
 public:
  explicit Writer(const problem::Problem& problem) : problem_(problem), nodes_(problem.graph.nodes) {}

  Result<std::string> write() {
    KW_TRY_VOID(has_names_free(problem_, {"tile", "block", "slot", "i", "j", "i0", "j0", "nth", "element", "elements", "from", "to", "kernel", "whole", "blocks", "pack", "stream"}));
    KW_TRY_VOID(find_transposition());
    KW_TRY_VOID(find_input());
    group_axes();
    if (groups_.back().behind_out.empty()) return no_template(problem_, "its transposition leaves the last axis in its place");
    return source();
  }

 private:
  Status find_transposition() {
    const std::vector<bool> needed = needed_nodes(problem_);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!needed[i] || nodes_[i].op != Op::kTranspose) continue;
      if (moved_ >= 0) return no_template(problem_, "it transposes more than once");
      moved_ = static_cast<NodeId>(i);
    }
    for (const problem::TensorDecl& output : problem_.outputs)
      if (output.shape != moved().shape) return no_template(problem_, fmt::format("output {} is not of the permuted shape", output.name));
    return {};
  }

  const Node& moved() const { return nodes_[static_cast<size_t>(moved_)]; }

  // The one of the shape that is permuted; all others before the transposition are of one element, which lies anywhere.
  Status find_input() {
    const NodeId source = moved().operands[0];
    std::vector<bool> before(static_cast<size_t>(source) + 1, false);
    before.back() = true;
    for (size_t i = before.size(); i-- > 0;) {
      if (!before[i]) continue;
      const Node& node = nodes_[i];
      for (const NodeId operand : node.operands) before[static_cast<size_t>(operand)] = true;
      if (node.op != Op::kInput || all_one(node.shape)) continue;
      if (input_ >= 0) return no_template(problem_, "it permutes what is computed of several inputs");
      if (node.shape != nodes_[static_cast<size_t>(source)].shape) return no_template(problem_, fmt::format("what is permuted needs input {}, which is neither of its shape nor one element", problem_.inputs[static_cast<size_t>(node.input)].name));
      input_ = static_cast<NodeId>(i);
    }
    if (input_ < 0) return no_template(problem_, "it permutes no input");
    return {};
  }

  void group_axes() {
    const std::vector<int64_t>& axes = moved().axes;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (i > 0 && axes[i] == axes[i - 1] + 1) ++groups_.back().count;
      else groups_.push_back({axes[i], 1, "", "", {}, {}});
    }
    const std::vector<Group> out = groups_;
    std::sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) { return a.first < b.first; });
    for (size_t g = 0; g < groups_.size(); ++g) {
      groups_[g].size = fmt::format("size_{}", g);
      groups_[g].at = fmt::format("at_{}", g);
      for (size_t other = g + 1; other < groups_.size(); ++other) groups_[g].behind.push_back(other);
      const auto place = [&](size_t of) { return std::find_if(out.begin(), out.end(), [&](const Group& each) { return each.first == groups_[of].first; }) - out.begin(); };
      for (size_t other = 0; other < groups_.size(); ++other)
        if (place(other) > place(g)) groups_[g].behind_out.push_back(other);
      if (groups_[g].behind_out.empty()) last_ = g;
    }
  }

  static std::string times(const std::string& at, const std::vector<size_t>& groups) {
    std::string out = at;
    for (const size_t group : groups) out += fmt::format(" * size_{}", group);
    return out;
  }

  // Where the block's tiles begin, without the two axes of the tile.
  std::string offset(bool out) const {
    std::string sum;
    for (size_t g = 0; g + 1 < groups_.size(); ++g)
      if (g != last_) sum += (sum.empty() ? "" : " + ") + times(groups_[g].at, out ? groups_[g].behind_out : groups_[g].behind);
    return sum.empty() ? "0" : sum;
  }

  Result<std::string> source() {
    const problem::TensorDecl& input = problem_.inputs[static_cast<size_t>(nodes_[static_cast<size_t>(input_)].input)];
    Signature signature;
    KW_TRY_VOID(signature.add_input(problem_, input));
    Elements elements(problem_, moved().shape, "element", {}, signature);
    elements.know(input_, "in_" + input.name);
    KW_TRY(std::string element, elements.value_of(moved().operands[0]));
    elements.know(moved_, std::move(element));
    std::string outs, each, stores;
    for (const problem::TensorDecl& output : problem_.outputs) {
      KW_TRY_VOID(signature.add_output(problem_, output));
      KW_TRY(const std::string value, elements.value_of(output.node));
      const char* type = type_of(output.dtype);
      outs += fmt::format("    kw::Pack<{}, V> out_{};\n", type, output.name);
      each += fmt::format("      out_{}.at[nth] = kw::from_float<{}>({});\n", output.name, type, value);
      stores += fmt::format("    *reinterpret_cast<kw::Pack<{0}, V>*>({1} + to) = out_{1};\n", type, output.name);
    }
    signature.add_axes(elements.axes());
    const size_t fast = groups_.size() - 1;
    std::string coordinates, sizes, blocks;
    for (size_t g = 0; g < groups_.size(); ++g) {
      std::string size = fmt::format("{}.shape({})", input.name, groups_[g].first);
      for (int64_t axis = groups_[g].first + 1; axis < groups_[g].first + groups_[g].count; ++axis) size += fmt::format(" * {}.shape({})", input.name, axis);
      sizes += fmt::format("  const int64_t size_{} = {};\n", g, size);
      signature.add_size(groups_[g].size, groups_[g].size);
      if (g == fast || g == last_) continue;
      coordinates += fmt::format("  const int64_t at_{0} = block % size_{0};\n  block /= size_{0};\n", g);
      blocks += fmt::format(" * size_{}", g);
    }
    const auto without_comma = [](std::string list) { return list.substr(0, list.size() - 2); };
    return fmt::format(R"(// {name}, axes permuted through shared memory: written from the problem's reference.
#include <kernelwright/candidate.h>
#include <kernelwright/pack.cuh>

#include <cstdint>

namespace {{

constexpr int kTile = 32;  // tune: 16 32 64
constexpr int kThreads = 256;  // tune: 64 128 256 512
constexpr int kVector = 1;  // tune:{vectors}
constexpr int kPadding = 1;  // tune: 0 1 2 4 8

// In the input i runs along the axis that lies side by side, in the output j does.
template <int V>
__global__ void __launch_bounds__(kThreads) transpose({parameters}) {{
  __shared__ {type} tile[kTile][kTile + kPadding];
  int64_t block = blockIdx.x;
  const int64_t i0 = block % ((size_{fast} + kTile - 1) / kTile) * kTile;
  block /= (size_{fast} + kTile - 1) / kTile;
  const int64_t j0 = block % ((size_{last} + kTile - 1) / kTile) * kTile;
  block /= (size_{last} + kTile - 1) / kTile;
{coordinates}#pragma unroll
  for (int slot = threadIdx.x; slot < kTile * kTile / V; slot += kThreads) {{
    const int j = slot / (kTile / V), i = slot % (kTile / V) * V;
    if (j0 + j >= size_{last} || i0 + i >= size_{fast}) continue;
    const int64_t from = {offset_in} + {stride_in} + i0 + i;
    const kw::Pack<{type}, V> pack = *reinterpret_cast<const kw::Pack<{type}, V>*>({input} + from);
#pragma unroll
    for (int nth = 0; nth < V; ++nth) tile[j][i + nth] = pack.at[nth];
  }}
  __syncthreads();
#pragma unroll
  for (int slot = threadIdx.x; slot < kTile * kTile / V; slot += kThreads) {{
    const int i = slot / (kTile / V), j = slot % (kTile / V) * V;
    if (j0 + j >= size_{last} || i0 + i >= size_{fast}) continue;
    const int64_t to = {offset_out} + {stride_out} + j0 + j;
{outs}#pragma unroll
    for (int nth = 0; nth < V; ++nth) {{
      const float in_{input} = kw::to_float(tile[j + nth][i]);
{element}{statements}{each}    }}
{stores}  }}
}}

}}  // namespace

KW_ENTRY({entry}cudaStream_t stream) {{
{sizes}  if ({input}.size() == 0) return;
  const int64_t blocks = (size_{fast} + kTile - 1) / kTile * ((size_{last} + kTile - 1) / kTile){blocks};
  const bool whole = size_{fast} % kVector == 0 && size_{last} % kVector == 0;
  auto* kernel = whole ? &transpose<kVector> : &transpose<1>;
  kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>({arguments});
}}
)",
                       fmt::arg("name", problem_.name), fmt::arg("vectors", signature.vectors()), fmt::arg("parameters", without_comma(signature.parameters)), fmt::arg("type", type_of(input.dtype)),
                       fmt::arg("fast", fast), fmt::arg("last", last_), fmt::arg("coordinates", coordinates), fmt::arg("offset_in", offset(false)), fmt::arg("offset_out", offset(true)),
                       fmt::arg("stride_in", times("(j0 + j)", groups_[last_].behind)), fmt::arg("stride_out", times("(i0 + i)", groups_[fast].behind_out)), fmt::arg("input", input.name),
                       fmt::arg("outs", outs), fmt::arg("element", elements.statements("").find("element") == std::string::npos ? "" : "      const int64_t element = to + nth;\n"),
                       fmt::arg("statements", elements.statements("      ")), fmt::arg("each", each), fmt::arg("stores", stores), fmt::arg("entry", signature.entry), fmt::arg("sizes", sizes),
                       fmt::arg("blocks", blocks), fmt::arg("arguments", without_comma(signature.arguments)));
  }

  const problem::Problem& problem_;
  const std::vector<Node>& nodes_;
  NodeId moved_ = -1, input_ = -1;
  std::vector<Group> groups_;   // in the order of the input
  size_t last_ = 0;             // the group that is the last of the output
};

}  // namespace

Result<std::string> transpose_kernel(const problem::Problem& problem) { return Writer(problem).write(); }

}  // namespace kw::agent
