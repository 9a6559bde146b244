// What stands in square brackets behind a tensor.
#include <algorithm>

#include "problem/expression.h"

namespace kw::problem {

// x[1, :, 2:N, None, ...]: slices, one index (drops the axis), None (a new axis of size 1).
Result<Value> ExpressionParser::parse_index(Value value) {
  const Token open = cursor_.next();
  if (value.size) return fail(error(open, "a size has no axes to index"));
  struct Item {
    Token token;
    enum { kSlice, kIndex, kNew, kRest } form;
    std::optional<Dim> start, stop;
    std::int64_t step;
  };
  std::vector<Item> items;
  while (!cursor_.accept("]")) {
    if (!items.empty()) {
      KW_TRY_VOID(expect(",", "or ']' in an index"));
    }
    if (items.size() >= 2 * kMostAxes) return fail(error(cursor_.peek(), "an index has too many items"));
    Item item{cursor_.peek(), Item::kSlice, std::nullopt, std::nullopt, 1};
    if (cursor_.accept("...")) {
      item.form = Item::kRest;
    } else if (cursor_.peek().text == "None") {
      cursor_.next();
      item.form = Item::kNew;
    } else {
      if (!cursor_.is(":")) {
        KW_TRY(item.start, parse_size());
      }
      if (!cursor_.accept(":")) {
        item.form = Item::kIndex;
      } else {
        if (!cursor_.is(":") && !cursor_.is(",") && !cursor_.is("]")) {
          KW_TRY(item.stop, parse_size());
        }
        if (cursor_.accept(":") && !cursor_.is(",") && !cursor_.is("]")) {
          KW_TRY(const Dim step, parse_size());
          if (!step.constant()) return fail(error(item.token, "the step of a slice must be a number"));
          item.step = *step.constant();
        }
      }
    }
    items.push_back(std::move(item));
  }
  const auto rank = builder_.node(value.node).shape.size();
  const auto taken = static_cast<std::size_t>(std::count_if(items.begin(), items.end(), [](const Item& item) {
    return item.form == Item::kSlice || item.form == Item::kIndex;
  }));
  const auto rests =
      std::count_if(items.begin(), items.end(), [](const Item& item) { return item.form == Item::kRest; });
  if (taken > rank || rests > 1)
    return fail(error(open, rests > 1 ? "an index has one '...' at most"
                                      : fmt::format("an index of {} axes into shape {}", taken,
                                                    shape_text(builder_.node(value.node).shape))));
  SymbolicShape shape;  // after indices drop and new axes enter
  bool reshaped = false;
  std::int64_t axis = 0;
  for (const Item& item : items) {
    point(item.token);
    if (item.form == Item::kNew) {
      shape.emplace_back(1);
      reshaped = true;
      continue;
    }
    if (item.form == Item::kRest) {
      for (std::size_t i = taken; i < rank; ++i)
        shape.push_back(builder_.node(value.node).shape[static_cast<std::size_t>(axis++)]);
      continue;
    }
    const Dim size = builder_.node(value.node).shape[static_cast<std::size_t>(axis)];
    // A negative number counts from the end.
    const auto from_end = [&](const Dim& bound) -> Result<Dim> {
      return bound.constant() && *bound.constant() < 0 ? Dim::add(size, bound) : Result<Dim>(bound);
    };
    KW_TRY(const Dim start, from_end(item.start.value_or(Dim(0))));
    Dim stop = size;
    if (item.stop) {
      KW_TRY(stop, from_end(*item.stop));
    }
    if (item.form == Item::kIndex) {
      KW_TRY(stop, Dim::add(start, Dim(1)));
      reshaped = true;
    }
    if (!(start == Dim(0)) || !(stop == size) || item.step != 1) {
      KW_TRY(value, place(builder_.slice(value.node, axis, start, stop, item.step), item.token));
    }
    if (item.form == Item::kSlice)
      shape.push_back(builder_.node(value.node).shape[static_cast<std::size_t>(axis)]);
    ++axis;
  }
  const SymbolicShape sliced = builder_.node(value.node).shape;
  shape.insert(shape.end(), sliced.begin() + axis, sliced.end());
  if (!reshaped) return value;
  point(open);
  return place(builder_.reshape(value.node, std::move(shape)), open);
}

}  // namespace kw::problem
