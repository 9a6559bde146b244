// Which axes of the values of a graph go together, and which of them a slice may take a part of: see slices.h. Internal to
// evaluation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "problem/plan_memory.h"

namespace kw::problem {

inline constexpr std::int64_t kMostParts = 1 << 20;

// The axes of the values of a region, as classes (union and find).
class AxisClasses {
 public:
  AxisClasses(const Problem& problem, const NodeShapes& known) : problem_(problem), known_(known) {}

  bool has(NodeId id) const { return first_.contains(id); }

  // A value that is there, as every axis by itself.
  void see(NodeId id) {
    if (has(id)) return;
    first_[id] = parents_.size();
    for (const std::int64_t size : shape(id)) {
      parents_.push_back(parents_.size());
      classes_.push_back({size, 1, size == 0});
    }
  }

  // The result of an operator whose operands are seen.
  void compute(NodeId id);

  // Of an axis: its class, and in how many parts that can be cut.
  std::size_t class_of(NodeId id, std::size_t axis) const { return root(first_.at(id) + axis); }
  std::int64_t units(std::size_t c) const { return classes_[c].units; }
  std::int64_t most_parts(std::size_t c) const {
    const Class& it = classes_[c];
    return it.blocked ? 1 : std::clamp(it.units / it.least, std::int64_t{1}, kMostParts);
  }

 private:
  struct Class {
    std::int64_t units;  // the greatest common divisor of the sizes
    std::int64_t least;  // units in one part
    bool blocked;
  };

  const tensor::Shape& shape(NodeId id) const { return known_.shapes[static_cast<std::size_t>(id)]; }
  std::size_t root(std::size_t i) const {
    while (parents_[i] != i) i = parents_[i];
    return i;
  }
  void block(NodeId id, std::size_t axis) { classes_[class_of(id, axis)].blocked = true; }
  void block_all(NodeId id) {
    for (std::size_t axis = 0; axis < shape(id).size(); ++axis) block(id, axis);
  }
  void tie(NodeId a, std::size_t a_axis, NodeId b, std::size_t b_axis) {
    const std::size_t x = class_of(a, a_axis), y = class_of(b, b_axis);
    if (x == y) return;
    Class &kept = classes_[std::min(x, y)], &gone = classes_[std::max(x, y)];
    kept = {std::gcd(kept.units, gone.units), std::max(kept.least, gone.least), kept.blocked || gone.blocked};
    parents_[std::max(x, y)] = std::min(x, y);
  }
  // Axis by axis, aligned at the end, as broadcasting does; up to `left_out` axes before the end.
  void tie_broadcast(NodeId made, NodeId operand, std::size_t left_out = 0) {
    const std::size_t rank = shape(operand).size(), shift = shape(made).size() - rank;
    for (std::size_t axis = 0; axis + left_out < rank; ++axis)
      if (shape(operand)[axis] == shape(made)[axis + shift]) tie(operand, axis, made, axis + shift);
  }
  // Axes that carry the same index, but `axis`, which needs all of it.
  void tie_but(NodeId made, NodeId operand, std::int64_t axis) {
    for (std::size_t i = 0; i < shape(operand).size(); ++i)
      if (static_cast<std::int64_t>(i) != axis)
        tie(operand, i, made, i);
    block(operand, static_cast<std::size_t>(axis));
    block(made, static_cast<std::size_t>(axis));
  }
  // No value may have one class at two of its axes: a slice would be a piece of its diagonal.
  void block_diagonals();
  void tie_reshape(NodeId made, NodeId operand);
  void tie_reduction(const Node& node, NodeId made);
  void tie_product(const Node& node, NodeId made);

  const Problem& problem_;
  const NodeShapes& known_;
  std::map<NodeId, std::size_t> first_;  // of its axes
  std::vector<std::size_t> parents_;
  std::vector<Class> classes_;  // of roots
};

}  // namespace kw::problem
