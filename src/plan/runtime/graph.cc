#include "plan/runtime/graph.h"

#include <algorithm>
#include <set>

#include "plan/runtime/request.h"

namespace kw::runtime {

cudaGraphNodeType GraphNode::type() const {
  constexpr cudaGraphNodeType kTypes[] = {cudaGraphNodeTypeEmpty, cudaGraphNodeTypeKernel,      cudaGraphNodeTypeMemcpy,   cudaGraphNodeTypeMemset,
                                          cudaGraphNodeTypeHost,  cudaGraphNodeTypeEventRecord, cudaGraphNodeTypeMemAlloc, cudaGraphNodeTypeGraph};
  static_assert(std::size(kTypes) == std::variant_size_v<decltype(action)>);
  if (const auto* memory = std::get_if<MemoryNode>(&action); memory != nullptr && memory->free) return cudaGraphNodeTypeMemFree;
  return kTypes[action.index()];
}

GraphNode* Graph::add(std::vector<GraphNode*> after) {
  auto node = std::make_unique<GraphNode>();
  node->after = std::move(after);
  node->graph = this;
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  for (const auto& node : nodes) {
    GraphNode* made = copy->add({});
    made->action = node->action;
    if (const auto* child = std::get_if<std::shared_ptr<Graph>>(&node->action)) made->action = (*child)->clone();
    copy->copy_of[node.get()] = made;
  }
  for (const auto& node : nodes)
    for (const GraphNode* before : node->after) copy->copy_of[node.get()]->after.push_back(copy->copy_of[before]);
  return copy;
}

std::vector<const GraphNode*> Graph::order() const {
  std::unordered_map<const GraphNode*, size_t> place;
  for (size_t i = 0; i < nodes.size(); ++i) place[nodes[i].get()] = i;
  std::vector<size_t> waits(nodes.size());
  std::vector<std::vector<size_t>> followers(nodes.size());
  std::set<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    waits[i] = nodes[i]->after.size();
    for (const GraphNode* before : nodes[i]->after) followers[place[before]].push_back(i);
    if (waits[i] == 0) ready.insert(i);
  }
  std::vector<const GraphNode*> out;
  while (!ready.empty()) {
    const size_t next = *ready.begin();
    ready.erase(ready.begin());
    out.push_back(nodes[next].get());
    for (const size_t follower : followers[next])
      if (--waits[follower] == 0) ready.insert(follower);
  }
  return out.size() == nodes.size() ? out : std::vector<const GraphNode*>();
}

GraphNode* capture_node(Stream& stream) {
  GraphNode* node = stream.capture->add(stream.captured);
  stream.captured = {node};
  return node;
}

cudaError_t end_capture(Stream& stream, const std::vector<Stream*>& streams, Graph** out) {
  Graph* graph = stream.capture;
  if (graph == nullptr) return cudaErrorIllegalState;
  if (!stream.capture_origin) return cudaErrorStreamCaptureUnmatched;
  std::set<const GraphNode*> joined;
  std::vector<const GraphNode*> left(stream.captured.begin(), stream.captured.end());
  while (!left.empty()) {
    const GraphNode* node = left.back();
    left.pop_back();
    if (joined.insert(node).second) left.insert(left.end(), node->after.begin(), node->after.end());
  }
  bool all_joined = true;
  for (Stream* each : streams) {
    if (each->capture != graph) continue;
    for (const GraphNode* node : each->captured) all_joined = all_joined && joined.count(node) != 0;
    each->capture = nullptr;
    each->capture_origin = false;
    each->captured.clear();
  }
  *out = graph;
  return all_joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

cudaError_t submit(Call& call, LaunchRequest request) {
  Stream& stream = *request.stream;
  if (stream.capture == nullptr) return call.done(call.backend().launch(request));
  capture_node(stream)->action = std::move(request);
  return cudaSuccess;
}

cudaError_t submit(Call& call, CopyRequest request) {
  Stream& stream = *request.stream;
  if (stream.capture == nullptr) return call.done(call.backend().copy(request));
  if (!request.asynchronous) return call.done(cudaErrorStreamCaptureUnsupported);
  capture_node(stream)->action = std::vector<CopyRequest>{request};
  return cudaSuccess;
}

cudaError_t submit(Call& call, FillRequest request) {
  Stream& stream = *request.stream;
  if (stream.capture == nullptr) return call.done(call.backend().fill(request));
  capture_node(stream)->action = request;
  return cudaSuccess;
}

cudaError_t submit(Call& call, Stream& stream, const HostCall& request) {
  if (!call.backend().runs_host_functions()) return call.unsupported("host code cannot run in the middle of a plan");
  if (stream.capture != nullptr)
    capture_node(stream)->action = request;
  else
    request.function(request.data);
  return cudaSuccess;
}

}  // namespace kw::runtime
