#include "problem/inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "problem/host_ops.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kPiece = 1 << 14;   // whole bytes of elements of any width: pieces share none

// 32 random bits for each index, two from one draw of the stream: a float's 24 bits need no more.
class Draws {
 public:
  explicit Draws(const Rng& rng) : rng_(rng) {}
  std::uint32_t bits(std::uint64_t index) {
    if (index / 2 != pair_) {
      pair_ = index / 2;
      word_ = rng_.at(pair_);
    }
    return static_cast<std::uint32_t>(index % 2 == 0 ? word_ : word_ >> 32);
  }
  double unit(std::uint64_t index) {
    return (static_cast<double>(bits(index)) + 0.5) * 0x1p-32;
  }  // in (0, 1)
  double normal(std::uint64_t index) { return Rng::to_normal(unit(index)); }

 private:
  const Rng& rng_;
  std::uint64_t pair_ = ~std::uint64_t{0};
  std::uint64_t word_ = 0;
};

// The value of the element `index`, which is number `column` of `length` along the last axis.
double draw(const Distribution& d, Draws& draws, std::int64_t index, std::int64_t column,
            std::int64_t length) {
  const auto at = static_cast<std::uint64_t>(index);
  switch (d.form) {
    case Distribution::Form::kNormal: return d.a + d.b * draws.normal(at);
    case Distribution::Form::kUniform: return d.a + (d.b - d.a) * draws.unit(at);
    case Distribution::Form::kIntegers: {
      const double low = std::ceil(d.a), high = std::floor(d.b);
      return std::min(high, low + std::floor((high - low + 1) * draws.unit(at)));
    }
    case Distribution::Form::kConstant: return d.a;
    case Distribution::Form::kOneHot: {
      const std::uint64_t row = at - static_cast<std::uint64_t>(column);  // one draw for the whole row
      const auto hot = static_cast<std::int64_t>(draws.bits(row) % static_cast<std::uint64_t>(length));
      return column == hot ? d.a : 0;
    }
    case Distribution::Form::kSorted:
      return d.a +
             (d.b - d.a) * ((static_cast<double>(column) + draws.unit(at)) / static_cast<double>(length));
    case Distribution::Form::kCancel:
      return column % 2 == 0 ? d.a * draws.normal(at) : -d.a * draws.normal(at - 1);
    case Distribution::Form::kSpikes: return (draws.bits(at) & 255) == 0 ? d.b : d.a * draws.normal(at);
  }
  return 0;
}

// A finite value beyond the dtype's range becomes the largest one.
std::uint64_t bits_for(double value, DType dtype) {
  return tensor::encode(value, dtype, tensor::Rounding::kNearestEven, std::isfinite(value));
}

// Elements from the first one on, of a tensor whose last axis has `length` elements.
void draw_all(tensor::Tensor& made, std::int64_t length, const Distribution& distribution, std::uint64_t seed,
              std::string_view stream) {
  const DType dtype = made.dtype();
  const Rng rng(seed, hash_64(stream));
  const unsigned width = tensor::bits_of(dtype);
  std::byte* bytes = made.bytes().data();
  for_pieces(made.size(), kPiece, available_cores(), [&](std::int64_t begin, std::int64_t end) {
    Draws draws(rng);
    std::int64_t column = begin % length;
    for (std::int64_t i = begin; i < end; ++i) {
      const double value = draw(distribution, draws, i, column, length);
      if (++column == length) column = 0;
      const std::uint64_t word = bits_for(value, dtype);
      switch (width) {  // little-endian; a size that the compiler knows is one store
        case 8: std::memcpy(bytes + i, &word, 1); break;
        case 16: std::memcpy(bytes + 2 * i, &word, 2); break;
        case 32: std::memcpy(bytes + 4 * i, &word, 4); break;
        case 64: std::memcpy(bytes + 8 * i, &word, 8); break;
        default: made.set_bits(i, word);
      }
    }
  });
}

}  // namespace

Result<tensor::Tensor> fill(DType dtype, tensor::Shape shape, const Distribution& distribution,
                            std::uint64_t seed, std::string_view stream) {
  const std::int64_t length = shape.empty() ? 1 : std::max<std::int64_t>(1, shape.back());
  KW_TRY(tensor::Tensor made, tensor::Tensor::zeros(dtype, std::move(shape)));
  draw_all(made, length, distribution, seed, stream);
  return made;
}

Result<tensor::Tensor> make_beginning(const Problem& problem, const Workload& workload, const TensorDecl& input,
                                      std::uint64_t seed, std::int64_t count) {
  KW_TRY_VOID(check_workload(problem, workload));
  KW_TRY(const tensor::Shape shape, shape_of(input, workload));
  KW_TRY(const std::int64_t all, tensor::element_count(shape));
  KW_TRY(const Distribution distribution, distribution_of(input, workload));
  KW_TRY(tensor::Tensor made, tensor::Tensor::zeros(input.dtype, {std::clamp<std::int64_t>(count, 0, all)}));
  draw_all(made, shape.empty() ? 1 : std::max<std::int64_t>(1, shape.back()), distribution, seed,
           problem.name + "/" + input.name);
  return made;
}

Result<std::vector<tensor::Tensor>> make_inputs(const Problem& problem, const Workload& workload,
                                                std::uint64_t seed, std::int64_t limit) {
  KW_TRY_VOID(check_workload(problem, workload));
  std::vector<tensor::Tensor> inputs;
  double total = 0;
  for (const TensorDecl& input : problem.inputs) {
    KW_TRY(const tensor::Shape shape, shape_of(input, workload));
    KW_TRY(const std::int64_t count, tensor::element_count(shape));
    total += static_cast<double>(tensor::byte_count(input.dtype, count));
  }
  if (total > static_cast<double>(limit))
    return fail(
        ErrorCode::kLimit,
        "the inputs of workload '{}' take {:.0f} MiB, more than the limit of {} MiB; choose a smaller one",
        workload.name, total / (1 << 20), limit >> 20);
  for (const TensorDecl& input : problem.inputs) {
    KW_TRY(const Distribution distribution, distribution_of(input, workload));
    KW_TRY(tensor::Shape shape, shape_of(input, workload));
    KW_TRY(tensor::Tensor made,
           fill(input.dtype, std::move(shape), distribution, seed, problem.name + "/" + input.name));
    inputs.push_back(std::move(made));
  }
  return inputs;
}

}  // namespace kw::problem
