// PTX out of a fat binary: the container that nvcc puts into a program's .nv_fatbin section.
// Wrapper: fatbinary_section.h of the toolkit. Container (as fatbinary(1) writes it, little endian):
//   header  u32 magic 0xba55ed50, u16 version 1, u16 header bytes, u64 bytes of the entries that follow
//   entry   +0 u16 kind (1 PTX, 2 cubin)  +4 u32 header bytes  +8 u64 payload bytes (padded)
//           +16 u32 compressed bytes (0: not)  +28 u32 architecture  +40 u64 flags (0x2000 LZ4, 0x8000 zstd)
//           +56 u64 bytes when decompressed; the payload follows the header
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace kw::runtime {

// The PTX of the highest architecture in the wrapper's container. `wrapper` is what __cudaRegisterFatBinary got.
// Errors: not a fat binary; cubin only; compressed by something else than LZ4.
Result<std::string> ptx_of_fat_binary(const void* wrapper);

// The same for a container in memory.
Result<std::string> ptx_of_container(std::span<const uint8_t> container);

// One LZ4 block (lz4_Block_format.md of the LZ4 project). Any input is accepted.
Result<std::string> lz4_block(std::span<const uint8_t> packed, uint64_t bytes);

}  // namespace kw::runtime
