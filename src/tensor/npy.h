// Tensors as NumPy files (.npy), the format of numpy.lib.format: a magic string, a version, the text of a dictionary,
// the elements. Written as version 1.0; versions 1 to 3 are read, in C order and little endian.
// Dtypes that NumPy has: f64 f32 f16, i8 … u64, bool. Any other is kUnsupported. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "tensor/tensor.h"

namespace kw::tensor {

Result<std::string> npy_bytes(const Tensor& tensor);
// `name` is what messages call it. Bad files give errors, never more memory than they have bytes.
Result<Tensor> parse_npy(std::string_view bytes, std::string_view name);

}  // namespace kw::tensor
