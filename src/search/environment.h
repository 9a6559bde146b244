// What a search walks: states that somebody can propose changes to, and evaluate. States are opaque UTF-8
// texts; a child is what a proposal makes of its parent. Each evaluation costs one of the budget; asking for
// proposals costs none.
//
// Threads: propose() and evaluate() are called concurrently when more than one step is in flight. They get
// copies of what they may look at, and nothing of it changes under them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "search/memory.h"

namespace kw::search {

using NodeId = uint32_t;  // the root is 0; evaluations count from 1, in order of issue
inline constexpr NodeId kRoot = 0;

// What evaluating a state gave. usable() (objective.h) says whether the search may go on from it.
struct Outcome {
  bool works = false;   // false: a dead end, whatever the numbers say
  double seconds = 0;   // lower is better; what is not finite and above zero is a dead end too
  double spread = 0;    // relative standard error of seconds: 0.01 is one percent
  double joules = 0;    // decides among those equal in speed; not above zero: unknown
  std::string learned;  // a remark for the memory; may be empty
  std::string made;     // what the evaluation made of the state, for whoever proposes from here; opaque, may be empty
  bool operator==(const Outcome&) const = default;
};

struct Proposal {
  std::string state;      // one that the search knows already is not evaluated again
  std::string idea;       // what is tried, as the memory calls it; may be empty
  double priority = 0.5;  // 0 … 1: how strong the advice behind it is
  bool operator==(const Proposal&) const = default;
};

struct Root {
  std::string state;
  Outcome outcome;  // need not work: then the search starts from nothing
};

struct Tried {
  NodeId node = kRoot;
  Proposal proposal;
  std::optional<Outcome> outcome;  // none while it is being evaluated
};

// What is known where proposals are asked for.
struct Situation {
  uint64_t step = 0;
  NodeId parent = kRoot;
  int count = 0;                  // proposals wanted; further ones are dropped
  uint64_t seed = 0;              // of this call alone
  std::vector<Tried> path;        // from the root to the parent
  std::vector<Tried> children;    // of the parent
  std::vector<Proposal> waiting;  // proposed for the parent and not evaluated yet
  Memory memory;
};

struct Assignment {
  uint64_t step = 0;
  NodeId node = kRoot;  // which it will be
  NodeId parent = kRoot;
  Proposal proposal;
};

// Errors stop the search: they say that the environment itself cannot go on. A state that is no good is an
// Outcome.
class Environment {
 public:
  virtual ~Environment() = default;
  // None, when there is nothing more to try from here. A state may be asked about again and again.
  virtual Result<std::vector<Proposal>> propose(const Situation& situation) = 0;
  virtual Result<Outcome> evaluate(const Assignment& assignment) = 0;
};

}  // namespace kw::search
