#include <cmath>
#include <cstring>

#include "problem/host_ops.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kTile = 32;
constexpr std::int64_t kPiece = 1 << 15;

}  // namespace

std::string Array::place_of(std::int64_t flat) const {
  tensor::Shape index = tensor::index_of(shape, flat);
  for (std::size_t axis = 0; axis < first.size(); ++axis) index[axis] += first[axis];
  return tensor::shape_text(index);
}

std::vector<std::int64_t> row_major_strides(const tensor::Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * std::max<std::int64_t>(shape[axis], 1);
  return strides;
}

std::vector<std::int64_t> broadcast_strides(const tensor::Shape& from, const tensor::Shape& to) {
  std::vector<std::int64_t> strides(to.size(), 0);
  const auto own = row_major_strides(from);
  const std::size_t shift = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis)
    if (from[axis] != 1) strides[shift + axis] = own[axis];
  return strides;
}

void copy_strided(const double* source, const tensor::Shape& shape, const std::vector<std::int64_t>& strides,
                  double* out, int threads) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  if (shape.empty()) {
    *out = *source;
    return;
  }
  const std::size_t last = shape.size() - 1;
  const std::int64_t inner = shape[last], step = strides[last];
  // A transpose reads along another axis than it writes: go tile by tile through both.
  std::size_t other = last;
  if (step > 1)
    for (std::size_t axis = 0; axis < last; ++axis)
      if (strides[axis] == 1 && shape[axis] > 1) other = axis;
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < last; ++axis)
    if (axis != other) rows *= shape[axis];
  const std::int64_t height = other == last ? 1 : shape[other];
  const auto out_strides = row_major_strides(shape);
  const std::int64_t row_size = inner * height;
  for_pieces(rows * ((height + kTile - 1) / kTile),
             std::max<std::int64_t>(1, kPiece / std::max<std::int64_t>(1, row_size)), threads,
             [&](std::int64_t begin, std::int64_t end) {
               const std::int64_t tiles = (height + kTile - 1) / kTile;
               for (std::int64_t unit = begin; unit < end; ++unit) {
                 std::int64_t rest = unit / tiles, from = 0, to = 0;
                 const std::int64_t h0 = unit % tiles * kTile, h1 = std::min(height, h0 + kTile);
                 for (std::size_t axis = last; axis-- > 0;) {
                   if (axis == other) continue;
                   from += rest % shape[axis] * strides[axis];
                   to += rest % shape[axis] * out_strides[axis];
                   rest /= shape[axis];
                 }
                 if (other == last) {
                   if (step == 1)
                     std::memcpy(out + to, source + from, static_cast<std::size_t>(inner) * sizeof(double));
                   else
                     for (std::int64_t i = 0; i < inner; ++i) out[to + i] = source[from + i * step];
                   continue;
                 }
                 for (std::int64_t i0 = 0; i0 < inner; i0 += kTile)
                   for (std::int64_t h = h0; h < h1; ++h) {
                     double* row = out + to + h * out_strides[other];
                     for (std::int64_t i = i0; i < std::min(inner, i0 + kTile); ++i)
                       row[i] = source[from + h + i * step];
                   }
               }
             });
}

void concat(const std::vector<Array>& parts, std::int64_t axis, double* out) {
  std::int64_t outer = 1, inner = 1, total = 0;
  const auto joined = static_cast<std::size_t>(axis);
  const tensor::Shape& shape = parts[0].shape;
  for (std::size_t i = 0; i < joined; ++i) outer *= shape[i];
  for (std::size_t i = joined + 1; i < shape.size(); ++i) inner *= shape[i];
  for (const Array& part : parts) total += part.shape[joined];
  std::int64_t before = 0;
  for (const Array& part : parts) {
    const std::int64_t run = part.shape[joined] * inner;
    for (std::int64_t o = 0; o < outer; ++o)
      std::copy_n(part.data + o * run, run, out + (o * total + before) * inner);
    before += part.shape[joined];
  }
}

void pad(const Array& a, double value, const std::vector<std::int64_t>& axes,
         const std::vector<WindowNumbers>& windows, double* out, const tensor::Shape& shape, int threads) {
  if (shape.empty()) {
    *out = *a.data;
    return;
  }
  const std::size_t last = shape.size() - 1;
  std::vector<std::int64_t> before(shape.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) before[static_cast<std::size_t>(axes[i])] = windows[i].before;
  const auto strides = row_major_strides(a.shape);
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < last; ++axis) rows *= shape[axis];
  const std::int64_t width = shape[last], kept = a.shape[last];
  for_pieces(rows, std::max<std::int64_t>(1, kPiece / std::max<std::int64_t>(1, width)), threads,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row) {
                 std::int64_t rest = row, from = 0;
                 bool inside = kept > 0;
                 for (std::size_t axis = last; axis-- > 0;) {
                   const std::int64_t at = rest % shape[axis] - before[axis];
                   rest /= shape[axis];
                   inside = inside && at >= 0 && at < a.shape[axis];
                   from += at * strides[axis];
                 }
                 double* to = out + row * width;
                 if (!inside) {
                   std::fill_n(to, width, value);
                   continue;
                 }
                 std::fill_n(to, before[last], value);
                 std::copy_n(a.data + from, kept, to + before[last]);
                 std::fill(to + before[last] + kept, to + width, value);
               }
             });
}

void flip(const Array& a, const std::vector<std::int64_t>& axes, double* out, int threads) {
  auto strides = row_major_strides(a.shape);
  const double* first = a.data;
  for (std::int64_t axis : axes) {
    const auto i = static_cast<std::size_t>(axis);
    if (a.shape[i] > 0) first += (a.shape[i] - 1) * strides[i];
    strides[i] = -strides[i];
  }
  copy_strided(first, a.shape, strides, out, threads);
}

void windows(const Array& a, const std::vector<std::int64_t>& axes, const std::vector<WindowNumbers>& windows,
             double* out, const tensor::Shape& shape, int threads) {
  auto strides = row_major_strides(a.shape);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    // What is larger than the axis moves nowhere: there is one element of it.
    strides.push_back(strides[axis] * std::min(windows[i].dilation, a.shape[axis]));
    strides[axis] *= std::min(windows[i].step, a.shape[axis]);
  }
  copy_strided(a.data, shape, strides, out, threads);
}

}  // namespace kw::problem
