// Sorting along an axis: stable, NaN above every number.
#include <algorithm>
#include <bit>

#include "problem/lines.h"

namespace kw::problem {
namespace {

struct Keyed {
  std::uint64_t key;
  std::int64_t place;
  bool operator<(const Keyed& other) const { return key != other.key ? key < other.key : place < other.place; }
};

// Unsigned integers in the order of the values: both zeros alike, NaN last; descending: the other way round.
std::uint64_t key_of(double value, bool descending) {
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // -0 + 0 is 0
  const std::uint64_t sign = std::uint64_t{1} << 63;
  const std::uint64_t key = value != value ? ~std::uint64_t{0} : (bits & sign) != 0 ? ~bits : bits | sign;
  return descending ? ~key : key;
}

}  // namespace

void sort(const Array& a, std::int64_t axis, bool descending, bool places, double* out, int threads) {
  const Extent extent = extent_along(a.shape, axis);
  const std::int64_t length = extent.length, step = extent.inner;
  for_pieces(extent.outer * extent.inner, std::max<std::int64_t>(1, (1 << 12) / std::max<std::int64_t>(1, length)),
             threads, [&](std::int64_t begin, std::int64_t end) {
               std::vector<Keyed> line(static_cast<std::size_t>(length));
               for (std::int64_t unit = begin; unit < end; ++unit) {
                 const std::int64_t start = unit / step * length * step + unit % step;
                 for (std::int64_t i = 0; i < length; ++i)
                   line[static_cast<std::size_t>(i)] = {key_of(a.data[start + i * step], descending), i};
                 std::sort(line.begin(), line.end());
                 for (std::int64_t i = 0; i < length; ++i) {
                   const std::int64_t place = line[static_cast<std::size_t>(i)].place;
                   out[start + i * step] = places ? static_cast<double>(place) : a.data[start + place * step];
                 }
               }
             });
}

}  // namespace kw::problem
