#include "problem/near_miss.h"

#include <algorithm>
#include <cctype>

namespace kw::problem {
namespace {

constexpr std::size_t kLongest = 40;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Twice the Damerau-Levenshtein distance (restricted), so that a change of case can cost one half.
int distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<int> table((a.size() + 1) * width);
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      int& cell = table[i * width + j];
      if (i == 0 || j == 0) {
        cell = static_cast<int>(2 * (i + j));
        continue;
      }
      const int change = a[i - 1] == b[j - 1] ? 0 : lower(a[i - 1]) == lower(b[j - 1]) ? 1 : 2;
      cell = std::min({table[(i - 1) * width + j] + 2, table[i * width + j - 1] + 2,
                       table[(i - 1) * width + j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cell = std::min(cell, table[(i - 2) * width + j - 2] + 2);
    }
  return table.back();
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  if (name.size() > kLongest) return {};
  std::string best;
  int least =
      static_cast<int>(std::max<std::size_t>(std::min<std::size_t>(name.size(), 2), 2 * name.size() / 3)) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongest || candidate == name) continue;
    const int d = distance(name, candidate);
    if (d >= least) continue;
    least = d;
    best = candidate;
  }
  return best;
}

}  // namespace kw::problem
