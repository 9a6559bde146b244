#include "tensor/tensor.h"

#include <fmt/ranges.h>

#include <cstring>
#include <new>

#include "base/check.h"

namespace kw::tensor {
namespace {

constexpr std::int64_t kLargestCount = std::int64_t{1} << 59;  // so that the count of bits fits 64 bits

constexpr std::int64_t kTable = 256;  // values of a dtype of 8 bits

// Narrower than a byte, an element lies in one or two of them.
std::uint64_t read_bits(const std::byte* data, std::int64_t index, unsigned width) {
  std::uint64_t word = 0;
  if (width % 8 == 0) {
    std::memcpy(&word, data + index * (width / 8), width / 8);
    return word;
  }
  const std::int64_t first = index * width;
  const std::byte* at = data + first / 8;
  const auto shift = static_cast<unsigned>(first % 8);
  word = std::to_integer<std::uint64_t>(at[0]) >> shift;
  if (shift + width > 8) word |= std::to_integer<std::uint64_t>(at[1]) << (8 - shift);
  return word & ((1u << width) - 1);
}

void write_bits(std::byte* data, std::int64_t index, unsigned width, std::uint64_t word) {
  if (width % 8 == 0) {
    std::memcpy(data + index * (width / 8), &word, width / 8);
    return;
  }
  const std::int64_t first = index * width;
  std::byte* at = data + first / 8;
  const auto shift = static_cast<unsigned>(first % 8);
  const auto mask = ((1u << width) - 1) << shift, bits = (static_cast<unsigned>(word) << shift) & mask;
  at[0] = (at[0] & ~static_cast<std::byte>(mask)) | static_cast<std::byte>(bits);
  if (shift + width > 8) at[1] = (at[1] & ~static_cast<std::byte>(mask >> 8)) | static_cast<std::byte>(bits >> 8);
}

}  // namespace

Result<std::int64_t> element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (std::int64_t axis : shape) {
    if (axis < 0)
      return fail(ErrorCode::kLimit, "shape [{}] has a negative axis; sizes start at 0",
                  fmt::join(shape, ", "));
    empty = empty || axis == 0;
  }
  if (empty) return 0;
  for (std::int64_t axis : shape)
    if (__builtin_mul_overflow(count, axis, &count) || count > kLargestCount)
      return fail(ErrorCode::kLimit, "shape [{}] has more than 2^59 elements; choose smaller sizes",
                  fmt::join(shape, ", "));
  return count;
}

std::int64_t byte_count(DType dtype, std::int64_t count) {
  KW_CHECK(count >= 0 && count <= kLargestCount);
  const std::int64_t width = bits_of(dtype);
  return width % 8 == 0 ? count * (width / 8) : (count / 8) * width + ((count % 8) * width + 7) / 8;
}

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Shape index_of(const Shape& shape, std::int64_t flat) {
  Shape index(shape.size(), 0);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] <= 0) continue;
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return index;
}

std::string index_text(const Shape& shape, std::int64_t flat) { return shape_text(index_of(shape, flat)); }

Result<Tensor> Tensor::zeros(DType dtype, Shape shape, std::int64_t limit) {
  KW_TRY(const std::int64_t count, element_count(shape));
  const std::int64_t bytes = byte_count(dtype, count);
  if (bytes > limit)
    return fail(ErrorCode::kLimit, "{}{} needs {} bytes, more than the limit of {}; choose smaller sizes",
                name_of(dtype), shape_text(shape), bytes, limit);
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.size_ = count;
  tensor.byte_size_ = static_cast<std::size_t>(bytes);
  try {
    tensor.storage_.resize((tensor.byte_size_ + sizeof(double) - 1) / sizeof(double));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kLimit, "no memory for {} bytes of {}; choose smaller sizes", bytes,
                tensor.description());
  }
  return tensor;
}

Result<Tensor> Tensor::from_doubles(DType dtype, Shape shape, std::span<const double> values) {
  KW_TRY(Tensor tensor, zeros(dtype, std::move(shape)));
  if (static_cast<std::int64_t>(values.size()) != tensor.size_)
    return fail(ErrorCode::kInvalid, "{} holds {} elements, but {} values were given", tensor.description(),
                tensor.size_, values.size());
  for (std::int64_t i = 0; i < tensor.size_; ++i) tensor.set(i, values[static_cast<std::size_t>(i)]);
  return tensor;
}

Result<Tensor> Tensor::from_bytes(DType dtype, Shape shape, std::span<const std::byte> bytes) {
  KW_TRY(Tensor tensor, zeros(dtype, std::move(shape)));
  if (bytes.size() != tensor.byte_size_)
    return fail(ErrorCode::kInvalid, "{} takes {} bytes, but {} were given", tensor.description(),
                tensor.byte_size_, bytes.size());
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

Result<Tensor> Tensor::adopt(Shape shape, FreshVector<double> values) {
  KW_TRY(const std::int64_t count, element_count(shape));
  if (static_cast<std::int64_t>(values.size()) != count)
    return fail(ErrorCode::kInvalid, "f64{} holds {} elements, but {} values were given", shape_text(shape),
                count, values.size());
  Tensor tensor;
  tensor.dtype_ = DType::kF64;
  tensor.shape_ = std::move(shape);
  tensor.size_ = count;
  tensor.byte_size_ = values.size() * sizeof(double);
  tensor.storage_ = std::move(values);
  return tensor;
}

const std::byte* Tensor::data() const { return reinterpret_cast<const std::byte*>(storage_.data()); }
std::byte* Tensor::data() { return reinterpret_cast<std::byte*>(storage_.data()); }

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> values(static_cast<std::size_t>(size_));
  read(0, values);
  return values;
}

void Tensor::read(std::int64_t first, std::span<double> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  KW_CHECK(first >= 0 && count <= size_ - first);
  const auto convert = [&]<typename Element>(Element element, auto to_double) {
    const std::byte* from = data() + first * static_cast<std::int64_t>(sizeof element);
    for (double& value : out) {
      std::memcpy(&element, from, sizeof element);
      from += sizeof element;
      value = to_double(element);
    }
  };
  if (dtype_ == DType::kF64) return convert(double{}, [](double x) { return x; });
  if (dtype_ == DType::kF32) return convert(float{}, [](float x) -> double { return x; });
  if (dtype_ == DType::kF16) return convert(std::uint16_t{}, [](std::uint16_t h) -> double { return f16_to_f32(h); });
  if (dtype_ == DType::kBF16) return convert(std::uint16_t{}, [](std::uint16_t h) -> double { return bf16_to_f32(h); });
  if (dtype_ == DType::kI32) return convert(std::int32_t{}, [](std::int32_t x) -> double { return x; });
  if (bits_of(dtype_) <= 8 && count > kTable) {
    double table[kTable];
    for (std::uint64_t word = 0; word < std::uint64_t{1} << bits_of(dtype_); ++word) table[word] = decode(word, dtype_);
    if (bits_of(dtype_) == 8) return convert(std::uint8_t{}, [&](std::uint8_t word) { return table[word]; });
    for (std::int64_t i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] = table[read_bits(data(), first + i, bits_of(dtype_))];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] = at(first + i);
}

std::span<const double> Tensor::f64() const {
  KW_CHECK(dtype_ == DType::kF64);
  return {storage_.data(), static_cast<std::size_t>(size_)};
}

double Tensor::at(std::int64_t flat) const { return decode(bits_at(flat), dtype_); }

void Tensor::set(std::int64_t flat, double value) {
  set_bits(flat, encode(value, dtype_));
}

void Tensor::set_bits(std::int64_t flat, std::uint64_t bits) {
  KW_CHECK(flat >= 0 && flat < size_);
  write_bits(data(), flat, bits_of(dtype_), bits);
}

std::uint64_t Tensor::bits_at(std::int64_t flat) const {
  KW_CHECK(flat >= 0 && flat < size_);
  return read_bits(data(), flat, bits_of(dtype_));
}

std::string Tensor::description() const { return fmt::format("{}{}", name_of(dtype_), shape_text(shape_)); }

}  // namespace kw::tensor
