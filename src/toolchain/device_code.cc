#include "toolchain/device_code.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <span>

#include "base/file.h"
#include "plan/runtime/fatbinary.h"

namespace kw::toolchain {
namespace {

template <typename T>
std::optional<T> load(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string_view section(std::string_view file, std::string_view wanted) {
  const auto header = load<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) return {};
  const auto row = [&](uint64_t index) { return load<Elf64_Shdr>(file, header->e_shoff + index * sizeof(Elf64_Shdr)); };
  const auto names = row(header->e_shstrndx);
  if (!names || names->sh_offset > file.size()) return {};
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto entry = row(i);
    if (!entry || entry->sh_type == SHT_NOBITS) continue;
    const std::string_view table = file.substr(names->sh_offset, names->sh_size);
    if (entry->sh_name >= table.size() || table.substr(entry->sh_name, wanted.size()) != wanted) continue;
    if (entry->sh_name + wanted.size() >= table.size() || table[entry->sh_name + wanted.size()] != '\0') continue;
    if (entry->sh_offset > file.size()) return {};
    return file.substr(entry->sh_offset, entry->sh_size);
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> device_code(const std::string& program) {
  KW_TRY(const std::string file, read_file(program));
  const std::string_view bytes = section(file, ".nv_fatbin");
  constexpr uint64_t kHeaderBytes = 16;
  constexpr uint32_t kMagic = 0xba55ed50;
  std::vector<std::string> out;
  for (uint64_t at = 0; at + kHeaderBytes <= bytes.size();) {
    if (load<uint32_t>(bytes, at) != kMagic) {
      at += 8;  // containers are aligned to eight bytes, padded with zeros
      continue;
    }
    const uint64_t length = kHeaderBytes + std::min<uint64_t>(*load<uint64_t>(bytes, at + 8), bytes.size());
    const std::string_view container = bytes.substr(at, length);
    KW_TRY(std::string ptx, runtime::ptx_of_container({reinterpret_cast<const uint8_t*>(container.data()), container.size()}));
    out.push_back(std::move(ptx));
    at += (length + 7) / 8 * 8;
  }
  if (out.empty()) return fail(ErrorCode::kNotFound, "{} holds no device code", program);
  return out;
}

}  // namespace kw::toolchain
