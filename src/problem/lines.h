// The lines of an array along one axis, as [outer, length, inner]. Internal to problem.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "problem/host_ops.h"

namespace kw::problem {

inline constexpr std::int64_t kColumns = 128;  // neighbouring lines that are walked together

struct Extent {
  std::int64_t outer = 1, length = 1, inner = 1;
};

inline Extent extent_along(const tensor::Shape& shape, std::int64_t axis) {
  Extent extent;
  const auto along = static_cast<std::size_t>(axis);
  for (std::size_t i = 0; i < along; ++i) extent.outer *= shape[i];
  extent.length = shape[along];
  for (std::size_t i = along + 1; i < shape.size(); ++i) extent.inner *= shape[i];
  return extent;
}

// body(o, first, width) for each strip of up to kColumns neighbouring lines: line number `first + c` of [inner] in
// block o of [outer]. Strips run side by side; what each sees does not depend on the threads.
template <typename Body>
void for_strips(const Extent& extent, int threads, const Body& body) {
  const std::int64_t strips = (extent.inner + kColumns - 1) / kColumns;
  const std::int64_t work = std::max<std::int64_t>(1, extent.length * std::min(extent.inner, kColumns));
  for_pieces(extent.outer * strips, std::max<std::int64_t>(1, (1 << 15) / work), threads,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t unit = begin; unit < end; ++unit) {
                 const std::int64_t first = unit % strips * kColumns;
                 body(unit / strips, first, std::min(kColumns, extent.inner - first));
               }
             });
}

}  // namespace kw::problem
