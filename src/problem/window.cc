#include "problem/window.h"

#include <algorithm>

namespace kw::problem {
namespace {

Status at_least(Op op, std::string_view what, const Dim& value, std::int64_t least) {
  if (!value.constant() || *value.constant() >= least) return {};
  return fail(ErrorCode::kInvalid, "{} with a {} of {}; it is at least {}", op_name(op), what, *value.constant(), least);
}

}  // namespace

Result<Dim> window_span(const Window& window) {
  KW_TRY(const Dim gaps, Dim::subtract(window.size, Dim(1)));
  KW_TRY(const Dim reach, Dim::multiply(gaps, window.dilation));
  return Dim::add(reach, Dim(1));
}

Result<Dim> window_count(const Dim& length, const Window& window) {
  KW_TRY(const Dim span, window_span(window));
  KW_TRY(const Dim before, Dim::add(length, window.before));
  KW_TRY(const Dim padded, Dim::add(before, window.after));
  KW_TRY(const Dim room, Dim::subtract(padded, span));
  KW_TRY(const Dim steps, Dim::floor_divide(room, window.step));
  return Dim::add(steps, Dim(1));
}

Result<Dim> scattered_size(const Dim& length, const Window& window) {
  KW_TRY(const Dim span, window_span(window));
  KW_TRY(const Dim gaps, Dim::subtract(length, Dim(1)));
  KW_TRY(const Dim reach, Dim::multiply(gaps, window.step));
  KW_TRY(const Dim whole, Dim::add(reach, span));
  KW_TRY(const Dim cut, Dim::multiply(window.before, Dim(2)));
  KW_TRY(const Dim inner, Dim::subtract(whole, cut));
  return Dim::add(inner, window.after);
}

Status check_window(Op op, const Dim& length, const Window& window) {
  KW_TRY_VOID(at_least(op, op == Op::kPad ? "before" : "padding", window.before, 0));
  KW_TRY_VOID(at_least(op, op == Op::kPad ? "after" : "padding", window.after, 0));
  if (op == Op::kPad) return {};
  KW_TRY_VOID(at_least(op, "size", window.size, 1));
  KW_TRY_VOID(at_least(op, "step", window.step, 1));
  KW_TRY_VOID(at_least(op, "dilation", window.dilation, 1));
  KW_TRY(const Dim span, window_span(window));
  const bool pool = op == Op::kMaxPool || op == Op::kAvgPool;
  if (pool && window.size.constant() && window.before.constant() &&
      *window.before.constant() > *window.size.constant() / 2)
    return fail(ErrorCode::kInvalid, "{} with a padding of {} and windows of {}; it is at most half of them", op_name(op),
                window.before.text(), window.size.text());
  if (op == Op::kConvTranspose) {
    const auto extra = window.after.constant(), step = window.step.constant(), dilation = window.dilation.constant();
    if (extra && step && dilation && *extra > 0 && *extra >= std::max(*step, *dilation))
      return fail(ErrorCode::kInvalid, "{} with an output_padding of {}; it is less than step or dilation", op_name(op),
                  *extra);
    KW_TRY(const Dim size, scattered_size(length, window));
    if (size.constant() && *size.constant() < 1)
      return fail(ErrorCode::kInvalid, "{} makes an axis of {} elements; constrain the axis or lessen the padding",
                  op_name(op), size.text());
    return {};
  }
  KW_TRY(const Dim before, Dim::add(length, window.before));
  KW_TRY(const Dim padded, Dim::add(before, window.after));
  if (padded.constant() && span.constant() && *padded.constant() < *span.constant())
    return fail(ErrorCode::kInvalid,
                "{}: a window spans {} and the axis has {} elements with its padding; constrain the axis so that "
                "one window fits",
                op_name(op), span.text(), padded.text());
  return {};
}

Result<std::vector<WindowNumbers>> window_numbers(const Node& node, const std::vector<std::int64_t>& shape,
                                                  const AxisValues& values) {
  std::vector<WindowNumbers> numbers;
  for (std::size_t i = 0; i < node.windows.size(); ++i) {
    const Window& window = node.windows[i];
    WindowNumbers made;
    KW_TRY(made.size, window.size.evaluate(values));
    KW_TRY(made.step, window.step.evaluate(values));
    KW_TRY(made.dilation, window.dilation.evaluate(values));
    KW_TRY(made.before, window.before.evaluate(values));
    KW_TRY(made.after, window.after.evaluate(values));
    const std::int64_t length = shape[static_cast<std::size_t>(node.axes[i])];
    KW_TRY_VOID(check_window(node.op, length, {made.size, made.step, made.dilation, made.before, made.after}));
    numbers.push_back(made);
  }
  return numbers;
}

}  // namespace kw::problem
