#include "agent/line_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace kw::agent {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

struct Edit {
  char kind = ' ';
  std::string_view line;
  size_t before = 0;   // the line's number in the text before, from 1
};

// The furthest points reached with d changes on each diagonal; the way back through them is the edit script.
std::vector<Edit> edits_of(const Lines& a, const Lines& b) {
  const auto n = static_cast<std::ptrdiff_t>(a.size()), m = static_cast<std::ptrdiff_t>(b.size());
  const auto most = static_cast<std::ptrdiff_t>(std::min(a.size() + b.size(), kMostChanges));
  std::vector<std::vector<std::ptrdiff_t>> reached;
  std::vector<std::ptrdiff_t> x_at(static_cast<size_t>(2 * most + 3), 0);
  const auto at = [&](std::vector<std::ptrdiff_t>& xs, std::ptrdiff_t k) -> std::ptrdiff_t& { return xs[static_cast<size_t>(k + most + 1)]; };
  bool done = false;
  for (std::ptrdiff_t d = 0; d <= most && !done; ++d) {
    for (std::ptrdiff_t k = -d; k <= d && !done; k += 2) {
      std::ptrdiff_t x = k == -d || (k != d && at(x_at, k - 1) < at(x_at, k + 1)) ? at(x_at, k + 1) : at(x_at, k - 1) + 1;
      while (x < n && x - k < m && a[static_cast<size_t>(x)] == b[static_cast<size_t>(x - k)]) ++x;
      at(x_at, k) = x;
      done = x >= n && x - k >= m;
    }
    reached.push_back(x_at);
  }
  std::vector<Edit> out;
  if (!done) {
    for (size_t i = 0; i < a.size(); ++i) out.push_back({'-', a[i], i + 1});
    for (const std::string_view line : b) out.push_back({'+', line, a.size() + 1});
    return out;
  }
  std::ptrdiff_t x = n, y = m;
  const auto take = [&](char kind) {
    out.push_back({kind, kind == '+' ? b[static_cast<size_t>(y - 1)] : a[static_cast<size_t>(x - 1)], static_cast<size_t>(kind == '+' ? x + 1 : x)});
    if (kind != '+') --x;
    if (kind != '-') --y;
  };
  for (auto d = static_cast<std::ptrdiff_t>(reached.size()) - 1; d > 0; --d) {
    auto& before = reached[static_cast<size_t>(d - 1)];
    const std::ptrdiff_t k = x - y;
    const bool down = k == -d || (k != d && at(before, k - 1) < at(before, k + 1));
    const std::ptrdiff_t from = down ? at(before, k + 1) : at(before, k - 1);
    while (x > (down ? from : from + 1)) take(' ');
    take(down ? '+' : '-');
  }
  while (x > 0) take(' ');
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

std::string line_diff(std::string_view before, std::string_view after, size_t around) {
  const Lines a = lines_of(before), b = lines_of(after);
  const std::vector<Edit> edits = edits_of(a, b);
  std::vector<bool> shown(edits.size(), false);
  for (size_t i = 0; i < edits.size(); ++i) {
    if (edits[i].kind == ' ') continue;
    for (size_t j = i - std::min(i, around); j < std::min(edits.size(), i + around + 1); ++j) shown[j] = true;
  }
  std::string out;
  for (size_t i = 0; i < edits.size(); ++i) {
    if (!shown[i]) continue;
    if (i == 0 || !shown[i - 1]) out += fmt::format("@@ {}\n", edits[i].before);
    out += fmt::format("{}{}\n", edits[i].kind, edits[i].line);
  }
  return out;
}

}  // namespace kw::agent
