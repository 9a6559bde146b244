#include "tensor/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace kw::tensor {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kPrelude = 10;  // magic, version, length of the header

struct Descr {
  DType dtype;
  std::string_view text;
};
constexpr Descr kDescr[] = {{DType::kF64, "<f8"}, {DType::kF32, "<f4"}, {DType::kF16, "<f2"}, {DType::kI8, "|i1"},
                            {DType::kU8, "|u1"},  {DType::kI16, "<i2"}, {DType::kU16, "<u2"}, {DType::kI32, "<i4"},
                            {DType::kU32, "<u4"}, {DType::kI64, "<i8"}, {DType::kU64, "<u8"}, {DType::kBool, "|b1"}};

// What follows `'key':` in the header, blanks skipped.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key) {
  const std::string quoted = fmt::format("'{}':", key);
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view value = header.substr(at + quoted.size());
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value;
}

// "(3, 4)", "(3,)", "()".
std::optional<Shape> parse_shape(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  const std::size_t end = text.find(')');
  if (end == std::string_view::npos) return std::nullopt;
  Shape shape;
  const char* at = text.data() + 1;
  const char* const last = text.data() + end;
  while (true) {
    while (at != last && (*at == ' ' || *at == ',')) ++at;
    if (at == last) return shape;
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(at, last, size);
    if (error != std::errc() || size < 0 || shape.size() >= 32) return std::nullopt;
    shape.push_back(size);
    at = next;
  }
}

}  // namespace

Result<std::string> npy_bytes(const Tensor& tensor) {
  std::string_view descr;
  for (const Descr& each : kDescr)
    if (each.dtype == tensor.dtype()) descr = each.text;
  if (descr.empty())
    return fail(ErrorCode::kUnsupported, "NumPy has no dtype for {}; write it as f32", name_of(tensor.dtype()));
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                   fmt::join(tensor.shape(), ", "), tensor.shape().size() == 1 ? "," : "");
  header.append(63 - (kPrelude + header.size()) % 64, ' ').push_back('\n');
  std::string bytes(kMagic);
  bytes.append({'\x01', '\x00', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)});
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
  return bytes;
}

Result<Tensor> parse_npy(std::string_view bytes, std::string_view name) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kInvalid, "{}: {}; numpy.save writes what is read here", name, why);
  };
  if (!bytes.starts_with(kMagic) || bytes.size() < kPrelude + 2) return refuse("no NumPy file (.npy)");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const bool wide = byte(6) >= 2;
  const std::size_t start = wide ? kPrelude + 2 : kPrelude;
  const std::size_t length = byte(8) | byte(9) << 8 | (wide ? byte(10) << 16 | byte(11) << 24 : 0);
  if (byte(6) < 1 || byte(6) > 3 || length > bytes.size() - start) return refuse("a header of an unknown version or cut off");
  const std::string_view header = bytes.substr(start, length), data = bytes.substr(start + length);

  const auto descr = value_of(header, "descr"), order = value_of(header, "fortran_order"), shape_of = value_of(header, "shape");
  if (!descr || !order || !shape_of) return refuse("a header without descr, fortran_order or shape");
  if (!order->starts_with("False")) return refuse("elements in Fortran order");
  const auto shape = parse_shape(*shape_of);
  if (!shape) return refuse("a shape that is no tuple of sizes");
  for (const Descr& each : kDescr) {
    if (!descr->starts_with(fmt::format("'{}'", each.text))) continue;
    KW_TRY(const std::int64_t count, element_count(*shape));
    if (byte_count(each.dtype, count) != static_cast<std::int64_t>(data.size()))
      return refuse(fmt::format("{} bytes of elements for {}{}", data.size(), name_of(each.dtype), shape_text(*shape)));
    return Tensor::from_bytes(each.dtype, *shape, std::as_bytes(std::span(data.data(), data.size())));
  }
  return refuse(fmt::format("dtype {}", descr->substr(0, std::min<std::size_t>(descr->find(','), 16))));
}

}  // namespace kw::tensor
