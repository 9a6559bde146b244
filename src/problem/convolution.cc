// Convolutions as matrix products: weights by columns of x, where a column is what one output sees. Columns are
// gathered a few panels at a time, never all of them. A transposed convolution is one dense convolution for each
// phase of its step: the outputs that lie alike between the steps see the same elements of the kernel, and the
// zeros that a step puts between elements are never made. Elements outside x are zeros that are multiplied.
#include <array>
#include <map>

#include "problem/host_ops.h"
#include "problem/matmul_tile.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kPanels = 8;  // gathered at once

struct Tap {
  std::int64_t index = 0, shift = 0;  // in the kernel; in x, from an output's origin
};

// One axis of a dense part: outputs first, first + stride, …; output i has its origin in x at i * step.
struct Line {
  std::vector<Tap> taps;
  std::int64_t count = 1, step = 1, first = 0, stride = 1;
};

struct Axis {
  std::int64_t input = 1, kernel = 1, output = 1;
  WindowNumbers window;
};
using Axes = std::array<Axis, 3>;  // the missing ones lead, with one element

Line whole_line(const Axis& axis) {
  Line line;
  for (std::int64_t t = 0; t < axis.kernel; ++t) line.taps.push_back({t, t * axis.window.dilation - axis.window.before});
  line.count = axis.output;
  line.step = axis.window.step;
  return line;
}

// Of a transposed convolution: output y sees x[i] by tap t where y = i * step + t * dilation - before. Phases that see
// nothing have no line.
std::vector<Line> phase_lines(const Axis& axis) {
  const WindowNumbers& w = axis.window;
  std::map<std::int64_t, Line> lines;  // by phase
  for (std::int64_t t = 0; t < axis.kernel; ++t) {
    const std::int64_t offset = t * w.dilation - w.before, phase = (offset % w.step + w.step) % w.step;
    if (phase >= axis.output) continue;
    Line& line = lines[phase];
    line.taps.push_back({t, (phase - offset) / w.step});
    line.count = (axis.output - phase + w.step - 1) / w.step;
    line.first = phase;
    line.stride = w.step;
  }
  std::vector<Line> found;
  for (auto& [phase, line] : lines) found.push_back(std::move(line));
  return found;
}

struct Kernel {  // w as a matrix for each group: [channels out of a group][channels into a group][kernel]
  const double* data;
  std::int64_t out, in;  // channels of one group
  std::int64_t group_stride, out_stride, in_stride;
};

struct Sizes {
  std::int64_t batch, groups;
  std::int64_t x_plane, out_plane;  // elements of one channel
};

template <typename T>
class Part {  // the outputs of one phase
 public:
  Part(const double* x, const Kernel& kernel, const Axes& axes, const Sizes& sizes, std::array<const Line*, 3> lines,
       bool absolute)
      : x_(x), kernel_(kernel), axes_(axes), sizes_(sizes), lines_(lines), absolute_(absolute) {
    for (const Tap& a : lines[0]->taps)
      for (const Tap& b : lines[1]->taps)
        for (const Tap& c : lines[2]->taps) {
          taps_.push_back({a.shift, b.shift, c.shift});
          places_.push_back((a.index * axes[1].kernel + b.index) * axes[2].kernel + c.index);
        }
    depth_ = kernel.in * static_cast<std::int64_t>(taps_.size());
    bands_ = (kernel.out + kRows - 1) / kRows;
    positions_ = lines[0]->count * lines[1]->count * lines[2]->count;
  }

  void run(double* out, int threads) {
    pack_weights(threads);
    const std::int64_t width = kPanels * kWidth<T>, blocks = (positions_ + width - 1) / width;
    const std::int64_t work = std::max<std::int64_t>(1, depth_ * width * bands_ * kRows);
    const std::int64_t images = sizes_.batch * sizes_.groups;
    for_pieces(images * blocks, std::max<std::int64_t>(1, (1 << 18) / work), threads,
               [&](std::int64_t begin, std::int64_t end) {
                 Scratch scratch;
                 for (std::int64_t unit = begin; unit < end; ++unit)
                   block(unit % images, unit / images * width, out, scratch);
               });
  }

 private:
  using Place = std::array<std::int64_t, 3>;
  struct Scratch {
    std::vector<Place> origins;
    std::vector<std::int64_t> targets;
    std::int64_t located = -1;  // the first position that origins and targets are of
    std::vector<T> columns, sums;
  };

  // weights_[group][k0][band][k][kRows]: bands of rows, kDepth of each at a time.
  void pack_weights(int threads) {
    const auto taps = static_cast<std::int64_t>(taps_.size());
    weights_.assign(static_cast<std::size_t>(sizes_.groups * bands_ * kRows * depth_), T{0});
    for_pieces(sizes_.groups * bands_, std::max<std::int64_t>(1, (1 << 14) / std::max<std::int64_t>(1, depth_)), threads,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t unit = begin; unit < end; ++unit) {
                   const std::int64_t group = unit / bands_, band = unit % bands_;
                   for (std::int64_t k = 0; k < depth_; ++k) {
                     const std::int64_t k0 = k / kDepth * kDepth, run = std::min(kDepth, depth_ - k0);
                     T* to = weights_.data() + (bands_ * (group * depth_ + k0) + band * run + k - k0) * kRows;
                     const double* from = kernel_.data + group * kernel_.group_stride + k / taps * kernel_.in_stride +
                                          places_[static_cast<std::size_t>(k % taps)];
                     for (std::int64_t r = 0; r < std::min(kRows, kernel_.out - band * kRows); ++r)
                       to[r] = element<T>(from[(band * kRows + r) * kernel_.out_stride], absolute_);
                   }
                 }
               });
  }

  void block(std::int64_t image, std::int64_t first, double* out, Scratch& scratch) const {
    constexpr std::int64_t width = kWidth<T>;
    const std::int64_t count = std::min(kPanels * width, positions_ - first), panels = (count + width - 1) / width;
    const std::int64_t group = image % sizes_.groups;
    if (scratch.located != first) locate(first, count, scratch);
    scratch.sums.assign(static_cast<std::size_t>(panels * bands_ * kRows * width), T{0});
    scratch.columns.resize(static_cast<std::size_t>(panels * width * std::min(kDepth, depth_)));
    const Tile<T> multiply = choose_tile<T>();
    for (std::int64_t k0 = 0; k0 < depth_; k0 += kDepth) {
      const std::int64_t run = std::min(kDepth, depth_ - k0);
      gather(image, k0, run, count, scratch);
      const T* weights = weights_.data() + (group * depth_ + k0) * bands_ * kRows;
      for (std::int64_t p = 0; p < panels; ++p)
        for (std::int64_t b = 0; b < bands_; ++b)
          multiply(weights + b * run * kRows, scratch.columns.data() + p * run * width, run,
                   scratch.sums.data() + (p * bands_ + b) * kRows * width);
    }
    double* plane = out + image * kernel_.out * sizes_.out_plane;
    for (std::int64_t row = 0; row < kernel_.out; ++row)
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t tile = i / width * bands_ + row / kRows, at = row % kRows * width + i % width;
        plane[row * sizes_.out_plane + scratch.targets[static_cast<std::size_t>(i)]] =
            static_cast<double>(scratch.sums[static_cast<std::size_t>(tile * kRows * width + at)]);
      }
  }

  // Where the outputs of a block lie and where they look at x.
  void locate(std::int64_t first, std::int64_t count, Scratch& scratch) const {
    scratch.located = first;
    scratch.origins.resize(static_cast<std::size_t>(count));
    scratch.targets.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = first + i, target = 0, size = 1;
      for (std::size_t axis = 3; axis-- > 0;) {
        const Line& line = *lines_[axis];
        const std::int64_t at = rest % line.count;
        rest /= line.count;
        scratch.origins[static_cast<std::size_t>(i)][axis] = at * line.step;
        target += (line.first + at * line.stride) * size;
        size *= axes_[axis].output;
      }
      scratch.targets[static_cast<std::size_t>(i)] = target;
    }
  }

  // columns[panel][k][kWidth] of x for k in [k0, k0 + run).
  void gather(std::int64_t image, std::int64_t k0, std::int64_t run, std::int64_t count, Scratch& scratch) const {
    constexpr std::int64_t width = kWidth<T>;
    const auto taps = static_cast<std::int64_t>(taps_.size());
    const auto inside = [](std::int64_t at, std::int64_t size) -> int {
      return static_cast<std::uint64_t>(at) < static_cast<std::uint64_t>(size);
    };
    for (std::int64_t k = 0; k < run; ++k) {
      const double* plane = x_ + (image * kernel_.in + (k0 + k) / taps) * sizes_.x_plane;
      const Place& shift = taps_[static_cast<std::size_t>((k0 + k) % taps)];
      for (std::int64_t begin = 0; begin < count; begin += width) {
        T* to = scratch.columns.data() + begin * run + k * width;
        for (std::int64_t i = begin; i < std::min(count, begin + width); ++i) {
          const Place& origin = scratch.origins[static_cast<std::size_t>(i)];
          const std::int64_t a = origin[0] + shift[0], b = origin[1] + shift[1], c = origin[2] + shift[2];
          const bool within = (inside(a, axes_[0].input) & inside(b, axes_[1].input) & inside(c, axes_[2].input)) != 0;
          to[i - begin] = within ? element<T>(plane[(a * axes_[1].input + b) * axes_[2].input + c], absolute_) : T{0};
        }
      }
    }
  }

  const double* x_;
  const Kernel& kernel_;
  const Axes& axes_;
  const Sizes& sizes_;
  std::array<const Line*, 3> lines_;
  bool absolute_;
  std::vector<Place> taps_;           // by element of the kernel in use
  std::vector<std::int64_t> places_;  // the same, in w
  std::int64_t depth_ = 0, bands_ = 0, positions_ = 0;
  std::vector<T> weights_;
};

}  // namespace

void convolve(Op op, const Array& x, const Array& w, const std::vector<WindowNumbers>& windows, double* out,
              const tensor::Shape& shape, bool single, bool absolute, int threads) {
  const bool transposed = op == Op::kConvTranspose;
  const std::int64_t groups = (transposed ? shape[1] : x.shape[1]) / w.shape[1];
  const std::size_t count = windows.size();
  Axes axes;
  for (std::size_t i = 0; i < count; ++i)
    axes[3 - count + i] = {x.shape[2 + i], w.shape[2 + i], shape[2 + i], windows[i]};
  Sizes sizes{shape[0], groups, 1, 1};
  std::int64_t kernel_size = 1;
  for (const Axis& axis : axes) {
    sizes.x_plane *= axis.input;
    sizes.out_plane *= axis.output;
    kernel_size *= axis.kernel;
  }
  Kernel kernel{w.data, shape[1] / groups, x.shape[1] / groups, 0, 0, 0};
  kernel.group_stride = (transposed ? kernel.in : kernel.out) * w.shape[1] * kernel_size;
  kernel.out_stride = (transposed ? 1 : w.shape[1]) * kernel_size;
  kernel.in_stride = (transposed ? w.shape[1] : 1) * kernel_size;
  std::fill_n(out, sizes.batch * shape[1] * sizes.out_plane, 0.0);  // where no tap looks
  std::array<std::vector<Line>, 3> lines;
  for (std::size_t axis = 0; axis < 3; ++axis)
    lines[axis] = transposed ? phase_lines(axes[axis]) : std::vector{whole_line(axes[axis])};
  for (const Line& a : lines[0])
    for (const Line& b : lines[1])
      for (const Line& c : lines[2]) {
        const std::array<const Line*, 3> part{&a, &b, &c};
        if (single)
          Part<float>(x.data, kernel, axes, sizes, part, absolute).run(out, threads);
        else
          Part<double>(x.data, kernel, axes, sizes, part, absolute).run(out, threads);
      }
}

}  // namespace kw::problem
