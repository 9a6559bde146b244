#include <cmath>
#include <limits>

#include "base/check.h"
#include "problem/lines.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kBlock = 1024;  // fp64 sums: rows or elements per partial sum
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// fp32 kernels add in runs: a thread's own elements, then the threads' sums.
std::int64_t block_of(std::int64_t length, bool single) {
  return single ? std::max<std::int64_t>(
                      32, static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(length)))))
                : kBlock;
}

double sum_run(const double* x, std::int64_t count, bool absolute) {
  double lanes[8] = {};
  std::int64_t i = 0;
  if (absolute) {
    for (; i + 8 <= count; i += 8)
      for (int k = 0; k < 8; ++k) lanes[k] += std::abs(x[i + k]);
    for (; i < count; ++i) lanes[i % 8] += std::abs(x[i]);
  } else {
    for (; i + 8 <= count; i += 8)
      for (int k = 0; k < 8; ++k) lanes[k] += x[i + k];
    for (; i < count; ++i) lanes[i % 8] += x[i];
  }
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

double sum_single(const double* x, std::int64_t length, std::int64_t block) {
  float total = 0;
  for (std::int64_t begin = 0; begin < length; begin += block) {
    float partial = 0;
    for (std::int64_t i = begin; i < std::min(length, begin + block); ++i)
      partial += static_cast<float>(x[i]);
    total += partial;
  }
  return total;
}

// Sums over contiguous rows.
void sum_rows(const double* x, const Extent& extent, double* out, bool single, bool absolute, int threads) {
  const std::int64_t block = block_of(extent.length, single);
  if (extent.outer == 1 && !single && extent.length > 64 * kBlock) {  // one long row: its blocks in parallel
    const std::int64_t blocks = (extent.length + block - 1) / block;
    Buffer partial(static_cast<std::size_t>(blocks));
    for_pieces(blocks, 64, threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b)
        partial[static_cast<std::size_t>(b)] =
            sum_run(x + b * block, std::min(block, extent.length - b * block), absolute);
    });
    *out = 0;
    for (double value : partial) *out += value;
    return;
  }
  for_pieces(extent.outer, std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, extent.length)),
             threads, [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t o = begin; o < end; ++o) {
                 const double* row = x + o * extent.length;
                 if (single) {
                   out[o] = sum_single(row, extent.length, block);
                   continue;
                 }
                 double total = 0;
                 for (std::int64_t i = 0; i < extent.length; i += block)
                   total += sum_run(row + i, std::min(block, extent.length - i), absolute);
                 out[o] = total;
               }
             });
}

// Sums down columns, kColumns at a time. T is the accumulator.
template <typename T>
void sum_columns(const double* x, const Extent& extent, double* out, bool absolute, int threads) {
  const std::int64_t block = block_of(extent.length, sizeof(T) == sizeof(float));
  const std::int64_t strips = (extent.inner + kColumns - 1) / kColumns;
  for_pieces(extent.outer * strips, 1, extent.outer * extent.length * extent.inner > (1 << 16) ? threads : 1,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t unit = begin; unit < end; ++unit) {
                 const std::int64_t o = unit / strips, first = unit % strips * kColumns;
                 const std::int64_t width = std::min(kColumns, extent.inner - first);
                 T total[kColumns] = {};
                 for (std::int64_t r0 = 0; r0 < extent.length; r0 += block) {
                   T partial[kColumns] = {};
                   for (std::int64_t r = r0; r < std::min(extent.length, r0 + block); ++r) {
                     const double* row = x + (o * extent.length + r) * extent.inner + first;
                     for (std::int64_t c = 0; c < width; ++c)
                       partial[c] += static_cast<T>(absolute ? std::abs(row[c]) : row[c]);
                   }
                   for (std::int64_t c = 0; c < width; ++c) total[c] += partial[c];
                 }
                 for (std::int64_t c = 0; c < width; ++c)
                   out[o * extent.inner + first + c] = static_cast<double>(total[c]);
               }
             });
}

// Any other reduction: folds a column of `length` elements, `inner` apart.
template <typename Fold>
void fold_each(const double* x, const Extent& extent, double* out, int threads, const Fold& fold) {
  for_pieces(extent.outer * extent.inner,
             std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, extent.length)), threads,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t unit = begin; unit < end; ++unit) {
                 const double* column =
                     x + unit / extent.inner * extent.length * extent.inner + unit % extent.inner;
                 out[unit] = fold(column, extent.length, extent.inner);
               }
             });
}

template <bool kGreatest>
double extreme(const double* x, std::int64_t length, std::int64_t step) {
  if (length == 0) return kGreatest ? 0 : 1;  // any and all: nothing else may have no elements
  double best = kGreatest ? -kInfinity : kInfinity;
  bool nan = false;
  for (std::int64_t i = 0; i < length; ++i) {
    const double value = x[i * step];
    nan |= value != value;
    best = kGreatest ? (value > best ? value : best) : (value < best ? value : best);
  }
  return nan ? std::numeric_limits<double>::quiet_NaN() : best;
}

template <bool kGreatest>
double place_of_extreme(const double* x, std::int64_t length, std::int64_t step) {
  std::int64_t best = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    const double value = x[i * step], top = x[best * step];
    if (value != value) return static_cast<double>(i);
    if (kGreatest ? value > top : value < top) best = i;
  }
  return static_cast<double>(best);
}

double product(const double* x, std::int64_t length, std::int64_t step, bool single) {
  double total = 1;
  for (std::int64_t i = 0; i < length; ++i) {
    total *= x[i * step];
    if (single) total = static_cast<float>(total);
  }
  return total;
}

}  // namespace

void reduce(Op op, const Array& a, const std::vector<std::int64_t>& axes, double* out, bool single,
            bool absolute, int threads) {
  // [outer, length, inner] when the reduced axes are neighbours; else bring them to the end.
  Extent extent;
  const bool neighbours =
      axes.empty() || axes.back() - axes.front() + 1 == static_cast<std::int64_t>(axes.size());
  const double* data = a.data;
  Buffer moved;
  std::vector<bool> reduced(a.shape.size(), false);
  for (std::int64_t axis : axes) reduced[static_cast<std::size_t>(axis)] = true;
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    if (reduced[i])
      extent.length *= a.shape[i];
    else if (!neighbours || axes.empty() || static_cast<std::int64_t>(i) < axes.front())
      extent.outer *= a.shape[i];
    else
      extent.inner *= a.shape[i];
  }
  if (!neighbours) {
    tensor::Shape shape;
    std::vector<std::int64_t> strides;
    const auto own = row_major_strides(a.shape);
    for (bool wanted : {false, true})
      for (std::size_t i = 0; i < a.shape.size(); ++i)
        if (reduced[i] == wanted) {
          shape.push_back(a.shape[i]);
          strides.push_back(own[i]);
        }
    moved.resize(static_cast<std::size_t>(extent.outer * extent.length));
    copy_strided(a.data, shape, strides, moved.data(), threads);
    data = moved.data();
  }
  const auto fold = [&](auto f) { fold_each(data, extent, out, threads, f); };
  switch (op) {
    case Op::kSum:
    case Op::kMean:
      if (extent.inner == 1)
        sum_rows(data, extent, out, single, absolute, threads);
      else if (single)
        sum_columns<float>(data, extent, out, absolute, threads);
      else
        sum_columns<double>(data, extent, out, absolute, threads);
      if (op == Op::kMean)
        for (std::int64_t i = 0; i < extent.outer * extent.inner; ++i)
          out[i] /= static_cast<double>(extent.length);
      return;
    case Op::kProd:
      return fold([single](const double* x, std::int64_t n, std::int64_t step) {
        return product(x, n, step, single);
      });
    case Op::kReduceMax: return fold(extreme<true>);
    case Op::kReduceMin: return fold(extreme<false>);
    case Op::kArgmax: return fold(place_of_extreme<true>);
    case Op::kArgmin: return fold(place_of_extreme<false>);
    default: KW_CHECK(!"a reduction");
  }
}

}  // namespace kw::problem
