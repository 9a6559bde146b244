// Functions of windows that slide along axes: padding, windows as axes, pooling, convolutions.

#include "problem/function.h"

namespace kw::problem {
namespace {

Result<std::vector<std::int64_t>> named_axes(Call& call, std::string_view function) {
  KW_TRY(const auto given, call.axes(1));
  auto axes = given.value_or(std::vector<std::int64_t>());
  if (axes.empty()) return fail(ErrorCode::kInvalid, "{} needs its axes, as in axis=-1 or axis=[2, 3]", function);
  return axes;
}

Result<NodeId> make_pad(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(auto axes, named_axes(call, "pad"));
  KW_TRY(const auto before, call.sizes(2, "before", axes.size(), 0));
  KW_TRY(const auto after, call.sizes(3, "after", axes.size(), 0));
  const bool given = call.find(4, "value") != nullptr;
  KW_TRY(const NodeId value, given ? call.tensor_or(4, "value", 0) : call.builder.size(0));
  std::vector<Window> windows(axes.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    windows[i].before = before[i];
    windows[i].after = after[i];
  }
  return call.builder.pad(x, value, std::move(axes), std::move(windows));
}

Result<NodeId> make_flip(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(auto axes, named_axes(call, "flip"));
  return call.builder.flip(x, std::move(axes));
}

Result<NodeId> make_windows(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(auto axes, named_axes(call, "windows"));
  if (call.find(2, "size") == nullptr)
    return fail(ErrorCode::kInvalid, "windows needs a size for each axis, as in size=3 or size=[3, 3]");
  KW_TRY(const auto size, call.sizes(2, "size", axes.size(), 1));
  KW_TRY(const auto step, call.sizes(3, "step", axes.size(), 1));
  KW_TRY(const auto dilation, call.sizes(4, "dilation", axes.size(), 1));
  std::vector<Window> windows;
  for (std::size_t i = 0; i < axes.size(); ++i) windows.push_back({size[i], step[i], dilation[i], 0, 0});
  return call.builder.windows(x, std::move(axes), std::move(windows));
}

template <Op op>
Result<NodeId> make_pool(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  const Argument* given = call.find(1, "size");
  if (given == nullptr || !given->list)
    return fail(ErrorCode::kInvalid, "{} needs the size of its windows as a list, one for each of the last axes, as in "
                "size=[3, 3]", op_name(op));
  KW_TRY(const auto size, call.shape(1, "size"));
  const std::size_t count = size.size();
  KW_TRY(auto step, call.sizes(2, "step", count, 1));
  if (call.find(2, "step") == nullptr) step = size;
  KW_TRY(const auto padding, call.sizes(3, "padding", count, 0));
  KW_TRY(const auto dilation, call.sizes(4, "dilation", count, 1));
  KW_TRY(const bool ceil, call.flag("ceil", false));
  KW_TRY(const bool count_padding, call.flag("count_padding", true));
  std::vector<Window> windows;
  for (std::size_t i = 0; i < count; ++i) windows.push_back({size[i], step[i], dilation[i], padding[i], padding[i]});
  return call.builder.pool(op, x, std::move(windows), ceil, count_padding);
}

template <Op op>
Result<NodeId> make_convolution(Call& call) {
  KW_TRY(const NodeId x, call.tensor(0));
  KW_TRY(const NodeId w, call.tensor(1));
  const std::size_t rank = call.builder.node(x).shape.size(), count = rank > 2 ? rank - 2 : 0;
  if (count == 0) return call.builder.convolution(op, x, w, {}, 1);  // says what is asked of x
  KW_TRY(const auto step, call.sizes(2, "step", count, 1));
  KW_TRY(const auto padding, call.sizes(3, "padding", count, 0));
  KW_TRY(const auto dilation, call.sizes(4, "dilation", count, 1));
  KW_TRY(const auto groups, call.sizes(5, "groups", 1, 1));
  KW_TRY(const auto extra, call.sizes(6, "output_padding", count, 0));
  std::vector<Window> windows;
  for (std::size_t i = 0; i < count; ++i)
    windows.push_back({1, step[i], dilation[i], padding[i], op == Op::kConvTranspose ? extra[i] : padding[i]});
  return call.builder.convolution(op, x, w, std::move(windows), groups[0]);
}

constexpr Function kFunctions[] = {
    {"pad", "pad(x, axis, before=0, after=0, value=0)", 1, 5, "axis before after value", make_pad},
    {"flip", "flip(x, axis)", 1, 2, "axis", make_flip},
    {"windows", "windows(x, axis, size, step=1, dilation=1)", 1, 5, "axis size step dilation", make_windows},
    {"max_pool", "max_pool(x, [sizes], step=size, padding=0, dilation=1, ceil=false)", 1, 5,
     "size step padding dilation ceil", make_pool<Op::kMaxPool>},
    {"avg_pool", "avg_pool(x, [sizes], step=size, padding=0, ceil=false, count_padding=true)", 1, 4,
     "size step padding ceil count_padding", make_pool<Op::kAvgPool>},
    {"conv", "conv(x, w, step=1, padding=0, dilation=1, groups=1)", 2, 6, "step padding dilation groups",
     make_convolution<Op::kConv>},
    {"conv_transpose", "conv_transpose(x, w, step=1, padding=0, dilation=1, groups=1, output_padding=0)", 2, 7,
     "step padding dilation groups output_padding", make_convolution<Op::kConvTranspose>},
};

}  // namespace

std::span<const Function> window_functions() { return kFunctions; }

}  // namespace kw::problem
