#include "judge/element.h"

#include <fmt/format.h>

#include "judge/execute.h"

namespace kw::judge {

TensorElement element_of(const plan::Plan& plan, const emu::Finding& finding) {
  TensorElement out;
  const bool on_device = finding.space == ptx::Space::kGlobal || finding.space == ptx::Space::kNone;
  const plan::Buffer* buffer = on_device ? plan.find_buffer(finding.object) : nullptr;
  if (buffer == nullptr || buffer->role == plan::Role::kWorkspace) return out;
  out.role = plan::name_of(buffer->role);
  out.tensor = buffer->name;
  out.dtype = buffer->dtype;
  out.shape = buffer->shape;
  uint64_t bits = plan::bits_of_dtype(buffer->dtype);
  if (bits == 0 || buffer->bytes > (uint64_t{1} << 60) || finding.object_offset < 0 || static_cast<uint64_t>(finding.object_offset) >= buffer->bytes) return out;
  if (!buffer->strides.empty() && buffer->strides != plan::contiguous_strides(buffer->shape)) return out;
  int64_t elements = 1;
  for (const int64_t extent : buffer->shape) {
    if (extent <= 0 || __builtin_mul_overflow(elements, extent, &elements)) return out;
  }
  if (buffer->bytes == static_cast<uint64_t>(elements)) bits = 8;  // narrow elements that are not packed
  const uint64_t flat = static_cast<uint64_t>(finding.object_offset) * 8 / bits;
  if (flat >= static_cast<uint64_t>(elements)) return out;
  out.index = unflatten(buffer->shape, static_cast<int64_t>(flat));
  return out;
}

std::string text_of(const TensorElement& element, const emu::Finding& finding) {
  if (element.role.empty()) return "";
  const bool before = finding.object_offset < 0;
  const uint64_t bytes = before ? 0 - static_cast<uint64_t>(finding.object_offset) : static_cast<uint64_t>(finding.object_offset);
  const std::string type = fmt::format("{} [{}]", element.dtype, fmt::join(element.shape, ", "));
  std::string out = fmt::format("{} {} {} {} bytes", element.role, element.tensor, before ? '-' : '+', bytes);
  if (!element.index.empty()) return out + fmt::format(": element [{}] of {}", fmt::join(element.index, ", "), type);
  return out + (element.shape.empty() ? ": " + element.dtype : ", which is " + type);
}

}  // namespace kw::judge
