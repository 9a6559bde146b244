#include "search/memory.h"

#include <algorithm>
#include <cmath>

namespace kw::search {

void remember(Memory& memory, std::string_view idea, Trial trial, double gain, const std::string& remark) {
  if (idea.empty()) return;
  Experience& e = memory[std::string(idea)];
  ++e.tried;
  e.worked += trial != Trial::kFailed;
  e.faster += trial == Trial::kFaster;
  if (trial == Trial::kFaster && std::isfinite(gain)) e.gain += gain;
  if (remark.empty() || (!e.remarks.empty() && e.remarks.back() == remark)) return;
  e.remarks.push_back(remark);
  if (e.remarks.size() > kRemarks) e.remarks.erase(e.remarks.begin());
}

double strength(const Memory& memory, std::string_view idea, double priority, double weight) {
  priority = std::isnan(priority) ? 0.5 : std::clamp(priority, 0.0, 1.0);
  const auto found = memory.find(idea);
  if (found == memory.end() || found->second.tried == 0) return priority;
  const auto tried = static_cast<double>(found->second.tried);
  return (weight * priority + static_cast<double>(found->second.faster)) / (weight + tried);
}

bool refuted(const Experience& experience) { return experience.tried >= 3 && experience.faster == 0; }

}  // namespace kw::search
