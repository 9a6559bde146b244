// The tree of a search and what is known of each subtree. It changes in two ways only: a step is issued (its
// place is taken, and counts as a loss until its result is there), and a step is settled by its event. Equal
// calls give equal trees. A value; not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "search/environment.h"
#include "search/event.h"

namespace kw::search {

// What is known of a subtree, its top included.
struct Tally {
  uint32_t evaluated = 0;
  uint32_t in_flight = 0;
  uint32_t usable = 0;
  double sum = 0;   // of the rewards of those usable
  double best = 0;  // the highest of them; meaningless while usable is 0
  uint32_t idle_in_a_row =
      0;  // evaluations since one was better than all before it: dead ends, and merely slower
};

struct Node {
  NodeId parent = kRoot;
  uint32_t depth = 0;
  Proposal proposal;
  std::optional<Outcome> outcome;  // none while it is being evaluated
  double reward = 0;               // of a usable outcome
  std::vector<NodeId> children;
  std::vector<Proposal> waiting;  // proposed and not evaluated yet, in the order in which they came
  bool asking = false;            // proposals have been asked for and are not there yet
  uint32_t barren = 0;            // times in a row that asking gave nothing new
  Tally tally;
};

// What a step does at a node.
struct Choice {
  enum class Kind : uint8_t { kAsk, kEvaluate, kWait, kExhausted };  // kWait: a result must come first
  Kind kind = Kind::kExhausted;
  NodeId parent = kRoot;
  size_t waiting = 0;  // of kEvaluate: which of those waiting
};

// A node that gave nothing new this often in a row is asked no more.
inline constexpr uint32_t kMostBarren = 3;

class Tree {
 public:
  explicit Tree(const Root& root);

  const Node& operator[](NodeId node) const { return nodes_[node]; }
  size_t size() const { return nodes_.size(); }  // the root included
  bool known(const std::string& state) const { return states_.contains(state); }

  // Whether something can be tried from the node now: it is the root or usable, and has proposals waiting or
  // may be asked for some.
  bool has_room(NodeId node) const;
  // The best of all nodes, as objective.h has it; the root when none is usable.
  NodeId best() const;

  // The place of the step is taken. kEvaluate: the id of the new node; else the parent's.
  NodeId issue(const Choice& choice);
  // The result of an issued step is there. At most `most` proposals are taken, those with known states left
  // out.
  void settle(const Proposed& proposed, size_t most);
  void settle(const Evaluated& evaluated);

 private:
  std::vector<Node> nodes_;
  std::unordered_set<std::string> states_;  // of all nodes, and of all that wait
};

}  // namespace kw::search
