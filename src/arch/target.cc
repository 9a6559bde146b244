#include "arch/target.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

namespace kw::arch {
namespace {

// The number at the start of a name's digits; -1 when there is none.
int number_in(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string list_of_names() {
  std::string names;
  for (const Target& target : all_targets()) {
    if (!names.empty()) names += ", ";
    names += target.name;
  }
  return names;
}

}  // namespace

bool Target::runs_on(const Target& device) const {
  switch (variant) {
    case 'a': return number() == device.number();
    case 'f': return major == device.major && number() <= device.number();
    default: return number() <= device.number();
  }
}

Result<const Target*> find_target(std::string_view asked) {
  std::string_view suffix = asked;
  for (const std::string_view prefix : {"sm_", "compute_"}) {
    if (suffix.starts_with(prefix)) {
      suffix.remove_prefix(prefix.size());
      break;
    }
  }
  for (const Target& target : all_targets()) {
    if (target.name.substr(3) == suffix) return &target;
  }
  // What is typed may be of any length and hold anything.
  std::string shown{asked.substr(0, 40)};
  for (char& c : shown) {
    if (!std::isprint(static_cast<unsigned char>(c))) c = '?';
  }
  auto error = fail(ErrorCode::kUnsupported, "unknown target \"{}\"; there are {}", shown, list_of_names());
  const int number = number_in(suffix);
  if (number >= 0) {
    const Target* nearest = &all_targets().front();
    for (const Target& target : all_targets()) {
      if (std::abs(target.number() - number) < std::abs(nearest->number() - number)) nearest = &target;
    }
    error.value().notes.push_back(fmt::format("the nearest is {}", nearest->name));
  }
  return error;
}

Result<const Target*> target_of_device(int major, int minor) {
  const Target* best = nullptr;
  for (const Target& target : all_targets()) {
    if (target.major == major && target.minor == minor && (best == nullptr || target.variant == 'a')) best = &target;
  }
  if (best == nullptr) {
    return fail(ErrorCode::kUnsupported, "no data about devices of compute capability {}.{}; there are {}", major,
                minor, list_of_names());
  }
  return best;
}

bool ptx_knows(int ptx_major, int ptx_minor, const Target& target) {
  return ptx_major != target.ptx_major ? ptx_major > target.ptx_major : ptx_minor >= target.ptx_minor;
}

std::string_view name(Feature feature) {
  switch (feature) {
    case Feature::kMmaInt8: return "8-bit integer mma";
    case Feature::kMmaInt4: return "4-bit and 1-bit integer mma";
    case Feature::kLdmatrix: return "ldmatrix";
    case Feature::kCpAsync: return "cp.async and mbarrier";
    case Feature::kMmaBf16: return "bf16 and tf32 mma";
    case Feature::kMmaF64: return "fp64 mma";
    case Feature::kMmaSparse: return "sparse mma";
    case Feature::kRedux: return "redux.sync";
    case Feature::kFp8: return "fp8";
    case Feature::kCluster: return "clusters";
    case Feature::kBulkCopy: return "bulk and tensor copies";
    case Feature::kWgmma: return "wgmma";
    case Feature::kSetmaxnreg: return "setmaxnreg";
    case Feature::kTcgen05: return "tcgen05";
    case Feature::kMmaBlockScale: return "block-scaled mma";
    case Feature::kNarrowConvert: return "fp4 and fp6 conversions";
    case Feature::kPackedF32: return "packed f32x2 arithmetic";
  }
  return "";
}

}  // namespace kw::arch
