// Any bytes as a NumPy file: a tensor or an error with a message. A tensor is written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "tensor/npy.h"

using namespace kw;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tensor = tensor::parse_npy({reinterpret_cast<const char*>(data), size}, "fuzz.npy");
  if (!tensor) {
    KW_CHECK(!tensor.error().message.empty());
    return 0;
  }
  (void)tensor->to_doubles();
  const auto written = tensor::npy_bytes(*tensor);
  KW_CHECK(written);
  const auto again = tensor::parse_npy(*written, "again.npy");
  KW_CHECK(again && again->description() == tensor->description() && *tensor::npy_bytes(*again) == *written);
  return 0;
}
