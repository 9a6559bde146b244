// What was tried, what it gave, what is refuted: one entry for each idea, over all places where it was tried.
// A value: it may be saved (experience_json) and given to another search, which then takes it for evidence
// about the strength of advice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::search {

struct Experience {
  uint64_t tried = 0;
  uint64_t worked = 0;
  uint64_t faster = 0;               // faster than its parent, by more than chance
  double gain = 0;                   // sum of ln(time of the parent / own time) over those faster
  std::vector<std::string> remarks;  // what was learned, the newest last; at most kRemarks
  bool operator==(const Experience&) const = default;
};
using Memory = std::map<std::string, Experience, std::less<>>;

inline constexpr size_t kRemarks = 8;

enum class Trial : uint8_t { kFailed, kSlower, kFaster };

// `gain` counts for kFaster alone. An empty idea is not remembered, nor a remark that is the newest already.
void remember(Memory& memory, std::string_view idea, Trial trial, double gain, const std::string& remark);

// The strength of advice that starts at `priority` (clamped to 0 … 1; 0.5 when it is not a number) and is
// revised by experience, which counts as if the advice itself rested on `weight` trials: the mean of a beta
// distribution.
double strength(const Memory& memory, std::string_view idea, double priority, double weight);

// Tried at least three times, and never faster.
bool refuted(const Experience& experience);

// One line of JSON. Any text is an experience or an error (kInvalid).
std::string experience_json(const Experience& experience);
Result<Experience> experience_from(std::string_view json);

}  // namespace kw::search
