// Makes graph nodes: infers the shape and kind of each and refuses what has none. Errors carry no place (the
// parser adds it) but say what the operands were and what to write instead. One thread at a time.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "problem/graph.h"

namespace kw::problem {

inline constexpr std::size_t kMostNodes = 4096;
inline constexpr std::size_t kMostAxes = 8;  // the rank of a tensor
inline constexpr std::string_view kUseCast = "use where(condition, 1, 0) or cast(condition, f32) first";

class GraphBuilder {
 public:
  explicit GraphBuilder(Graph& graph) : graph_(graph) {}
  void set_span(Span span) { span_ = std::move(span); }
  const Span& span() const { return span_; }
  const Node& node(NodeId id) const { return graph_.nodes[static_cast<std::size_t>(id)]; }
  NodeId next() const { return static_cast<NodeId>(graph_.nodes.size()); }
  // The nodes made since `first` are steps of one function whose value is `result`.
  void mark_function(NodeId first, NodeId result);

  Result<NodeId> input(std::int32_t index, DType dtype, SymbolicShape shape);
  Result<NodeId> constant(double value);
  Result<NodeId> size(const Dim& value);
  Result<NodeId> arange(const Dim& start, const Dim& stop);
  Result<NodeId> unary(Op op, NodeId a);
  Result<NodeId> binary(Op op, NodeId a, NodeId b);
  Result<NodeId> where(NodeId condition, NodeId a, NodeId b);
  // No rounding: to nearest even, of integers toward zero. With `words`, by chance.
  Result<NodeId> cast(NodeId a, DType dtype, std::optional<tensor::Rounding> rounding = std::nullopt,
                      bool saturate = false, std::optional<NodeId> words = std::nullopt);
  Result<NodeId> store(NodeId a, DType dtype);
  // No axes: all of them. Axes may be negative.
  Result<NodeId> reduce(Op op, NodeId a, std::optional<std::vector<std::int64_t>> axes, bool keepdims);
  Result<NodeId> matmul(NodeId a, NodeId b);
  Result<NodeId> transpose(NodeId a, std::vector<std::int64_t> permutation);
  Result<NodeId> swap_last_two(NodeId a);
  Result<NodeId> reshape(NodeId a, SymbolicShape shape);
  Result<NodeId> broadcast(NodeId a, SymbolicShape shape);
  Result<NodeId> slice(NodeId a, std::int64_t axis, Dim start, Dim stop, std::int64_t step);
  Result<NodeId> concat(const std::vector<NodeId>& parts, std::int64_t axis);
  // Index tensor into `axis`: shape before the axis, then the index's shape, then the rest.
  Result<NodeId> take(NodeId a, NodeId index, std::int64_t axis);

  // graph_window.cc. One window for each axis; window.h says what is asked of them.
  Result<NodeId> pad(NodeId a, NodeId value, std::vector<std::int64_t> axes, std::vector<Window> windows);
  Result<NodeId> flip(NodeId a, std::vector<std::int64_t> axes);
  Result<NodeId> windows(NodeId a, std::vector<std::int64_t> axes, std::vector<Window> windows);
  // Over the last axes. `ceil`: a last window that begins within the axis or the padding before it may end outside.
  Result<NodeId> pool(Op op, NodeId a, std::vector<Window> windows, bool ceil, bool count_padding);
  // graph_convolution.cc: x [batch, channels, sizes…]. The sizes of the windows are those of w.
  Result<NodeId> convolution(Op op, NodeId x, NodeId w, std::vector<Window> windows, Dim groups);
  // A value of a function of section python. Equal calls share their operands, equal values their node.
  Result<NodeId> python(std::int32_t function, std::vector<NodeId> operands, std::int32_t output, Kind kind,
                        SymbolicShape shape);
  const PythonSection& python_section() const { return graph_.python; }

  // graph_indexing.cc. The index of gather and scatter has as many axes as `a`; off the axis the sizes agree.
  Result<NodeId> gather(NodeId a, NodeId index, std::int64_t axis);
  Result<NodeId> scatter(Op op, NodeId a, NodeId index, NodeId updates, std::int64_t axis);
  // Scans of one operand and sorts; reverse: from the end, descending.
  Result<NodeId> along(Op op, NodeId a, std::int64_t axis, bool reverse);
  // h = a h + b along the axis; the initial state has no such axis.
  Result<NodeId> recurrence(NodeId a, NodeId b, std::optional<NodeId> initial, std::int64_t axis, bool reverse);
  Result<NodeId> philox(NodeId seed, NodeId subsequence, NodeId offset);
  Result<NodeId> philox_blocks(NodeId counter, NodeId key);
  Result<NodeId> uniform(NodeId words);

  Result<std::int64_t> axis_of(NodeId a, std::int64_t axis) const;  // not negative, in range

 private:
  Result<NodeId> add(Node node);
  Result<std::vector<std::int64_t>> distinct_axes(Op op, NodeId a, std::vector<std::int64_t> axes) const;
  Status check_convolution(Op op, NodeId x, NodeId w, const Dim& groups) const;
  Result<SymbolicShape> broadcast_shape(const SymbolicShape& a, const SymbolicShape& b,
                                        std::string_view what) const;
  Status check_index(Op op, NodeId index) const;          // integer
  Result<NodeId> grown(NodeId a, SymbolicShape shape);  // broadcast, where it is not that shape already

  Graph& graph_;
  Span span_;
};

}  // namespace kw::problem
