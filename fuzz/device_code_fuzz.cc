// Any bytes as a container of device code, as an LZ4 block, and as an encoded tensor map: what a candidate's program brings.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "plan/runtime/fatbinary.h"
#include "plan/tensor_map.h"

using namespace kw;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  if (const auto ptx = runtime::ptx_of_container(bytes); !ptx) KW_CHECK(!ptx.error().message.empty());
  const std::uint64_t claimed = size < 2 ? 0 : data[0] * 16u + data[1];
  const auto block = runtime::lz4_block(bytes.subspan(std::min<std::size_t>(size, 2)), claimed);
  KW_CHECK(!block || block->size() == claimed);
  if (const auto map = plan::decode_tensor_map(bytes)) KW_CHECK(map->rank >= 1 && map->rank <= 5);
  return 0;
}
