// The 128-byte tensor map (CUtensorMap) of this project: what its cuTensorMapEncodeTiled writes, the emulator
// reads, and a driver-backed device encodes anew. NVIDIA's own layout is not public; ours is little endian:
//   0  u64 global address      8  u32 magic 0x4d54574b ("KWTM")   12 u8 element type (CUtensorMapDataType)
//  13  u8 rank 1…5            14  u8 interleave | swizzle << 4     15 u8 L2 promotion | out-of-bounds fill << 4
//  16  u32[5] extents - 1 (elements, fastest first)                36 u8[5] element strides - 1, 3 bytes zero
//  44  u64[4] strides / 16 (bytes, of dimensions 1…4), each in 5 bytes: 44…63
//  64  u16[5] box extents     74  zero to the end
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace kw::plan {

inline constexpr uint32_t kTensorMapBytes = 128;
inline constexpr uint32_t kTensorMapMagic = 0x4d54574b;

struct TensorMap {
  uint64_t address = 0;
  uint8_t type = 0, rank = 0, interleave = 0, swizzle = 0, promotion = 0, fill = 0;
  std::array<uint64_t, 5> extent{};           // elements
  std::array<uint64_t, 4> stride{};           // bytes, multiples of 16
  std::array<uint32_t, 5> box{};              // elements
  std::array<uint32_t, 5> element_stride{};
};

std::array<uint8_t, kTensorMapBytes> encode(const TensorMap& map);
// Nothing when the bytes are not a tensor map of ours.
std::optional<TensorMap> decode_tensor_map(std::span<const uint8_t> bytes);

}  // namespace kw::plan
