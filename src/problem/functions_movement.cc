// Functions that move elements.

#include "problem/function.h"

namespace kw::problem {
namespace {

Result<NodeId> make_transpose(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  return call.builder.swap_last_two(x);
}

Result<NodeId> make_permute(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const auto order, call.axes(1, "axes"));
  return call.builder.transpose(x, order.value_or(std::vector<std::int64_t>()));
}

Result<NodeId> make_reshape(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(SymbolicShape shape, call.shape(1));
  return call.builder.reshape(x, std::move(shape));
}

Result<NodeId> make_broadcast(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(SymbolicShape shape, call.shape(1));
  return call.builder.broadcast(x, std::move(shape));
}

Result<NodeId> make_concat(Call& call) {
  std::vector<NodeId> parts;
  for (std::size_t i = 0; i < call.positional(); ++i) {
    KW_TRY(const NodeId part, call.tensor(i));
    parts.push_back(part);
  }
  KW_TRY(const std::int64_t axis, call.axis(call.positional(), -1));
  return call.builder.concat(parts, axis);
}

Result<NodeId> make_take(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId index, call.tensor(1));
  KW_TRY(const std::int64_t axis, call.axis(2, 0));
  return call.builder.take(x, index, axis);
}

Result<NodeId> make_arange(Call& call) {
  KW_TRY(const Dim first, call.size(0));
  if (call.positional() == 1) return call.builder.arange(Dim(0), first);
  KW_TRY(const Dim last, call.size(1));
  return call.builder.arange(first, last);
}

constexpr Function kFunctions[] = {
    {"transpose", "transpose(x)", 1, 1, "", make_transpose},
    {"permute", "permute(x, [axes])", 1, 2, "axes", make_permute},
    {"reshape", "reshape(x, [sizes])", 1, 2, "shape", make_reshape},
    {"broadcast", "broadcast(x, [sizes])", 1, 2, "shape", make_broadcast},
    {"concat", "concat(a, b, …, axis=-1)", 1, kMostArguments, "axis", make_concat},
    {"take", "take(x, index, axis=0)", 2, 3, "axis", make_take},
    {"arange", "arange(start, stop)", 1, 2, "", make_arange},
};

}  // namespace

std::span<const Function> movement_functions() { return kFunctions; }

}  // namespace kw::problem
