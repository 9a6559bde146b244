#include "base/near_miss.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace kw {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

}  // namespace

unsigned edit_cost(std::string_view a, std::string_view b, unsigned at_most) {
  const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (std::max(a.size(), b.size()) > kLongestNearMiss || 2 * difference > at_most) return at_most + 1;
  using Row = std::array<unsigned, kLongestNearMiss + 1>;
  std::array<Row, 3> rows;   // row i of the table of prefixes is rows[i % 3]
  for (std::size_t i = 0; i <= a.size(); ++i) {
    Row& row = rows[i % 3];
    const Row& above = rows[(i + 2) % 3];
    const Row& second = rows[(i + 1) % 3];
    row[0] = static_cast<unsigned>(2 * i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      if (i == 0) {
        row[j] = static_cast<unsigned>(2 * j);
        continue;
      }
      const unsigned change = a[i - 1] == b[j - 1] ? 0 : lower(a[i - 1]) == lower(b[j - 1]) ? 1 : 2;
      row[j] = std::min({above[j] + 2, row[j - 1] + 2, above[j - 1] + change});
      const bool swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swap) row[j] = std::min(row[j], second[j - 2] + 2);
    }
  }
  return rows[a.size() % 3][b.size()];
}

unsigned slip_cost(std::string_view name) {
  const std::size_t third = 2 * name.size() / 3;
  return static_cast<unsigned>(std::max<std::size_t>(third, std::min<std::size_t>(name.size(), 2)));
}

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  const std::string* best = nullptr;
  unsigned limit = slip_cost(name) + 1;
  for (const std::string& candidate : known) {
    if (candidate == name || limit == 0) continue;
    const unsigned cost = edit_cost(name, candidate, limit - 1);
    if (cost >= limit) continue;
    limit = cost;
    best = &candidate;
  }
  return best != nullptr ? *best : std::string();
}

}  // namespace kw
