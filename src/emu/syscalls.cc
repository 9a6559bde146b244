// Functions that the driver provides to device code: vprintf, __assertfail, malloc, free.
#include <bit>
#include <cinttypes>
#include <cstdio>

#include "emu/block.h"
#include "emu/observer.h"

namespace kw::emu {
namespace {

constexpr size_t kMaxString = 1u << 16;
constexpr size_t kMaxBlockOutput = 1u << 20;      // per block; what CUDA's buffer holds for all
constexpr int kMaxWidth = 512;

// Host memory behind a generic address of a lane, and how much of it is accessible from there on.
const uint8_t* generic_bytes(const Warp& w, int lane, uint64_t address, uint64_t& available) {
  const BlockContext& b = *w.block;
  if (address >= kSharedWindow && address - kSharedWindow < b.shared_bytes) {
    available = b.shared_bytes - (address - kSharedWindow);
    return b.shared + (address - kSharedWindow);
  }
  if (address >= kLocalWindow && address - kLocalWindow < w.local_stride) {
    available = w.local_stride - (address - kLocalWindow);
    return w.local + size_t{w.local_stride} * static_cast<size_t>(lane) + (address - kLocalWindow);
  }
  const Allocation* a = b.memory->find(address);
  if (a == nullptr) return nullptr;
  available = a->end - address;
  return reinterpret_cast<const uint8_t*>(address);
}

bool read_string(const Warp& w, int lane, uint64_t address, std::string& out) {
  out.clear();
  uint64_t available = 0;
  const uint8_t* bytes = generic_bytes(w, lane, address, available);
  if (bytes == nullptr) return false;
  for (uint64_t i = 0; i < available && i < kMaxString; ++i) {
    if (bytes[i] == 0) return true;
    out += static_cast<char>(bytes[i]);
  }
  return available >= kMaxString;   // cut off
}

// The argument buffer of vprintf: values at multiples of their size, floats as doubles.
struct ArgumentBuffer {
  const uint8_t* bytes = nullptr;
  uint64_t available = 0, at = 0;
  bool overrun = false;
  uint64_t take(unsigned size) {
    at = (at + size - 1) / size * size;
    uint64_t value = 0;
    if (bytes == nullptr || at + size > available) {
      overrun = true;
      return 0;
    }
    std::memcpy(&value, bytes + at, size);
    at += size;
    return value;
  }
};

template <typename T>
void print_value(std::string& out, const std::string& spec, T value) {
  char buffer[2048];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int n = std::snprintf(buffer, sizeof buffer, spec.c_str(), value);
#pragma GCC diagnostic pop
  if (n > 0) out.append(buffer, std::min<size_t>(static_cast<size_t>(n), sizeof buffer - 1));
}

// Formats as C's printf does; conversions that are not printf's are printed as written.
std::string format_output(const Warp& w, int lane, const std::string& format, ArgumentBuffer& arguments) {
  std::string out;
  for (size_t i = 0; i < format.size() && out.size() < kMaxString; ++i) {
    if (format[i] != '%') { out += format[i]; continue; }
    const size_t start = i++;
    if (i < format.size() && format[i] == '%') { out += '%'; continue; }
    std::string spec = "%";
    while (i < format.size() && std::strchr("-+ #0", format[i]) != nullptr && spec.size() < 16) spec += format[i++];
    auto number = [&](int limit) {
      int value = 0;
      if (i < format.size() && format[i] == '*') {
        ++i;
        value = static_cast<int32_t>(arguments.take(4));
      } else {
        while (i < format.size() && format[i] >= '0' && format[i] <= '9') value = std::min(value * 10 + (format[i++] - '0'), 100000);
      }
      return std::clamp(value, -limit, limit);
    };
    if (i < format.size() && (format[i] == '*' || (format[i] >= '1' && format[i] <= '9'))) spec += std::to_string(number(kMaxWidth));
    if (i < format.size() && format[i] == '.') {
      ++i;
      const int precision = number(kMaxWidth);
      if (precision >= 0) spec += "." + std::to_string(precision);   // a negative one is as if none were given
    }
    unsigned size = 4;
    int halves = 0;
    while (i < format.size() && std::strchr("hlLqjzt", format[i]) != nullptr) {
      if (format[i] == 'h') ++halves; else size = 8;
      ++i;
    }
    if (i >= format.size()) { out += format.substr(start); break; }
    const char c = format[i];
    switch (c) {
      case 'd': case 'i': {
        int64_t value = static_cast<int64_t>(arguments.take(size));
        if (size == 4) value = static_cast<int32_t>(value);
        if (halves == 1) value = static_cast<int16_t>(value);
        if (halves >= 2) value = static_cast<int8_t>(value);
        print_value(out, spec + PRId64, value);
        break;
      }
      case 'u': case 'x': case 'X': case 'o': {
        uint64_t value = arguments.take(size);
        if (halves == 1) value &= 0xffff;
        if (halves >= 2) value &= 0xff;
        print_value(out, spec + "l" + c, static_cast<unsigned long>(value));
        break;
      }
      case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A':
        print_value(out, spec + c, std::bit_cast<double>(arguments.take(8)));
        break;
      case 'c':
        print_value(out, spec + c, static_cast<int>(arguments.take(4) & 0xff));
        break;
      case 'p': {
        const uint64_t value = arguments.take(8);
        print_value(out, spec + c, reinterpret_cast<void*>(value));
        break;
      }
      case 's': {
        std::string text;
        const uint64_t address = arguments.take(8);
        if (address == 0 || !read_string(w, lane, address, text)) text = "(null)";
        print_value(out, spec + c, text.c_str());
        break;
      }
      case 'n':
        (void)arguments.take(8);
        break;
      default:
        out += format.substr(start, i - start + 1);
    }
  }
  return out;
}

}  // namespace

bool Block::call_system(WarpState& state, const Insn& insn, const CallSite& site, Mask lanes) {
  Warp& w = state.warp;
  auto argument = [&](int lane, size_t index) {
    uint64_t value = 0;
    const CallSite::Argument& a = site.arguments[index];
    std::memcpy(&value, w.local + size_t{w.local_stride} * static_cast<size_t>(lane) + w.local_frame + a.frame_offset,
                std::min<uint32_t>(a.bytes, 8));
    return value;
  };
  auto give = [&](int lane, uint64_t value) {
    if (site.returns.empty()) return;
    const CallSite::Argument& a = site.returns[0];
    std::memcpy(w.local + size_t{w.local_stride} * static_cast<size_t>(lane) + w.local_frame + a.frame_offset, &value,
                std::min<uint32_t>(a.bytes, 8));
    if (context_.observer == nullptr) return;
    uint64_t addresses[kLanes] = {};  // the result is a write of the caller's frame like any other
    addresses[lane] = uint64_t{w.local_frame} + a.frame_offset;
    context_.observer->access(w, insn, ptx::Space::kLocal, Access::kWrite, addresses, Mask{1} << lane, std::min<uint32_t>(a.bytes, 8));
  };
  for (Mask m = lanes; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    auto fault = [&](Finding::Kind kind, std::string message) {
      Finding finding;
      finding.kind = kind;
      finding.message = std::move(message);
      context_.fault(w, insn, lane, std::move(finding));
      return false;
    };
    switch (site.system) {
      case CallSite::System::kVprintf: {
        std::string format;
        if (!read_string(w, lane, argument(lane, 0), format)) {
          return fault(Finding::Kind::kOutOfBounds, fmt::format("printf with a format at {:#x}, which is no string", argument(lane, 0)));
        }
        ArgumentBuffer buffer;
        buffer.bytes = generic_bytes(w, lane, argument(lane, 1), buffer.available);
        const std::string text = format_output(w, lane, format, buffer);
        if (buffer.overrun) {
          return fault(Finding::Kind::kOutOfBounds, fmt::format("printf(\"{}\") reads past its arguments", format));
        }
        if (context_.output.size() + text.size() <= kMaxBlockOutput) context_.output += text;
        give(lane, 0);
        break;
      }
      case CallSite::System::kAssertFail: {
        std::string message, file, function;
        read_string(w, lane, argument(lane, 0), message);
        read_string(w, lane, argument(lane, 1), file);
        read_string(w, lane, argument(lane, 3), function);
        return fault(Finding::Kind::kTrap, fmt::format("assertion '{}' failed in {} ({}:{})", message, function, file,
                                                       static_cast<uint32_t>(argument(lane, 2))));
      }
      case CallSite::System::kMalloc: {
        const uint64_t bytes = argument(lane, 0);
        uint64_t address = 0;
        if (bytes != 0 && bytes <= (uint64_t{1} << 30)) {
          auto allocated = context_.memory->allocate(bytes, "device heap", 16);
          if (allocated) address = *allocated;   // null when the heap is exhausted, as on a device
        }
        give(lane, address);
        break;
      }
      case CallSite::System::kFree: {
        const uint64_t address = argument(lane, 0);
        if (address == 0) break;
        const Allocation* a = context_.memory->find(address);
        if (a == nullptr || a->begin != address || a->label != "device heap") {
          return fault(Finding::Kind::kInvalidOperand, fmt::format("free of {:#x}, which malloc did not return", address));
        }
        (void)context_.memory->free(address);
        context_.ranges = {};
        break;
      }
      case CallSite::System::kNone:
        break;
    }
  }
  return true;
}

}  // namespace kw::emu
