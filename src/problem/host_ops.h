// The operators of the graph on dense row-major arrays of doubles; what evaluate.cc is made of.
//
// Contract. Callers have checked shapes (plan_memory.h): nothing here fails but what reads an index. Each result is a
// function of its operands alone: the order of every sum is fixed by the sizes, never by `threads`.
// NaN: minimum, maximum and their reductions give NaN when any operand is one; argmax and argmin give the
// index of the first NaN, else of the first extreme. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "problem/graph.h"
#include "problem/window.h"
#include "tensor/tensor.h"

namespace kw::problem {

using Buffer = FreshVector<double>;

struct Array {  // a view; of a scalar the shape is empty
  const double* data = nullptr;
  tensor::Shape shape;
  tensor::Shape first = {};  // of a part: the index of its first element in the whole
  std::string place_of(std::int64_t flat) const;  // "[3, 17]": in the whole
};

// Runs body(begin, end) over [0, count) in pieces whose bounds do not depend on the threads.
template <typename Body>
void for_pieces(std::int64_t count, std::int64_t piece, int threads, const Body& body);

// elementwise.cc. `out` may be the storage of an operand of the same shape.
void unary(Op op, const double* a, double* out, std::int64_t count, int threads);
void binary(Op op, const Array& a, const Array& b, double* out, const tensor::Shape& shape, int threads);
void where(const Array& condition, const Array& a, const Array& b, double* out, const tensor::Shape& shape,
           int threads);

// rounding.cc. Integers need a rounding; they saturate, NaN becomes 0. `out` may be `a`.
void round_to_dtype(DType dtype, const double* a, double* out, std::int64_t count, int threads,
                    tensor::Rounding rounding = tensor::Rounding::kNearestEven, bool saturate = false);
// Away from zero where the fraction of a step that x is beyond its neighbour, plus word / 2^32, reaches 1; else
// toward zero. kInvalid for a word outside [0, 2^32): names it.
Status round_by_chance(DType dtype, bool saturate, const Array& a, const double* words, double* out,
                       std::int64_t count, int threads);
// Keeps `bits` bits of mantissa after the leading one, to nearest even; exponents stay.
void round_to_bits(int bits, double* values, std::int64_t count, int threads);

// reduction.cc. `single`: accumulate in fp32, in blocks of sqrt(n) as kernels do; else in fp64.
// `absolute`: of |x|.
void reduce(Op op, const Array& a, const std::vector<std::int64_t>& axes, double* out, bool single,
            bool absolute, int threads);

// scan.cc: running sums, products and extremes, from the end when `reverse`. `absolute`: cumsum, of |x|.
void scan(Op op, const Array& a, std::int64_t axis, bool reverse, double* out, bool single, bool absolute, int threads);
// h = a h + b along the axis, from `initial` (the shape without the axis; null: 0). `absolute`: of the magnitudes.
void recurrence(const Array& a, const Array& b, const double* initial, std::int64_t axis, bool reverse, double* out,
                bool single, bool absolute, int threads);

// sorting.cc: ascending or descending, equal ones in the order of their places, NaN above every number; the values or
// the places they came from.
void sort(const Array& a, std::int64_t axis, bool descending, bool places, double* out, int threads);

// matmul.cc: [batch…, m, k] @ [batch…, k, n], batch axes broadcast. Each element is the sum over k in
// ascending order, in fp64 or (single) in fp32 from operands rounded to fp32.
void matmul(const Array& a, const Array& b, double* out, const tensor::Shape& shape, bool single,
            bool absolute, int threads);

// convolution.cc: x [batch, channels, …], w as conv and conv_transpose have it. Each element is the sum over channels,
// then kernel elements, ascending; precision as for matmul().
void convolve(Op op, const Array& x, const Array& w, const std::vector<WindowNumbers>& windows, double* out,
              const tensor::Shape& shape, bool single, bool absolute, int threads);

// pooling.cc: over the last axes, one window each. Sums as in reduce().
void pool(const Node& node, const Array& a, const std::vector<WindowNumbers>& windows, double* out,
          const tensor::Shape& shape, bool single, bool absolute, int threads);

// movement.cc
void copy_strided(const double* source, const tensor::Shape& shape, const std::vector<std::int64_t>& strides,
                  double* out, int threads);
std::vector<std::int64_t> row_major_strides(const tensor::Shape& shape);
// Strides that read `from` as if it had shape `to`: 0 where it is broadcast.
std::vector<std::int64_t> broadcast_strides(const tensor::Shape& from, const tensor::Shape& to);
void concat(const std::vector<Array>& parts, std::int64_t axis, double* out);
void pad(const Array& a, double value, const std::vector<std::int64_t>& axes,
         const std::vector<WindowNumbers>& windows, double* out, const tensor::Shape& shape, int threads);
void flip(const Array& a, const std::vector<std::int64_t>& axes, double* out, int threads);
void windows(const Array& a, const std::vector<std::int64_t>& axes, const std::vector<WindowNumbers>& windows,
             double* out, const tensor::Shape& shape, int threads);

// indexing.cc. kInvalid for an index outside the axis, and for two updates of one element by kScatter: names them.
Status take(const Array& a, const Array& index, std::int64_t axis, double* out, int threads);
Status gather(const Array& a, const Array& index, std::int64_t axis, double* out, int threads);
Status scatter(Op op, const Array& a, const Array& index, const Array& updates, std::int64_t axis, double* out,
               bool single, bool absolute, int threads);

// evaluate_indexing.cc: any operator of the files above but copies and reductions, and those of philox.h.
Status evaluate_along(const Node& node, const std::vector<Array>& operands, double* out, std::int64_t count,
                      bool single, int threads);

}  // namespace kw::problem

#include <algorithm>

#include "base/parallel.h"

namespace kw::problem {

template <typename Body>
void for_pieces(std::int64_t count, std::int64_t piece, int threads, const Body& body) {
  if (count <= piece || threads <= 1) {
    for (std::int64_t begin = 0; begin < count; begin += piece) body(begin, std::min(count, begin + piece));
    return;
  }
  const std::int64_t pieces = (count + piece - 1) / piece;
  parallel_for(static_cast<std::uint64_t>(pieces), threads, [&](std::uint64_t index) {
    const auto begin = static_cast<std::int64_t>(index) * piece;
    body(begin, std::min(count, begin + piece));
  });
}

}  // namespace kw::problem
