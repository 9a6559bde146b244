#include "judge/pattern.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "judge/execute.h"

namespace kw::judge {
namespace {

// The indexes along one axis at which something is wrong, ascending.
struct Along {
  std::vector<int64_t> at;
  int64_t size = 0;
  bool whole() const { return static_cast<int64_t>(at.size()) == size; }
};

std::vector<Along> project(const tensor::Shape& shape, std::span<const int64_t> wrong) {
  std::vector<std::vector<bool>> seen;
  for (const int64_t size : shape) seen.emplace_back(static_cast<size_t>(size), false);
  for (const int64_t flat : wrong) {
    const std::vector<int64_t> index = unflatten(shape, flat);
    for (size_t axis = 0; axis < index.size(); ++axis) seen[axis][static_cast<size_t>(index[axis])] = true;
  }
  std::vector<Along> out;
  for (const auto& axis : seen) {
    Along along;
    along.size = static_cast<int64_t>(axis.size());
    for (size_t i = 0; i < axis.size(); ++i) {
      if (axis[i]) along.at.push_back(static_cast<int64_t>(i));
    }
    out.push_back(std::move(along));
  }
  return out;
}

// "the last 3 columns", "row 5", "columns 1, 33, 65, …": what `along` is, in units called `one` and `many`; none: nothing simple.
std::optional<std::string> rule(const Along& along, std::string_view one, std::string_view many) {
  const std::vector<int64_t>& at = along.at;
  const auto count = static_cast<int64_t>(at.size());
  if (along.whole()) return fmt::format("every {}", one);
  if (count == 1) return at[0] == along.size - 1 ? fmt::format("the last {}", one) : fmt::format("{} {}", one, at[0]);
  if (at.back() - at.front() + 1 == count) {
    if (at.front() == 0) return fmt::format("the first {} {}", count, many);
    if (at.back() == along.size - 1) return fmt::format("the last {} {}", count, many);
    return fmt::format("{} {} to {}", many, at.front(), at.back());
  }
  const int64_t step = at[1] - at[0];
  bool even = count >= 3 && at.back() + step >= along.size;
  for (size_t i = 1; even && i < at.size(); ++i) even = at[i] - at[i - 1] == step;
  if (even) return fmt::format("{} {}, {}, {}, …", many, at[0], at[1], at[2]);
  if (count <= 4) return fmt::format("{} {}", many, fmt::join(at, ", "));
  return std::nullopt;
}

std::string phrase(const Along& along, std::string_view one, std::string_view many) {
  return rule(along, one, many).value_or(fmt::format("{} of {} {}", along.at.size(), along.size, many));
}

// The box that the projections span; an axis of which all indexes are in it needs no words.
std::string box(const std::vector<Along>& axes) {
  if (axes.size() == 1) {
    const auto text = rule(axes[0], "element", "elements");
    return text.value_or(fmt::format("scattered from element {} to {}", axes[0].at.front(), axes[0].at.back()));
  }
  if (axes.size() == 2) {
    if (axes[1].whole()) return phrase(axes[0], "row", "rows") + ", whole";
    return fmt::format("{} of {}", phrase(axes[1], "column", "columns"), phrase(axes[0], "row", "rows"));
  }
  std::string out;
  for (size_t i = axes.size(); i-- > 0;) {
    if (axes[i].whole()) continue;
    out += fmt::format("{}{} of axis {}", out.empty() ? "" : ", ", phrase(axes[i], "index", "indexes"), i);
  }
  return out + ", whole along the other axes";
}

}  // namespace

std::string pattern_of(const tensor::Shape& shape, std::span<const int64_t> wrong) {
  if (wrong.empty()) return "";
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  const auto count = static_cast<int64_t>(wrong.size());
  if (count == elements) return elements == 1 ? "the only element" : "the whole output";
  if (count == 1) return "this element alone";
  const std::vector<Along> axes = project(shape, wrong);
  int64_t spanned = 1;
  for (const Along& along : axes) spanned *= static_cast<int64_t>(along.at.size());
  if (spanned == count) return box(axes);
  const auto at = [&](int64_t flat) { return fmt::format("[{}]", fmt::join(unflatten(shape, flat), ", ")); };
  if (wrong.back() - wrong.front() + 1 == count) {
    if (wrong.back() == elements - 1) return fmt::format("every element from {} on", at(wrong.front()));
    if (wrong.front() == 0) return fmt::format("every element up to {}", at(wrong.back()));
    return fmt::format("every element from {} to {}", at(wrong.front()), at(wrong.back()));
  }
  return spanned == elements ? "scattered over the whole output" : "scattered within " + box(axes);
}

}  // namespace kw::judge
