// What the strategies are made of. Internal to search.
#pragma once

#include <optional>

#include "base/rng.h"
#include "search/strategy.h"

namespace kw::search {

// One more child of a node that has room: its strongest proposal, the first of equals; proposals are asked
// for when none waits.
Choice expand(const Tree& tree, NodeId node, const Memory& memory, const Constants& constants);

// None when no node has room.
std::optional<Choice> mcts(const Tree& tree, const Memory& memory, const Constants& constants, Rng rng);

}  // namespace kw::search
