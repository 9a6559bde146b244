// The arguments of one call of a problem file's function, taken by position or keyword; and the nodes that functions are
// composed of. Errors have no place when they are about the call as a whole. Internal to problem.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "problem/expression.h"

namespace kw::problem {

inline constexpr std::size_t kMostArguments = 4096;  // of a call: as many as there may be operators

struct Number {  // a constant operand; a bare number would be taken for a node
  double value;
};

class Call {
 public:
  Call(const std::vector<Argument>& arguments, GraphBuilder& builder, ExpressionParser& parser)
      : builder(builder), arguments_(arguments), parser_(parser) {}

  const Argument* find(std::size_t position, std::string_view keyword) const;
  std::size_t positional() const;
  Result<NodeId> tensor(std::size_t position);
  Result<Dim> size(std::size_t position);
  Result<SymbolicShape> shape(std::size_t position, std::string_view keyword = "shape");
  // One size for each of `count` axes: a list of as many, or one for all; `otherwise` when absent.
  Result<SymbolicShape> sizes(std::size_t position, std::string_view keyword, std::size_t count, const Dim& otherwise);
  // A number or a list of numbers; nothing when absent.
  Result<std::optional<std::vector<std::int64_t>>> axes(std::size_t position,
                                                        std::string_view keyword = "axis");
  Result<std::int64_t> axis(std::size_t position, std::int64_t otherwise);
  Result<bool> flag(std::string_view keyword, bool otherwise = false);
  Result<bool> keepdims() { return flag("keepdims"); }
  Result<NodeId> tensor_or(std::size_t position, std::string_view keyword, double otherwise);
  Result<std::string_view> word(std::string_view keyword, std::string_view otherwise);  // in quotes
  Result<std::optional<NodeId>> optional_tensor(std::size_t position, std::string_view keyword);

  // Compositions; every step may fail.
  Result<NodeId> apply(Op op, NodeId a, NodeId b) { return builder.binary(op, a, b); }
  Result<NodeId> apply(Op op, NodeId a, Number b) {
    KW_TRY(const NodeId right, builder.constant(b.value));
    return builder.binary(op, a, right);
  }
  Result<NodeId> apply(Op op, Number a, NodeId b) {
    KW_TRY(const NodeId left, builder.constant(a.value));
    return builder.binary(op, left, b);
  }
  Result<NodeId> apply(Op op, NodeId a) { return builder.unary(op, a); }
  Result<NodeId> clamp(NodeId x, NodeId low, NodeId high) {
    KW_TRY(const NodeId above, builder.binary(Op::kMaximum, x, low));
    return builder.binary(Op::kMinimum, above, high);
  }
  Result<NodeId> along(Op op, NodeId a, std::int64_t axis) {
    return builder.reduce(op, a, std::vector{axis}, true);
  }

  GraphBuilder& builder;

 private:
  const std::vector<Argument>& arguments_;
  ExpressionParser& parser_;
};

}  // namespace kw::problem
