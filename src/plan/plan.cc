#include "plan/plan.h"

#include <algorithm>
#include <limits>

#include "base/hash.h"
#include "tensor/dtype.h"

namespace kw::plan {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::kInput: return "input";
    case Role::kOutput: return "output";
    case Role::kInOut: return "inout";
    case Role::kWorkspace: return "workspace";
  }
  return "?";
}

const Buffer* Plan::find_buffer(std::string_view name) const {
  const auto it = std::find_if(buffers.begin(), buffers.end(), [&](const Buffer& b) { return b.name == name; });
  return it == buffers.end() ? nullptr : &*it;
}

std::string hash_of(std::string_view ptx) { return hash_hex(ptx); }

unsigned bits_of_dtype(std::string_view dtype) {
  const auto type = tensor::dtype_named(dtype);
  return type ? tensor::bits_of(*type) : 0;
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    int64_t next = 0;
    // A product that overflows is refused by bytes_of; here it only must not be undefined.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(shape[i], 1), &next)) next = std::numeric_limits<int64_t>::max();
    stride = next;
  }
  return strides;
}

Result<uint64_t> bytes_of(std::string_view dtype, const std::vector<int64_t>& shape,
                          const std::vector<int64_t>& strides) {
  const unsigned bits = bits_of_dtype(dtype);
  if (bits == 0) return fail(ErrorCode::kInvalid, "'{}' is not an element type", dtype);
  if (shape.size() != strides.size())
    return fail(ErrorCode::kInvalid, "{} dimensions but {} strides", shape.size(), strides.size());
  uint64_t last = 0;  // index of the last element
  bool empty = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) return fail(ErrorCode::kInvalid, "dimension {} is {}; it must not be negative", i, shape[i]);
    if (strides[i] < 0) return fail(ErrorCode::kInvalid, "stride {} is {}; it must not be negative", i, strides[i]);
    if (shape[i] == 0) {
      empty = true;
      continue;
    }
    uint64_t reach = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(shape[i] - 1), static_cast<uint64_t>(strides[i]), &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return fail(ErrorCode::kLimit, "the tensor's extent does not fit 64 bits");
  }
  if (empty) return uint64_t{0};
  if (last >= (kMaxBufferBytes * 8) / bits)
    return fail(ErrorCode::kLimit, "the tensor spans more than {} bytes", kMaxBufferBytes);
  return ((last + 1) * bits + 7) / 8;
}

}  // namespace kw::plan
