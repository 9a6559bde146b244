// Nodes made of windows: padding, windows as axes, pooling.
#include <algorithm>

#include "problem/graph_builder.h"
#include "problem/window.h"

namespace kw::problem {

Result<NodeId> GraphBuilder::pad(NodeId a, NodeId value, std::vector<std::int64_t> axes, std::vector<Window> windows) {
  Node made;
  made.op = Op::kPad;
  made.operands = {a, value};
  const Kind kind = node(a).kind, filled = node(value).kind;
  if (!node(value).shape.empty())
    return fail(ErrorCode::kInvalid, "the value of pad has shape {}; it is one number", shape_text(node(value).shape));
  if ((kind == Kind::kBoolean) != (filled == Kind::kBoolean))
    return fail(ErrorCode::kInvalid, "pad fills a tensor of kind {} with a value of kind {}; {}", kind_name(kind),
                kind_name(filled),
                kind == Kind::kBoolean ? "a condition is filled with one, as in value=1 < 0" : "cast it");
  made.kind = kind == filled ? kind : Kind::kReal;
  made.shape = node(a).shape;
  KW_TRY(made.axes, distinct_axes(Op::kPad, a, std::move(axes)));
  for (std::size_t i = 0; i < windows.size(); ++i) {
    KW_TRY_VOID(check_window(Op::kPad, 0, windows[i]));
    Dim& size = made.shape[static_cast<std::size_t>(made.axes[i])];
    KW_TRY(size, Dim::add(size, windows[i].before));
    KW_TRY(size, Dim::add(size, windows[i].after));
  }
  made.windows = std::move(windows);
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::flip(NodeId a, std::vector<std::int64_t> axes) {
  Node made;
  made.op = Op::kFlip;
  made.kind = node(a).kind;
  made.shape = node(a).shape;
  made.operands = {a};
  KW_TRY(made.axes, distinct_axes(Op::kFlip, a, std::move(axes)));
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::windows(NodeId a, std::vector<std::int64_t> axes, std::vector<Window> windows) {
  Node made;
  made.op = Op::kWindows;
  made.kind = node(a).kind;
  made.shape = node(a).shape;
  made.operands = {a};
  KW_TRY(made.axes, distinct_axes(Op::kWindows, a, std::move(axes)));
  for (std::size_t i = 0; i < windows.size(); ++i) {
    Dim& size = made.shape[static_cast<std::size_t>(made.axes[i])];
    KW_TRY_VOID(check_window(Op::kWindows, size, windows[i]));
    KW_TRY(size, window_count(size, windows[i]));
  }
  for (const Window& window : windows) made.shape.push_back(window.size);
  made.windows = std::move(windows);
  return add(std::move(made));
}

Result<NodeId> GraphBuilder::pool(Op op, NodeId a, std::vector<Window> windows, bool ceil, bool count_padding) {
  Node made;
  made.op = op;
  made.kind = op == Op::kAvgPool ? Kind::kReal : node(a).kind;
  made.shape = node(a).shape;
  made.operands = {a};
  made.count_padding = count_padding;
  const std::size_t rank = made.shape.size(), count = windows.size();
  if (node(a).kind == Kind::kBoolean)
    return fail(ErrorCode::kInvalid, "{} of a boolean; cast(condition, f32) first, or any and all of windows(…)",
                op_name(op));
  if (count == 0 || count > 3 || count > rank)
    return fail(ErrorCode::kInvalid, "{} of {} over its last {} axes; give one to three sizes, for axes that are there",
                op_name(op), shape_text(made.shape), count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t axis = rank - count + i;
    made.axes.push_back(static_cast<std::int64_t>(axis));
    Window& window = windows[i];
    if (ceil) {
      // Up to step - 1 elements more, but the last window begins before the padding behind the axis.
      KW_TRY(const Dim span, window_span(window));
      KW_TRY(const Dim rounded, Dim::add(window.after, window.step));
      KW_TRY(const Dim most, Dim::subtract(span, Dim(1)));
      if (!rounded.constant() || !most.constant())
        return fail(ErrorCode::kInvalid,
                    "{} with ceil=true of a window that depends on axes; write its size, step, dilation and padding "
                    "as numbers",
                    op_name(op));
      window.after = std::max<std::int64_t>(0, std::min(*rounded.constant() - 1, *most.constant()));
    }
    KW_TRY_VOID(check_window(op, made.shape[axis], window));
    KW_TRY(made.shape[axis], window_count(made.shape[axis], window));
  }
  made.windows = std::move(windows);
  return add(std::move(made));
}

}  // namespace kw::problem
