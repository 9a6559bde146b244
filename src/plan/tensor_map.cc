#include "plan/tensor_map.h"

#include <cstring>

namespace kw::plan {
namespace {

void put(uint8_t* at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) at[i] = static_cast<uint8_t>(value >> (8 * i));
}

uint64_t get(const uint8_t* at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= uint64_t{at[i]} << (8 * i);
  return value;
}

}  // namespace

std::array<uint8_t, kTensorMapBytes> encode(const TensorMap& map) {
  std::array<uint8_t, kTensorMapBytes> bytes{};
  uint8_t* b = bytes.data();
  put(b, map.address, 8);
  put(b + 8, kTensorMapMagic, 4);
  b[12] = map.type;
  b[13] = map.rank;
  b[14] = static_cast<uint8_t>(map.interleave | (map.swizzle << 4));
  b[15] = static_cast<uint8_t>(map.promotion | (map.fill << 4));
  for (size_t i = 0; i < map.rank && i < 5; ++i) {
    put(b + 16 + 4 * i, map.extent[i] - 1, 4);
    put(b + 36 + i, map.element_stride[i] - 1, 1);
    if (i < 4 && i + 1 < map.rank) put(b + 44 + 5 * i, map.stride[i] / 16, 5);
    put(b + 64 + 2 * i, map.box[i], 2);
  }
  return bytes;
}

std::optional<TensorMap> decode_tensor_map(std::span<const uint8_t> bytes) {
  if (bytes.size() < kTensorMapBytes) return std::nullopt;
  const uint8_t* b = bytes.data();
  TensorMap map;
  map.rank = b[13];
  if (get(b + 8, 4) != kTensorMapMagic || map.rank < 1 || map.rank > 5) return std::nullopt;
  map.address = get(b, 8);
  map.type = b[12];
  map.interleave = b[14] & 15;
  map.swizzle = b[14] >> 4;
  map.promotion = b[15] & 15;
  map.fill = b[15] >> 4;
  for (size_t i = 0; i < map.rank; ++i) {
    map.extent[i] = get(b + 16 + 4 * i, 4) + 1;
    map.element_stride[i] = b[36 + i] + 1u;
    if (i + 1 < map.rank) map.stride[i] = get(b + 44 + 5 * i, 5) * 16;
    map.box[i] = static_cast<uint32_t>(get(b + 64 + 2 * i, 2));
  }
  return map;
}

}  // namespace kw::plan
