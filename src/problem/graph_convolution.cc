// Convolutions as nodes.
#include "problem/graph_builder.h"
#include "problem/window.h"

namespace kw::problem {

Status GraphBuilder::check_convolution(Op op, NodeId x, NodeId w, const Dim& groups) const {
  const bool transposed = op == Op::kConvTranspose;
  const SymbolicShape& image = node(x).shape;
  const SymbolicShape& kernel = node(w).shape;
  if (node(x).kind == Kind::kBoolean || node(w).kind == Kind::kBoolean)
    return fail(ErrorCode::kInvalid, "{} of kinds {} and {}; cast conditions to f32 first", op_name(op),
                kind_name(node(x).kind), kind_name(node(w).kind));
  if (image.size() != kernel.size() || image.size() < 3 || image.size() > 5)
    return fail(ErrorCode::kInvalid,
                "{} of {} with {}: x is [batch, channels, sizes…] and w is {}, with one to three sizes", op_name(op),
                shape_text(image), shape_text(kernel),
                transposed ? "[channels, channels out // groups, sizes…]"
                           : "[channels out, channels // groups, sizes…]");
  if (groups.constant() && *groups.constant() < 1)
    return fail(ErrorCode::kInvalid, "{} with groups={}; it is at least 1", op_name(op), groups.text());
  // With // or % in play a constraint may make them equal: each workload is checked.
  const auto equal = [](const Dim& a, const Dim& b) { return a == b || a.has_quotient() || b.has_quotient(); };
  KW_TRY(const Dim shared, Dim::multiply(kernel[1], groups));
  KW_TRY(const Dim part, Dim::floor_divide(image[1], groups));
  const bool fits = transposed ? equal(image[1], kernel[0]) : equal(shared, image[1]) || part == kernel[1];
  if (!fits)
    return fail(ErrorCode::kInvalid,
                "{} of {} with {} and groups={}: axis {} of w must be {}, the channels of x{}, not {}", op_name(op),
                shape_text(image), shape_text(kernel), groups.text(),
                transposed ? 0 : 1, transposed ? image[1].text() : part.text(), transposed ? "" : " // groups",
                kernel[transposed ? 0 : 1].text());
  KW_TRY(const Dim rest, Dim::remainder(kernel[0], groups));
  if (rest.constant() && *rest.constant() != 0)
    return fail(ErrorCode::kInvalid, "{} with groups={}: axis 0 of w has {} channels, which groups do not divide",
                op_name(op), groups.text(), kernel[0].text());
  return {};
}

Result<NodeId> GraphBuilder::convolution(Op op, NodeId x, NodeId w, std::vector<Window> windows, Dim groups) {
  KW_TRY_VOID(check_convolution(op, x, w, groups));
  const bool transposed = op == Op::kConvTranspose;
  const SymbolicShape& image = node(x).shape;
  const SymbolicShape& kernel = node(w).shape;
  Node made;
  made.op = op;
  made.kind = node(x).kind == Kind::kInteger && node(w).kind == Kind::kInteger ? Kind::kInteger : Kind::kReal;
  made.operands = {x, w};
  made.shape = {image[0], kernel[0]};
  if (transposed) {
    KW_TRY(made.shape[1], Dim::multiply(kernel[1], groups));
  }
  for (std::size_t i = 0; i < windows.size(); ++i) {
    made.axes.push_back(static_cast<std::int64_t>(i + 2));
    Window& window = windows[i];
    window.size = kernel[i + 2];
    KW_TRY_VOID(check_window(op, image[i + 2], window));
    KW_TRY(Dim size, transposed ? scattered_size(image[i + 2], window) : window_count(image[i + 2], window));
    made.shape.push_back(std::move(size));
  }
  made.windows = std::move(windows);
  made.groups = std::move(groups);
  return add(std::move(made));
}

}  // namespace kw::problem
