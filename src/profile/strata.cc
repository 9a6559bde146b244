#include <algorithm>
#include <cmath>
#include <set>

#include "profile/sample.h"

namespace kw::profile {
namespace {

struct Span {
  uint64_t begin = 0, end = 0;
  uint64_t length() const { return end - begin; }
};
using Box = std::array<Span, 3>;

// First, inner and last of an axis.
std::vector<Span> parts_of(uint64_t length) {
  if (length == 1) return {{0, 1}};
  if (length == 2) return {{0, 1}, {1, 2}};
  return {{0, 1}, {1, length - 1}, {length - 1, length}};
}

uint64_t size_of(const Box& box) { return box[0].length() * box[1].length() * box[2].length(); }

// Points of an additive recurrence with the powers of the root of x^(d+1) = x + 1: even along each of d axes however many are taken.
// M. Roberts, "The Unreasonable Effectiveness of Quasirandom Sequences" (2018).
std::vector<uint64_t> spread(const Box& box, const std::array<uint32_t, 3>& grid, uint64_t count) {
  const uint64_t size = size_of(box);
  count = std::min(count, size);
  std::set<uint64_t> seen;
  std::vector<uint64_t> out;
  const auto take = [&](uint64_t x, uint64_t y, uint64_t z) {
    const uint64_t block = (z * grid[1] + y) * grid[0] + x;
    if (seen.insert(block).second) out.push_back(block);
  };
  if (count < size) {
    const auto axes = std::count_if(box.begin(), box.end(), [](const Span& each) { return each.length() > 1; });
    double root = 2;
    for (int i = 0; i < 40; ++i) root = std::pow(1 + root, 1.0 / static_cast<double>(axes + 1));
    for (uint64_t i = 0; i < 8 * count && out.size() < count; ++i) {
      std::array<uint64_t, 3> at{};
      double step = 1;
      for (size_t axis = 0; axis < 3; ++axis) {
        const uint64_t length = box[axis].length();
        if (length > 1) step /= root;
        const double part = 0.5 + static_cast<double>(i) * step;
        at[axis] = box[axis].begin + (length > 1 ? std::min(length - 1, static_cast<uint64_t>((part - std::floor(part)) * static_cast<double>(length))) : 0);
      }
      take(at[0], at[1], at[2]);
    }
  }
  for (uint64_t i = 0; out.size() < count; ++i)   // few blocks: those that the points did not meet
    take(box[0].begin + i % box[0].length(), box[1].begin + i / box[0].length() % box[1].length(), box[2].begin + i / box[0].length() / box[1].length());
  return out;
}

}  // namespace

std::vector<Stratum> strata_of(const std::array<uint32_t, 3>& grid, uint64_t most) {
  constexpr uint64_t kLeast = 2;   // of a stratum
  const Box all = {Span{0, grid[0]}, {0, grid[1]}, {0, grid[2]}};
  const uint64_t blocks = size_of(all);
  std::vector<Box> boxes;
  for (const Span& y : parts_of(grid[1]))
    for (const Span& x : parts_of(grid[0])) boxes.push_back({x, y, all[2]});
  if (blocks <= most || most < kLeast * boxes.size()) boxes = {all};
  std::vector<Stratum> out;
  for (const Box& box : boxes) {
    const uint64_t size = size_of(box);
    const auto share = static_cast<uint64_t>(static_cast<double>(most) * static_cast<double>(size) / static_cast<double>(blocks));
    out.push_back({spread(box, grid, std::max(kLeast, share)), size});
  }
  std::stable_sort(out.begin(), out.end(), [](const Stratum& a, const Stratum& b) { return a.of > b.of; });
  return out;
}

}  // namespace kw::profile
