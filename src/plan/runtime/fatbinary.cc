#include "plan/runtime/fatbinary.h"

#include <cstring>

namespace kw::runtime {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kContainerMagic = 0xba55ed50;
constexpr uint64_t kMaxText = uint64_t{512} << 20;
constexpr uint16_t kKindPtx = 1, kKindCubin = 2;
constexpr uint64_t kFlagLz4 = 0x2000, kFlagZstd = 0x8000;

template <typename T> T load(std::span<const uint8_t> bytes, uint64_t offset) {
  T value{};
  if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

}  // namespace

Result<std::string> lz4_block(std::span<const uint8_t> packed, uint64_t bytes) {
  if (bytes > kMaxText) return fail(ErrorCode::kLimit, "a compressed module claims {} bytes", bytes);
  const auto broken = [] { return fail(ErrorCode::kInvalid, "a compressed module is damaged; build it again with --no-compress"); };
  std::string out;
  out.reserve(bytes);
  size_t at = 0;
  const auto length = [&](uint64_t value) {  // continues a length of 15 by bytes of 255
    if (value != 15) return value;
    while (at < packed.size()) {
      const uint8_t more = packed[at++];
      value += more;
      if (more != 255) break;
    }
    return value;
  };
  while (at < packed.size()) {
    const uint8_t token = packed[at++];
    const uint64_t literals = length(token >> 4);
    if (literals > packed.size() - at || out.size() + literals > bytes) return broken();
    out.append(reinterpret_cast<const char*>(packed.data()) + at, literals);
    at += literals;
    if (at >= packed.size()) break;
    if (packed.size() - at < 2) return broken();
    const size_t distance = packed[at] | (packed[at + 1] << 8);
    at += 2;
    const uint64_t match = length(token & 15) + 4;
    if (distance == 0 || distance > out.size() || out.size() + match > bytes) return broken();
    for (uint64_t i = 0; i < match; ++i) out.push_back(out[out.size() - distance]);
  }
  if (out.size() != bytes) return broken();
  return out;
}

Result<std::string> ptx_of_container(std::span<const uint8_t> container) {
  if (container.size() < 16 || load<uint32_t>(container, 0) != kContainerMagic)
    return fail(ErrorCode::kInvalid, "the program's device code is not a fat binary of nvcc");
  uint64_t at = load<uint16_t>(container, 6);
  const uint64_t end = std::min<uint64_t>(container.size(), at + load<uint64_t>(container, 8));
  bool cubin = false;
  uint32_t best_arch = 0;
  std::string best;
  while (at + 64 <= end) {
    const auto entry = container.subspan(at);
    const auto kind = load<uint16_t>(entry, 0);
    const uint64_t header = load<uint32_t>(entry, 4), payload = load<uint64_t>(entry, 8);
    if (header < 64 || header > entry.size() || payload > entry.size() - header) break;
    const auto arch = load<uint32_t>(entry, 28);
    if (kind == kKindCubin) cubin = true;
    if (kind == kKindPtx && arch >= best_arch) {
      const auto flags = load<uint64_t>(entry, 40);
      const uint64_t compressed = load<uint32_t>(entry, 16);
      auto bytes = entry.subspan(header, payload);
      if ((flags & kFlagZstd) != 0)
        return fail(ErrorCode::kUnsupported, "the device code is compressed with zstd; build the program with --no-compress "
                                             "(kw nvcc does) or --compress-mode=speed");
      if ((flags & kFlagLz4) != 0) {
        if (compressed > bytes.size()) return fail(ErrorCode::kInvalid, "the device code is damaged");
        KW_TRY(best, lz4_block(bytes.first(compressed), load<uint64_t>(entry, 56)));
      } else {
        best.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      }
      best.resize(std::min(best.size(), best.find('\0')));  // padding
      best_arch = arch;
    }
    at += header + payload;
  }
  if (!best.empty()) return best;
  if (cubin)
    return fail(ErrorCode::kUnsupported, "the program holds only machine code (cubin), no PTX; build it with "
                                         "-gencode arch=compute_80,code=compute_80 (kw nvcc does)");
  return fail(ErrorCode::kInvalid, "the program's fat binary holds no device code");
}

Result<std::string> ptx_of_fat_binary(const void* wrapper) {
  struct Wrapper {
    uint32_t magic, version;
    const uint8_t* data;
    const void* more;
  } head;
  if (wrapper == nullptr) return fail(ErrorCode::kInvalid, "no fat binary was given");
  std::memcpy(&head, wrapper, sizeof head);
  if (head.magic != kWrapperMagic || head.data == nullptr)
    return fail(ErrorCode::kInvalid, "the program's device code is not a fat binary of nvcc");
  if (head.version != 1)
    return fail(ErrorCode::kUnsupported, "the program was linked from relocatable device code (-rdc=true), which needs "
                                         "nvlink; build it without");
  const std::span<const uint8_t> start(head.data, 16);
  if (load<uint32_t>(start, 0) != kContainerMagic)
    return fail(ErrorCode::kInvalid, "the program's device code is not a fat binary of nvcc");
  const uint64_t bytes = load<uint16_t>(start, 6) + load<uint64_t>(start, 8);
  if (bytes > (uint64_t{4} << 30)) return fail(ErrorCode::kLimit, "the fat binary claims {} bytes", bytes);
  return ptx_of_container(std::span<const uint8_t>(head.data, bytes));
}

}  // namespace kw::runtime
