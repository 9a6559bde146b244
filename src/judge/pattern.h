// Which elements of a tensor are wrong, as one short phrase: where the mistake lies often follows from it (the last
// column: the tail of a row; every row from 64 on: a block that never ran). Computed from all wrong elements, never
// extrapolated from some. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tensor/tensor.h"

namespace kw::judge {

// `wrong`: flat row-major indexes, ascending. What is exactly the elements along some rows, columns or indexes of an axis is
// said so ("the last 3 columns of every row"), as is a run of consecutive elements; all else is "scattered", within the rows
// and columns that hold it. Empty when nothing is wrong.
std::string pattern_of(const tensor::Shape& shape, std::span<const int64_t> wrong);

}  // namespace kw::judge
