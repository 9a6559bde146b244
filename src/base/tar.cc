#include "base/tar.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace kw {
namespace {

constexpr size_t kBlock = 512;

// Fields of a header: offset and size.
struct Field {
  size_t at, size;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kUser{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12}, kSum{148, 8}, kMagic{257, 8};
constexpr size_t kType = 156;
constexpr std::string_view kUstar("ustar\0" "00", 8);

void put(std::string& header, Field field, std::string_view text) { header.replace(field.at, text.size(), text); }
void put_octal(std::string& header, Field field, uint64_t number) { put(header, field, fmt::format("{:0{}o}", number, field.size - 1)); }

std::string_view text_of(std::string_view header, Field field) {
  const std::string_view text = header.substr(field.at, field.size);
  return text.substr(0, text.find('\0'));
}

// Octal digits, with blanks and zero bytes around them.
Result<uint64_t> octal_of(std::string_view header, Field field) {
  std::string_view text = text_of(header, field);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 8);
  if (error != std::errc() || end != text.data() + text.size()) return fail(ErrorCode::kInvalid, "a number that is none");
  return number;
}

// Of all bytes, those of the sum itself counted as blanks.
uint64_t sum_of(std::string_view header) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) sum += i >= kSum.at && i < kSum.at + kSum.size ? ' ' : static_cast<uint8_t>(header[i]);
  return sum;
}

size_t padded(size_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }
bool is_zero(std::string_view block) { return std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; }); }

}  // namespace

Result<std::string> write_tar(const std::vector<TarMember>& members) {
  std::string out;
  for (const TarMember& member : members) {
    if (member.name.empty() || member.name.size() > kName.size) return fail(ErrorCode::kLimit, "'{}' is no name for a member of an archive", member.name);
    if (member.content.size() >= uint64_t{1} << 33) return fail(ErrorCode::kLimit, "'{}' is too large for an archive", member.name);
    std::string header(kBlock, '\0');
    put(header, kName, member.name);
    put_octal(header, kMode, 0644);
    put_octal(header, kUser, 0);
    put_octal(header, kGroup, 0);
    put_octal(header, kSize, member.content.size());
    put_octal(header, kTime, 0);
    header[kType] = '0';
    put(header, kMagic, kUstar);
    put(header, kSum, fmt::format("{:06o}", sum_of(header)));
    header[kSum.at + 7] = ' ';
    out += header;
    out += member.content;
    out.resize(padded(out.size()), '\0');
  }
  return out + std::string(2 * kBlock, '\0');
}

Result<std::vector<TarMember>> read_tar(std::string_view bytes, std::string_view file) {
  std::vector<TarMember> members;
  for (size_t at = 0;;) {
    if (bytes.size() - at < 2 * kBlock) return fail(ErrorCode::kInvalid, "{}: cut short: the end of the archive is missing; copy it again", file);
    const std::string_view header = bytes.substr(at, kBlock);
    if (is_zero(header) && is_zero(bytes.substr(at + kBlock, kBlock))) return members;
    const auto sum = octal_of(header, kSum), size = octal_of(header, kSize);
    if (text_of(header, kMagic) != "ustar" || !sum || !size || *sum != sum_of(header))
      return fail(ErrorCode::kInvalid, "{}: {}", file, at == 0 ? "no archive" : fmt::format("altered: no header at byte {}", at));
    const std::string name(text_of(header, kName));
    if (name.empty() || (header[kType] != '0' && header[kType] != '\0')) return fail(ErrorCode::kInvalid, "{}: member '{}' is no regular file", file, name);
    at += kBlock;
    if (*size > bytes.size() - at) return fail(ErrorCode::kInvalid, "{}: cut short within '{}'; copy it again", file, name);
    members.push_back({name, bytes.substr(at, *size)});
    at += std::min(padded(*size), bytes.size() - at);
  }
}

}  // namespace kw
