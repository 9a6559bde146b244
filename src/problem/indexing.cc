// Elements by index along an axis: take, gather, scatter.
#include <cmath>

#include "problem/first.h"
#include "problem/lines.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kPiece = 1 << 15;

Status check_index(std::string_view name, const Array& index, std::int64_t size, int threads) {
  std::int64_t count = 1;
  for (std::int64_t extent : index.shape) count *= extent;
  First outside;
  for_pieces(count, kPiece, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      if (!(index.data[i] >= 0 && index.data[i] < static_cast<double>(size))) return outside.see(i);
  });
  if (outside.none()) return {};
  return fail(ErrorCode::kInvalid,
              "{}: index {} at {} is outside an axis of size {}; fill the index with integers(0, …), or clamp it",
              name, index.data[outside.at()], index.place_of(outside.at()), size);
}

// Two updates of one element: the earliest update that has a forerunner, and that.
Status twice(const Array& index, const Extent& picks, std::int64_t axis, std::int64_t later) {
  const std::int64_t row = later / picks.inner % picks.length, step = picks.inner;
  const double target = index.data[later];
  std::int64_t earlier = later - row * step;
  while (index.data[earlier] != target) earlier += step;
  const std::string place = index.place_of(later);
  return fail(ErrorCode::kInvalid,
              "scatter: the updates at {} and {} both go to index {} of axis {}, and which one stays is not defined; "
              "make the index unique along the axis, or use scatter_add, scatter_max or scatter_min",
              index.place_of(earlier), place, target, axis);
}

}  // namespace

Status take(const Array& a, const Array& index, std::int64_t axis, double* out, int threads) {
  const Extent extent = extent_along(a.shape, axis);
  KW_TRY_VOID(check_index("take", index, extent.length, threads));
  std::int64_t picks = 1;
  for (std::int64_t size : index.shape) picks *= size;
  const std::int64_t inner = extent.inner;
  for_pieces(extent.outer * picks, std::max<std::int64_t>(1, kPiece / std::max<std::int64_t>(1, inner)), threads,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row) {
                 const auto at = static_cast<std::int64_t>(index.data[row % picks]);
                 std::copy_n(a.data + (row / picks * extent.length + at) * inner, inner, out + row * inner);
               }
             });
  return {};
}

Status gather(const Array& a, const Array& index, std::int64_t axis, double* out, int threads) {
  const Extent extent = extent_along(a.shape, axis), picks = extent_along(index.shape, axis);
  KW_TRY_VOID(check_index("gather", index, extent.length, threads));
  const std::int64_t inner = extent.inner;
  for_pieces(picks.outer * picks.length, std::max<std::int64_t>(1, kPiece / std::max<std::int64_t>(1, inner)), threads,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row) {
                 const double* from = a.data + row / picks.length * extent.length * inner;
                 for (std::int64_t i = 0; i < inner; ++i)
                   out[row * inner + i] = from[static_cast<std::int64_t>(index.data[row * inner + i]) * inner + i];
               }
             });
  return {};
}

Status scatter(Op op, const Array& a, const Array& index, const Array& updates, std::int64_t axis, double* out,
               bool single, bool absolute, int threads) {
  const Extent extent = extent_along(a.shape, axis), picks = extent_along(index.shape, axis);
  KW_TRY_VOID(check_index(op_name(op), index, extent.length, threads));
  First repeated;
  for_strips(extent, threads, [&](std::int64_t o, std::int64_t column, std::int64_t width) {
    double* to = out + o * extent.length * extent.inner + column;
    const double* from = a.data + o * extent.length * extent.inner + column;
    for (std::int64_t row = 0; row < extent.length; ++row)
      for (std::int64_t c = 0; c < width; ++c) {
        const double value = from[row * extent.inner + c];
        to[row * extent.inner + c] = absolute ? std::abs(value) : value;
      }
    std::vector<bool> written(op == Op::kScatter ? static_cast<std::size_t>(extent.length * width) : 0);
    for (std::int64_t row = 0; row < picks.length; ++row) {
      const std::int64_t flat = (o * picks.length + row) * picks.inner + column;
      for (std::int64_t c = 0; c < width; ++c) {
        const auto target = static_cast<std::int64_t>(index.data[flat + c]);
        double& element = to[target * extent.inner + c];
        const double update = updates.data[flat + c];
        if (op == Op::kScatterAdd) {
          element += absolute ? std::abs(update) : update;
          if (single) element = static_cast<float>(element);
        } else if (op == Op::kScatterMax) {
          element = element != element || element > update ? element : update;
        } else if (op == Op::kScatterMin) {
          element = element != element || element < update ? element : update;
        } else {
          const auto bit = static_cast<std::size_t>(target * width + c);
          if (written[bit]) repeated.see(flat + c);
          written[bit] = true;
          element = update;
        }
      }
    }
  });
  return repeated.none() ? Status() : twice(index, picks, axis, repeated.at());
}

}  // namespace kw::problem
