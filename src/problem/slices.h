// How a graph of large values is computed: in regions, each either operator by operator on whole values, or slice by slice,
// where a slice goes through all operators of its region before the next one begins. Slices are cut along axes that every
// operator of the region carries through, so each slice depends on its own part of the operands alone: slices run side
// by side, in memory for those in flight, and their values are those of the whole, bit for bit.
//
// Which axes go together: an operator ties an axis of its result to the axes of its operands of which an element needs
// the same index alone (elementwise operators, batches, kept axes of reductions, …), and blocks the others. Tied axes make
// a class; one that no operator of the region blocks can be cut. What is not listed in axis_classes.cc blocks all
// that it touches. Pure. Internal to evaluation.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "problem/graph.h"
#include "tensor/tensor.h"

namespace kw::problem {

struct NodeShapes;
struct Problem;

// Classes of tied axes that are cut. `units` is what the sizes of all of them are multiples of.
struct Loop {
  std::int64_t units = 1, parts = 1;
  std::int64_t begin(std::int64_t part) const { return units / parts * part + units % parts * part / parts; }
};

struct Region {
  std::vector<NodeId> nodes;  // in the order of computation
  std::vector<Loop> loops;    // outermost first; none: whole values, operator by operator, and nothing below
  std::map<NodeId, std::vector<int>> loop_of;   // by node: the loop of each axis, or -1
  std::set<NodeId> loaded;    // of the nodes: inputs and values of regions before, of which a slice takes its part
  std::set<NodeId> stored;    // of the nodes: those of which others need the whole
  std::map<NodeId, std::vector<NodeId>> freed;  // of those that differ from slice to slice: by their last reader

  std::int64_t slices() const;
  std::vector<std::int64_t> parts_of(std::int64_t slice) const;  // by loop
  bool varies_with_all(NodeId id) const;                         // differs from slice to slice
  // The shape of a node in a slice, and its first element's index in the whole.
  tensor::Shape cut(NodeId node, const tensor::Shape& whole, const std::vector<std::int64_t>& parts,
                    tensor::Shape& first) const;
};

// `slice_bytes`: about what one value of a slice takes; 0: nothing is cut. `kept`: nodes that are asked for.
std::vector<Region> make_regions(const Problem& problem, const NodeShapes& known, const std::vector<bool>& kept,
                                 std::int64_t slice_bytes);

// The runs of neighbours that a part of a value has in the whole: body(index in the part, index in the whole, length).
template <typename Body>
void for_runs_of(const tensor::Shape& part, const tensor::Shape& whole, const tensor::Shape& first, const Body& body) {
  std::size_t last = part.size();  // the last axis that is cut; those behind it are whole
  while (last > 0 && part[last - 1] == whole[last - 1]) --last;
  std::int64_t inner = 1, rows = 1;
  for (std::size_t axis = last; axis < part.size(); ++axis) inner *= part[axis];
  for (std::size_t axis = 0; axis + 1 < last; ++axis) rows *= part[axis];
  const std::int64_t run = (last > 0 ? part[last - 1] : 1) * inner;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t rest = row, stride = inner * (last > 0 ? whole[last - 1] : 1);
    std::int64_t there = last > 0 ? first[last - 1] * inner : 0;
    for (std::size_t axis = last > 0 ? last - 1 : 0; axis-- > 0;) {
      there += (first[axis] + rest % part[axis]) * stride;
      rest /= part[axis];
      stride *= whole[axis];
    }
    body(row * run, there, run);
  }
}

}  // namespace kw::problem
