#include "problem/slices.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "problem/axis_classes.h"
#include "problem/plan_memory.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kEnough = 32;  // slices of the greatest value: as many as keep the cores busy

std::size_t at(NodeId id) { return static_cast<std::size_t>(id); }
std::int64_t rounded_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / std::max<std::int64_t>(1, b); }

// A region that grows operator by operator.
class Growing {
 public:
  Growing(const Problem& problem, const NodeShapes& known, std::int64_t slice_bytes)
      : problem_(problem), known_(known), slice_bytes_(slice_bytes), axes_(problem, known) {}

  const std::vector<NodeId>& nodes() const { return nodes_; }

  // False: with it a value of its slices would be too great. One that is small beside others need not be cut as far.
  bool add(NodeId id) {
    axes_.compute(id);
    nodes_.push_back(id);
    sizes_.push_back(size_of(id));
    const std::int64_t greatest = *std::max_element(sizes_.begin(), sizes_.end());
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (most_parts(nodes_[i]) < std::min(needed(sizes_[i]), rounded_up(kEnough * sizes_[i], greatest))) return false;
    return true;
  }

  // Its operators: first those that are computed whole, then the slices of the others, if there are any.
  std::pair<std::vector<NodeId>, Region> finish() const;

 private:
  const Node& node(NodeId id) const { return problem_.graph.nodes[at(id)]; }
  std::int64_t needed(std::int64_t count) const { return std::max<std::int64_t>(1, count / std::max<std::int64_t>(1, slice_bytes_ / 8)); }

  // Elements that it makes or goes through; a table is only picked from.
  std::int64_t size_of(NodeId id) const {
    std::int64_t size = known_.counts[at(id)];
    for (std::size_t k = node(id).op == Op::kTake ? 1 : 0; k < node(id).operands.size(); ++k)
      size = std::max(size, known_.counts[at(node(id).operands[k])]);
    return size;
  }

  // The classes of a value's axes that can be cut, from its first axis on.
  std::vector<std::size_t> classes_of(NodeId id) const {
    std::vector<std::size_t> classes;
    for (std::size_t axis = 0; axis < known_.shapes[at(id)].size(); ++axis)
      if (axes_.most_parts(axes_.class_of(id, axis)) > 1) classes.push_back(axes_.class_of(id, axis));
    return classes;
  }
  std::int64_t most_parts(NodeId id) const {
    std::int64_t parts = 1;
    for (const std::size_t c : classes_of(id)) parts = std::min(kMostParts, parts * axes_.most_parts(c));
    return parts;
  }

  const Problem& problem_;
  const NodeShapes& known_;
  std::int64_t slice_bytes_;
  AxisClasses axes_;
  std::vector<NodeId> nodes_;
  std::vector<std::int64_t> sizes_;
};

std::pair<std::vector<NodeId>, Region> Growing::finish() const {
  // From the greatest value on: as many parts as each needs, from its first axis on.
  std::vector<std::size_t> order(nodes_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sizes_[a] > sizes_[b]; });
  std::vector<std::size_t> cut;           // classes
  std::map<std::size_t, Loop> loops;      // by class
  for (const std::size_t i : order) {
    std::int64_t have = 1;
    const auto classes = classes_of(nodes_[i]);
    for (const std::size_t c : classes) have *= loops.contains(c) ? loops[c].parts : 1;
    for (const std::size_t c : classes) {
      if (have >= needed(sizes_[i])) break;
      const auto [loop, is_new] = loops.try_emplace(c, Loop{axes_.units(c), 1});
      if (is_new) cut.push_back(c);
      have /= loop->second.parts;
      const std::int64_t parts = std::max(loop->second.parts, rounded_up(needed(sizes_[i]), have));
      loop->second.parts = std::min(axes_.most_parts(c), parts);
      have *= loop->second.parts;
    }
  }
  std::pair<std::vector<NodeId>, Region> made;
  Region& region = made.second;
  for (const std::size_t c : cut) region.loops.push_back(loops[c]);
  const auto loops_of = [&](NodeId id) {
    std::vector<int> found;
    for (std::size_t axis = 0; axis < known_.shapes[at(id)].size(); ++axis) {
      const auto it = std::find(cut.begin(), cut.end(), axes_.class_of(id, axis));
      found.push_back(it == cut.end() ? -1 : static_cast<int>(it - cut.begin()));
    }
    return found;
  };
  const auto is_cut = [](const std::vector<int>& found) {
    return std::any_of(found.begin(), found.end(), [](int loop) { return loop >= 0; });
  };
  for (const NodeId id : nodes_) {
    const auto own = loops_of(id);
    if (!is_cut(own)) {
      made.first.push_back(id);
      continue;
    }
    for (const NodeId operand : node(id).operands) {
      if (region.loop_of.contains(operand)) continue;
      auto its = loops_of(operand);
      if (!is_cut(its)) continue;
      region.loop_of[operand] = std::move(its);
      region.loaded.insert(operand);
      region.nodes.push_back(operand);
    }
    region.loop_of[id] = own;
    region.nodes.push_back(id);
  }
  std::map<NodeId, NodeId> last;  // readers
  for (const NodeId id : region.nodes) {
    if (!region.varies_with_all(id)) continue;  // stays for the next slices
    last[id] = id;
  }
  for (const NodeId id : region.nodes)
    if (!region.loaded.contains(id))
      for (const NodeId operand : node(id).operands)
        if (last.contains(operand)) last[operand] = id;
  for (const auto& [id, reader] : last) region.freed[reader].push_back(id);
  return made;
}

}  // namespace

std::int64_t Region::slices() const {
  std::int64_t count = 1;
  for (const Loop& loop : loops) count *= loop.parts;
  return count;
}

std::vector<std::int64_t> Region::parts_of(std::int64_t slice) const {
  std::vector<std::int64_t> parts(loops.size());
  for (std::size_t i = loops.size(); i-- > 0;) {
    parts[i] = slice % loops[i].parts;
    slice /= loops[i].parts;
  }
  return parts;
}

bool Region::varies_with_all(NodeId id) const {
  const auto& own = loop_of.at(id);
  for (std::size_t loop = 0; loop < loops.size(); ++loop)
    if (std::find(own.begin(), own.end(), static_cast<int>(loop)) == own.end()) return false;
  return true;
}

tensor::Shape Region::cut(NodeId node, const tensor::Shape& whole, const std::vector<std::int64_t>& parts,
                          tensor::Shape& first) const {
  tensor::Shape shape = whole;
  first.assign(whole.size(), 0);
  const auto& own = loop_of.at(node);
  for (std::size_t axis = 0; axis < own.size(); ++axis) {
    if (own[axis] < 0) continue;
    const auto l = static_cast<std::size_t>(own[axis]);
    const std::int64_t unit = whole[axis] / loops[l].units;
    first[axis] = loops[l].begin(parts[l]) * unit;
    shape[axis] = loops[l].begin(parts[l] + 1) * unit - first[axis];
  }
  return shape;
}

std::vector<Region> make_regions(const Problem& problem, const NodeShapes& known, const std::vector<bool>& kept,
                                 std::int64_t slice_bytes) {
  std::vector<Region> regions;
  std::vector<bool> whole(kept.size(), false);  // by node: its whole value is computed
  const auto compute_whole = [&](NodeId id) {
    if (whole[at(id)]) return;
    if (regions.empty() || !regions.back().loops.empty()) regions.emplace_back();
    regions.back().nodes.push_back(id);
    whole[at(id)] = true;
  };
  const auto& nodes = problem.graph.nodes;
  std::int64_t greatest = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) greatest = std::max(greatest, known.live[i] ? known.counts[i] : 0);
  if (8 * greatest <= slice_bytes) slice_bytes = 0;
  const auto operands_whole = [&](NodeId id) {
    for (const NodeId operand : nodes[at(id)].operands)
      if (nodes[at(operand)].op == Op::kInput) compute_whole(operand);
  };
  std::optional<Growing> growing;
  const auto close = [&] {
    if (!growing) return;
    auto [first, region] = growing->finish();
    growing.reset();
    for (const NodeId id : first) {
      operands_whole(id);
      compute_whole(id);
    }
    if (region.nodes.empty()) return;
    for (const NodeId id : region.nodes)
      if (!region.loaded.contains(id))
        for (const NodeId operand : nodes[at(id)].operands)
          if (!region.loop_of.contains(operand) && nodes[at(operand)].op == Op::kInput) compute_whole(operand);
    regions.push_back(std::move(region));
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    if (!known.live[i] || (nodes[i].op == Op::kInput && slice_bytes > 0)) continue;
    if (slice_bytes <= 0) {
      compute_whole(id);
      continue;
    }
    if (!growing) growing.emplace(problem, known, slice_bytes);
    if (growing->add(id)) continue;
    // One too many: what was there before, again without it.
    std::vector<NodeId> before = growing->nodes();
    before.pop_back();
    growing.emplace(problem, known, slice_bytes);
    for (const NodeId other : before) growing->add(other);
    close();
    growing.emplace(problem, known, slice_bytes);
    if (growing->add(id)) continue;
    growing.reset();
    operands_whole(id);
    compute_whole(id);
  }
  close();
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (kept[i] && nodes[i].op == Op::kInput) compute_whole(static_cast<NodeId>(i));
  // What others need of a region's values.
  std::vector<bool> wanted = kept;
  for (auto region = regions.rbegin(); region != regions.rend(); ++region) {
    for (const NodeId id : region->nodes)
      if (!region->loops.empty() && !region->loaded.contains(id) && wanted[at(id)]) region->stored.insert(id);
    for (const NodeId id : region->nodes) {
      if (region->loaded.contains(id)) wanted[at(id)] = true;
      for (const NodeId operand : nodes[at(id)].operands)
        if (!region->loop_of.contains(operand)) wanted[at(operand)] = true;
    }
  }
  return regions;
}

}  // namespace kw::problem
