// What a search did, step by step. The list of events is the search: whoever keeps it can rebuild the tree
// and go on (search.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "search/environment.h"

namespace kw::search {

struct Proposed {
  NodeId parent = kRoot;
  std::vector<Proposal> proposals;  // as the environment gave them
  bool operator==(const Proposed&) const = default;
};

struct Evaluated {
  NodeId node = kRoot;
  NodeId parent = kRoot;
  Proposal proposal;
  Outcome outcome;
  bool operator==(const Evaluated&) const = default;
};

struct Event {
  uint64_t step = 0;  // counts from 0, in order of issue
  std::variant<Proposed, Evaluated> what;
  bool operator==(const Event&) const = default;
};

// "proposed", "evaluated".
std::string_view kind_of(const Event& event);

// One line of JSON, numbers exactly, NaN and infinities too; bytes that are no UTF-8 are replaced. Any text
// is an event or an error (kInvalid).
std::string event_json(const Event& event);
Result<Event> event_from(std::string_view json);

}  // namespace kw::search
