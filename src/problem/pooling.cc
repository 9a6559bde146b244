#include <cmath>
#include <limits>

#include "problem/host_ops.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kPiece = 1 << 14;

struct Axis {
  std::int64_t length = 1, count = 1;  // of elements, of windows
  WindowNumbers window;
};

// The part of one window that lies on the axis.
struct Span {
  std::int64_t first, count;  // index of the first element; elements, `dilation` apart
  double counted;             // elements with padding, as a mean may count them
};

Span span_of(const Axis& axis, std::int64_t index) {
  const WindowNumbers& w = axis.window;
  const std::int64_t start = index * w.step - w.before;
  const std::int64_t skipped = start < 0 ? (w.dilation - 1 - start) / w.dilation : 0;
  const std::int64_t first = start + skipped * w.dilation;
  const std::int64_t room = first < axis.length ? (axis.length - first + w.dilation - 1) / w.dilation : 0;
  const std::int64_t padded_end = std::min(start + w.size, axis.length + w.before);
  return {first, std::min(std::max<std::int64_t>(0, w.size - skipped), room), static_cast<double>(padded_end - start)};
}

double largest(const double* x, const Axis* axes, const Span* spans) {
  double best = -std::numeric_limits<double>::infinity();
  bool nan = false;
  for (std::int64_t i = 0; i < spans[0].count; ++i)
    for (std::int64_t j = 0; j < spans[1].count; ++j) {
      const std::int64_t down = i * axes[0].window.dilation * axes[1].length + j * axes[1].window.dilation;
      const double* row = x + down * axes[2].length;
      for (std::int64_t k = 0; k < spans[2].count; ++k) {
        const double value = row[k * axes[2].window.dilation];
        nan |= value != value;
        best = value > best ? value : best;
      }
    }
  return nan ? std::numeric_limits<double>::quiet_NaN() : best;
}

// Rows first, then their sums: short chains of additions, as kernels make them.
template <typename T>
double sum(const double* x, const Axis* axes, const Span* spans, bool absolute) {
  T total = 0;
  for (std::int64_t i = 0; i < spans[0].count; ++i) {
    T plane = 0;
    for (std::int64_t j = 0; j < spans[1].count; ++j) {
      const double* row = x + (i * axes[1].length + j) * axes[2].length;
      T partial = 0;
      for (std::int64_t k = 0; k < spans[2].count; ++k)
        partial += static_cast<T>(absolute ? std::abs(row[k]) : row[k]);
      plane += partial;
    }
    total += plane;
  }
  return static_cast<double>(total);
}

}  // namespace

void pool(const Node& node, const Array& a, const std::vector<WindowNumbers>& windows, double* out,
          const tensor::Shape& shape, bool single, bool absolute, int threads) {
  Axis axes[3];  // the missing ones lead, with one element
  const std::size_t rank = shape.size(), count = windows.size();
  for (std::size_t i = 0; i < count; ++i)
    axes[3 - count + i] = {a.shape[rank - count + i], shape[rank - count + i], windows[i]};
  const std::int64_t plane = axes[0].length * axes[1].length * axes[2].length;
  std::int64_t outer = 1, work = 1;
  for (std::size_t i = 0; i < rank - count; ++i) outer *= shape[i];
  for (const Axis& axis : axes) work *= axis.window.size;
  const std::int64_t rows = outer * axes[0].count * axes[1].count;
  for_pieces(rows, std::max<std::int64_t>(1, kPiece / std::max<std::int64_t>(1, work * axes[2].count)), threads,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row) {
                 const std::int64_t j = row % axes[1].count, i = row / axes[1].count % axes[0].count;
                 const double* x = a.data + row / axes[1].count / axes[0].count * plane;
                 Span spans[3] = {span_of(axes[0], i), span_of(axes[1], j), {}};
                 for (std::int64_t k = 0; k < axes[2].count; ++k) {
                   spans[2] = span_of(axes[2], k);
                   const double* first =
                       x + (spans[0].first * axes[1].length + spans[1].first) * axes[2].length + spans[2].first;
                   double& result = out[row * axes[2].count + k];
                   if (node.op == Op::kMaxPool) {
                     result = largest(first, axes, spans);
                     continue;
                   }
                   double terms = 1;
                   for (const Span& span : spans)
                     terms *= node.count_padding ? span.counted : static_cast<double>(span.count);
                   const auto summed = single ? sum<float> : sum<double>;
                   result = summed(first, axes, spans, absolute) / terms;
                 }
               }
             });
}

}  // namespace kw::problem
