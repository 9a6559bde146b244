// Scans along an axis: running sums, products and extremes, and the recurrence h = a h + b.
#include <cmath>

#include "base/check.h"
#include "problem/lines.h"

namespace kw::problem {
namespace {

// out[i] = state = step(state, i) along each line, from first(line).
template <typename First, typename Step>
void scan_lines(const Extent& extent, bool reverse, double* out, int threads, const First& first, const Step& step) {
  for_strips(extent, threads, [&](std::int64_t o, std::int64_t column, std::int64_t width) {
    double state[kColumns];
    for (std::int64_t c = 0; c < width; ++c) state[c] = first(o * extent.inner + column + c);
    for (std::int64_t k = 0; k < extent.length; ++k) {
      const std::int64_t at = reverse ? extent.length - 1 - k : k;
      const std::int64_t row = (o * extent.length + at) * extent.inner + column;
      for (std::int64_t c = 0; c < width; ++c) out[row + c] = state[c] = step(state[c], row + c);
    }
  });
}

double single_or(bool single, double x) { return single ? static_cast<double>(static_cast<float>(x)) : x; }

}  // namespace

void scan(Op op, const Array& a, std::int64_t axis, bool reverse, double* out, bool single, bool absolute,
          int threads) {
  const double* x = a.data;
  const auto run = [&](double first, const auto& step) {
    scan_lines(extent_along(a.shape, axis), reverse, out, threads, [first](std::int64_t) { return first; }, step);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  switch (op) {
    case Op::kCumsum:
      if (absolute) return run(0, [x](double sum, std::int64_t i) { return sum + std::abs(x[i]); });
      return run(0, [=](double sum, std::int64_t i) { return single_or(single, sum + x[i]); });
    case Op::kCumprod: return run(1, [=](double product, std::int64_t i) { return single_or(single, product * x[i]); });
    case Op::kCummax:
      return run(-infinity, [x](double top, std::int64_t i) { return top != top || top > x[i] ? top : x[i]; });
    case Op::kCummin:
      return run(infinity, [x](double low, std::int64_t i) { return low != low || low < x[i] ? low : x[i]; });
    default: KW_CHECK(!"a scan");
  }
}

void recurrence(const Array& a, const Array& b, const double* initial, std::int64_t axis, bool reverse, double* out,
                bool single, bool absolute, int threads) {
  const double *factor = a.data, *term = b.data;
  const auto run = [&](const auto& step) {
    const auto first = [=](std::int64_t line) {
      const double h = initial == nullptr ? 0 : initial[line];
      return absolute ? std::abs(h) : h;
    };
    scan_lines(extent_along(a.shape, axis), reverse, out, threads, first, step);
  };
  if (absolute) return run([=](double h, std::int64_t i) { return std::abs(factor[i]) * h + std::abs(term[i]); });
  run([=](double h, std::int64_t i) { return single_or(single, single_or(single, factor[i] * h) + term[i]); });
}

}  // namespace kw::problem
