// A host tensor: the exact bytes of a dense row-major array, with its dtype and shape.
//
// Contract. The last axis varies fastest; there are no strides and no views. A tensor of rank 0 holds one
// element; an axis may have size 0. Elements narrower than a byte are packed from the low bits up, element
// 0 first, so two e2m1 share a byte; element i of dtype d starts at bit i * bits(d). The bytes are little
// endian, as on every machine this program runs on and on the GPU.
// Reading gives doubles, which hold every supported dtype except wide 64-bit integers exactly; writing
// rounds to nearest even and follows the dtype's own rule for overflow (dtype.h).
// Errors: a shape with a negative axis or whose size overflows, or that needs more than `limit` bytes.
// A value type; distinct objects may be used from distinct threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fresh_memory.h"
#include "base/result.h"
#include "tensor/dtype.h"

namespace kw::tensor {

using Shape = std::vector<std::int64_t>;

inline constexpr std::int64_t kDefaultTensorLimit = std::int64_t{1} << 34;  // 16 GiB

// The number of elements; kLimit when an axis is negative or the product does not fit 62 bits.
Result<std::int64_t> element_count(const Shape& shape);

// Bytes of `count` elements, the last byte filled up with zero bits.
std::int64_t byte_count(DType dtype, std::int64_t count);

// "f16[128, 64]", as problem files write it.
std::string shape_text(const Shape& shape);

// The index of the flat element `flat` in `shape`; "[3, 17]".
Shape index_of(const Shape& shape, std::int64_t flat);
std::string index_text(const Shape& shape, std::int64_t flat);

class Tensor {
 public:
  Tensor() = default;  // f32 of shape [0]

  static Result<Tensor> zeros(DType dtype, Shape shape, std::int64_t limit = kDefaultTensorLimit);
  // kInvalid when the number of values or bytes is not what the shape asks for.
  static Result<Tensor> from_doubles(DType dtype, Shape shape, std::span<const double> values);
  static Result<Tensor> from_bytes(DType dtype, Shape shape, std::span<const std::byte> bytes);
  // Takes the doubles without a copy of their values: an f64 tensor.
  static Result<Tensor> adopt(Shape shape, FreshVector<double> values);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return size_; }

  std::span<const std::byte> bytes() const { return {data(), byte_size_}; }
  std::span<std::byte> bytes() { return {data(), byte_size_}; }

  // The elements as doubles. `f64()` is the storage itself: KW_CHECK that dtype() is f64.
  std::vector<double> to_doubles() const;
  std::span<const double> f64() const;
  void read(std::int64_t first, std::span<double> out) const;  // as many from `first` on; KW_CHECK: they are there
  double at(std::int64_t flat) const;         // KW_CHECK: 0 <= flat < size()
  void set(std::int64_t flat, double value);  // rounds to the dtype
  std::uint64_t bits_at(std::int64_t flat) const;
  void set_bits(std::int64_t flat, std::uint64_t bits);   // touches no byte but the element's own

  std::string description() const;  // "f16[128, 64]"

 private:
  const std::byte* data() const;
  std::byte* data();

  DType dtype_ = DType::kF32;
  Shape shape_ = {0};
  std::int64_t size_ = 0;
  std::size_t byte_size_ = 0;
  FreshVector<double> storage_;  // doubles for alignment: any dtype may be read in place
};

}  // namespace kw::tensor
