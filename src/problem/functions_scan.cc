// Scans: what runs along an axis and keeps every step.

#include <limits>

#include "problem/function.h"

namespace kw::problem {
namespace {

template <Op op>
Result<NodeId> make_running(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const std::int64_t axis, call.axis(1, -1));
  KW_TRY(const bool reverse, call.flag("reverse"));
  return call.builder.along(op, x, axis, reverse);
}

Result<NodeId> make_scan(Call& call) {
  KW_TRY(const NodeId a, call.tensor(0));
  KW_TRY(const NodeId b, call.tensor(1));
  KW_TRY(const std::int64_t axis, call.axis(2, -1));
  KW_TRY(const auto initial, call.optional_tensor(3, "initial"));
  KW_TRY(const bool reverse, call.flag("reverse"));
  return call.builder.recurrence(a, b, initial, axis, reverse);
}

// The element before along the axis; the first stays.
Result<NodeId> delayed(Call& call, NodeId x, std::int64_t axis, bool reverse) {
  const Dim size = call.builder.node(x).shape[static_cast<std::size_t>(axis)];
  KW_TRY(const Dim last, Dim::subtract(size, Dim(1)));
  if (reverse) {
    KW_TRY(const NodeId end, call.builder.slice(x, axis, last, size, 1));
    KW_TRY(const NodeId rest, call.builder.slice(x, axis, Dim(1), size, 1));
    return call.builder.concat({rest, end}, axis);
  }
  KW_TRY(const NodeId start, call.builder.slice(x, axis, Dim(0), Dim(1), 1));
  KW_TRY(const NodeId rest, call.builder.slice(x, axis, Dim(0), last, 1));
  return call.builder.concat({start, rest}, axis);
}

// As online softmax runs: s = s exp(m' - m) + exp(x - m) with m the running maximum and m' the one before; s so far
// counts terms no greater than 1, of which one is 1. m is kept finite, so that infinities do not meet.
Result<NodeId> make_logcumsumexp(Call& call) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const std::int64_t given, call.axis(1, -1));
  KW_TRY(const std::int64_t axis, call.builder.axis_of(x, given));
  KW_TRY(const bool reverse, call.flag("reverse"));
  KW_TRY(const NodeId top, call.builder.along(Op::kCummax, x, axis, reverse));
  KW_TRY(const NodeId above, call.apply(Op::kMaximum, top, Number{-kLargest}));
  KW_TRY(const NodeId m, call.apply(Op::kMinimum, above, Number{kLargest}));
  KW_TRY(const NodeId before, delayed(call, m, axis, reverse));
  KW_TRY(const NodeId risen, call.apply(Op::kSubtract, before, m));
  KW_TRY(const NodeId factor, call.apply(Op::kExp, risen));
  KW_TRY(const NodeId low, call.apply(Op::kSubtract, x, m));
  KW_TRY(const NodeId term, call.apply(Op::kExp, low));
  KW_TRY(const NodeId sum, call.builder.recurrence(factor, term, std::nullopt, axis, reverse));
  KW_TRY(const NodeId log, call.apply(Op::kLog, sum));
  return call.apply(Op::kAdd, log, m);
}

constexpr std::string_view kRunning = "axis reverse";
constexpr Function kFunctions[] = {
    {"cumsum", "cumsum(x, axis=-1, reverse=false)", 1, 2, kRunning, make_running<Op::kCumsum>},
    {"cumprod", "cumprod(x, axis=-1, reverse=false)", 1, 2, kRunning, make_running<Op::kCumprod>},
    {"cummax", "cummax(x, axis=-1, reverse=false)", 1, 2, kRunning, make_running<Op::kCummax>},
    {"cummin", "cummin(x, axis=-1, reverse=false)", 1, 2, kRunning, make_running<Op::kCummin>},
    {"logcumsumexp", "logcumsumexp(x, axis=-1, reverse=false)", 1, 2, kRunning, make_logcumsumexp},
    {"scan", "scan(a, b, axis=-1, initial, reverse=false)", 2, 4, "axis initial reverse", make_scan},
};

}  // namespace

std::span<const Function> scan_functions() { return kFunctions; }

}  // namespace kw::problem
