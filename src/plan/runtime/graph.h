// Graphs of the CUDA runtime: work kept to be issued later, built node by node or by capturing streams (CUDA
// Programming Guide, "CUDA Graphs"). A graph is issued on one stream, in an order that its edges allow, so a backend
// never sees one. Memory that a graph allocates is there from the making of its node until no graph knows it and
// nobody uses it: its address is the same for every launch, as the guide promises, whoever freed it in between.
//
// Missing: conditional nodes, semaphores, edges with data (programmatic launches become full ones).
#pragma once

#include <memory>
#include <unordered_map>
#include <variant>
#include <vector>

#include "plan/runtime/backend.h"

namespace kw::runtime {

struct Graph;

struct EventRecord {
  cudaEvent_t event = nullptr;
};
struct GraphMemory {
  void* address = nullptr;
  uint64_t bytes = 0;
  bool used = false;             // a launch allocated it, and nobody freed it yet
};
struct MemoryNode {
  std::shared_ptr<GraphMemory> memory;
  bool free = false;
};

struct GraphNode {
  // std::monostate: an empty node.
  std::variant<std::monostate, LaunchRequest, std::vector<CopyRequest>, FillRequest, HostCall, EventRecord, MemoryNode, std::shared_ptr<Graph>> action;
  std::vector<GraphNode*> after;
  Graph* graph = nullptr;
  cudaGraphNodeType type() const;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::unordered_map<const GraphNode*, GraphNode*> copy_of;   // of a clone: where the original's nodes went

  GraphNode* add(std::vector<GraphNode*> after);
  std::shared_ptr<Graph> clone() const;
  // An order that the edges allow, nearest to that of creation; empty when they form a cycle.
  std::vector<const GraphNode*> order() const;
};

// The work of a capturing stream: a node after everything that the stream did since the capture began.
GraphNode* capture_node(Stream& stream);
// Ends the capture that began on `stream`. Error: it did not, or another stream's work was not joined to it.
cudaError_t end_capture(Stream& stream, const std::vector<Stream*>& streams, Graph** out);

}  // namespace kw::runtime
