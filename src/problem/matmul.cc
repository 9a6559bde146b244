// Blocked matrix product. Operands are packed into panels; the innermost tile keeps its accumulators in
// registers. Every output element adds its products in ascending k, so blocking and threads do not show.
#include <cmath>

#include "problem/host_ops.h"
#include "problem/matmul_tile.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kRowsPerPiece = 64;
constexpr std::int64_t kPanels = 32;

struct Sizes {
  std::int64_t m, n, k;
};

// b[k][n] as panels of kWidth columns, each panel all of k; zero beyond n.
template <typename T>
void pack_b(const double* b, const Sizes& s, bool absolute, std::vector<T>& packed, int threads) {
  constexpr std::int64_t width = kWidth<T>;
  const std::int64_t panels = (s.n + width - 1) / width;
  packed.resize(static_cast<std::size_t>(panels * width * s.k));
  for_pieces(panels, std::max<std::int64_t>(1, (1 << 14) / (width * std::max<std::int64_t>(1, s.k))), threads,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t p = begin; p < end; ++p) {
                 T* to = packed.data() + p * width * s.k;
                 const std::int64_t first = p * width, count = std::min(width, s.n - first);
                 for (std::int64_t k = 0; k < s.k; ++k, to += width) {
                   for (std::int64_t c = 0; c < count; ++c)
                     to[c] = element<T>(b[k * s.n + first + c], absolute);
                   for (std::int64_t c = count; c < width; ++c) to[c] = 0;
                 }
               }
             });
}

template <typename T>
void multiply_rows(const double* a, const std::vector<T>& packed, const Sizes& s, bool absolute,
                   std::int64_t row, std::int64_t end, double* out) {
  constexpr std::int64_t width = kWidth<T>;
  const Tile<T> multiply = choose_tile<T>();
  const std::int64_t groups = (end - row + kRows - 1) / kRows, panels = (s.n + width - 1) / width;
  std::vector<T> rows(static_cast<std::size_t>(groups * kRows * std::min(kDepth, s.k)));
  std::vector<T> tiles(static_cast<std::size_t>(groups * std::min(panels, kPanels) * kRows * width));
  for (std::int64_t first = 0; first < panels; first += kPanels) {  // so many that their sums stay in the cache
    const std::int64_t count = std::min(kPanels, panels - first);
    std::fill(tiles.begin(), tiles.end(), T{0});
    for (std::int64_t k0 = 0; k0 < s.k; k0 += kDepth) {
      const std::int64_t depth = std::min(kDepth, s.k - k0);
      for (std::int64_t g = 0; g < groups; ++g)
        for (std::int64_t r = 0; r < kRows; ++r) {
          const std::int64_t i = row + g * kRows + r;
          T* to = rows.data() + g * kRows * depth + r;
          for (std::int64_t k = 0; k < depth; ++k)
            to[k * kRows] = i < end ? element<T>(a[i * s.k + k0 + k], absolute) : T{0};
        }
      for (std::int64_t p = 0; p < count; ++p)
        for (std::int64_t g = 0; g < groups; ++g)
          multiply(rows.data() + g * kRows * depth, packed.data() + ((first + p) * s.k + k0) * width, depth,
                   tiles.data() + (g * count + p) * kRows * width);
    }
    for (std::int64_t i = row; i < end; ++i)
      for (std::int64_t p = 0; p < count; ++p) {
        const T* sums = tiles.data() + (((i - row) / kRows * count + p) * kRows + (i - row) % kRows) * width;
        std::copy_n(sums, std::min(width, s.n - (first + p) * width), out + i * s.n + (first + p) * width);
      }
  }
}

// A matrix by one column: packing would do width times the work.
template <typename T>
void multiply_vector(const double* a, const double* b, const Sizes& s, bool absolute, double* out,
                     int threads) {
  for_pieces(s.m, std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, s.k)), threads,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) {
                 T sum = 0;
                 for (std::int64_t k = 0; k < s.k; ++k)
                   sum += element<T>(a[i * s.k + k], absolute) * element<T>(b[k], absolute);
                 out[i] = static_cast<double>(sum);
               }
             });
}

template <typename T>
void multiply_batches(const Array& a, const Array& b, double* out, const tensor::Shape& shape, bool absolute,
                      int threads) {
  const std::size_t rank = shape.size();
  const Sizes s{shape[rank - 2], shape[rank - 1], a.shape.back()};
  const tensor::Shape batch(shape.begin(), shape.end() - 2);
  const auto a_strides = broadcast_strides(tensor::Shape(a.shape.begin(), a.shape.end() - 2), batch);
  const auto b_strides = broadcast_strides(tensor::Shape(b.shape.begin(), b.shape.end() - 2), batch);
  std::int64_t batches = 1;
  for (std::int64_t size : batch) batches *= size;
  if (batches == 0 || s.m == 0 || s.n == 0) return;
  const auto one = [&](std::int64_t index, int inner_threads) {
    std::int64_t a_at = 0, b_at = 0, rest = index;
    for (std::size_t axis = batch.size(); axis-- > 0;) {
      a_at += rest % batch[axis] * a_strides[axis];
      b_at += rest % batch[axis] * b_strides[axis];
      rest /= batch[axis];
    }
    const double* left = a.data + a_at * s.m * s.k;
    const double* right = b.data + b_at * s.k * s.n;
    double* result = out + index * s.m * s.n;
    if (s.n == 1) return multiply_vector<T>(left, right, s, absolute, result, inner_threads);
    std::vector<T> packed;
    pack_b(right, s, absolute, packed, inner_threads);
    const bool small = s.m * s.n * s.k < (1 << 18);
    for_pieces(s.m, kRowsPerPiece, small ? 1 : inner_threads, [&](std::int64_t begin, std::int64_t end) {
      multiply_rows(left, packed, s, absolute, begin, end, result);
    });
  };
  if (batches >= 2 * threads && s.m * s.n * s.k > (1 << 12)) {
    for_pieces(batches, 1, threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) one(i, 1);
    });
  } else {
    for (std::int64_t i = 0; i < batches; ++i) one(i, threads);
  }
}

}  // namespace

void matmul(const Array& a, const Array& b, double* out, const tensor::Shape& shape, bool single,
            bool absolute, int threads) {
  if (single)
    multiply_batches<float>(a, b, out, shape, absolute, threads);
  else
    multiply_batches<double>(a, b, out, shape, absolute, threads);
}

}  // namespace kw::problem
