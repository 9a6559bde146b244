// Random numbers as cuRAND and PyTorch count them: functions of a seed, a subsequence and an offset.

#include <numbers>

#include "problem/function.h"

namespace kw::problem {
namespace {

Result<NodeId> make_philox(Call& call) {
  KW_TRY(const NodeId seed, call.tensor(0));
  KW_TRY(const NodeId subsequence, call.tensor(1));
  KW_TRY(const NodeId offset, call.tensor(2));
  return call.builder.philox(seed, subsequence, offset);
}

Result<NodeId> make_philox_blocks(Call& call) {
  KW_TRY(const NodeId counter, call.tensor(0));
  KW_TRY(const NodeId key, call.tensor(1));
  return call.builder.philox_blocks(counter, key);
}

Result<NodeId> make_uniform(Call& call) {
  KW_TRY(const NodeId words, call.tensor(0));
  return call.builder.uniform(words);
}

Result<NodeId> make_torch_uniform(Call& call) {  // 1 becomes 0
  KW_TRY(const NodeId u, make_uniform(call));
  KW_TRY(const NodeId one, call.builder.constant(1));
  KW_TRY(const NodeId top, call.apply(Op::kEqual, u, one));
  KW_TRY(const NodeId zero, call.builder.constant(0));
  return call.builder.where(top, zero, u);
}

// Of neighbours (x, y): sqrt(-2 log u) sin(2 pi v), then the same with cos; u = uniform(x), v = uniform(y).
Result<NodeId> make_normal(Call& call) {
  KW_TRY(const NodeId words, call.tensor(0));
  const SymbolicShape shape = call.builder.node(words).shape;
  const auto size = shape.empty() ? std::nullopt : shape.back().constant();
  if (!size || *size % 2 != 0)
    return fail(ErrorCode::kInvalid,
                "curand_normal of {}; it takes words in pairs: a last axis of even size, such as philox's 4",
                shape_text(shape));
  SymbolicShape pairs = shape;
  pairs.back() = Dim(*size / 2);
  pairs.emplace_back(2);
  const auto axis = static_cast<std::int64_t>(shape.size());
  KW_TRY(const NodeId whole, call.builder.uniform(words));
  KW_TRY(const NodeId split, call.builder.reshape(whole, pairs));
  KW_TRY(const NodeId u, call.builder.slice(split, axis, Dim(0), Dim(1), 1));
  KW_TRY(const NodeId v, call.builder.slice(split, axis, Dim(1), Dim(2), 1));
  KW_TRY(const NodeId log, call.apply(Op::kLog, u));
  KW_TRY(const NodeId square, call.apply(Op::kMultiply, log, Number{-2}));
  KW_TRY(const NodeId radius, call.apply(Op::kSqrt, square));
  KW_TRY(const NodeId angle, call.apply(Op::kMultiply, v, Number{2 * std::numbers::pi}));
  KW_TRY(const NodeId sin, call.apply(Op::kSin, angle));
  KW_TRY(const NodeId cos, call.apply(Op::kCos, angle));
  KW_TRY(const NodeId first, call.apply(Op::kMultiply, radius, sin));
  KW_TRY(const NodeId second, call.apply(Op::kMultiply, radius, cos));
  KW_TRY(const NodeId both, call.builder.concat({first, second}, axis));
  return call.builder.reshape(both, shape);
}

constexpr Function kFunctions[] = {
    {"philox", "philox(seed, subsequence, offset)", 3, 3, "", make_philox},
    {"philox4x32", "philox4x32(counter, key)", 2, 2, "", make_philox_blocks},
    {"curand_uniform", "curand_uniform(words)", 1, 1, "", make_uniform},
    {"torch_uniform", "torch_uniform(words)", 1, 1, "", make_torch_uniform},
    {"curand_normal", "curand_normal(words)", 1, 1, "", make_normal},
};

}  // namespace

std::span<const Function> random_functions() { return kFunctions; }

}  // namespace kw::problem
