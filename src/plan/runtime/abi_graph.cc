// Graphs: capturing streams into them, making them executable, launching them.
#include <algorithm>

#include "plan/runtime/graph.h"
#include "plan/runtime/request.h"
#include "plan/runtime/state.h"

using namespace kw::runtime;  // NOLINT: the C functions below are this file's purpose

namespace {

cudaError_t begin_capture(Call& call, cudaStream_t handle, Graph* graph, std::vector<GraphNode*> after) {
  Stream* stream = call.state().find_stream(handle);
  if (stream == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  if (stream->legacy) return call.done(cudaErrorStreamCaptureUnsupported);
  if (stream->capture != nullptr) return call.done(cudaErrorIllegalState);
  stream->capture = graph != nullptr ? graph : call.state().keep_graph(std::make_shared<Graph>());
  stream->capture_origin = true;
  stream->captured = std::move(after);
  return cudaSuccess;
}

cudaError_t instantiate(Call& call, cudaGraphExec_t* out, cudaGraph_t handle) {
  const Graph* graph = call.state().find_graph(handle);
  if (graph == nullptr || out == nullptr) return call.done(cudaErrorInvalidValue);
  if (!graph->nodes.empty() && graph->order().empty()) return call.done(cudaErrorInvalidValue);   // a cycle
  *out = reinterpret_cast<cudaGraphExec_t>(call.state().keep_graph(graph->clone()));
  return cudaSuccess;
}

cudaError_t issue(Call& call, const Graph& graph, Stream& stream) {
  for (const GraphNode* node : graph.order()) {
    cudaError_t error = cudaSuccess;
    if (const auto* launch = std::get_if<LaunchRequest>(&node->action)) {
      LaunchRequest request = *launch;
      request.stream = &stream;
      error = submit(call, std::move(request));
    } else if (const auto* copies = std::get_if<std::vector<CopyRequest>>(&node->action)) {
      for (CopyRequest request : *copies) {
        request.stream = &stream;
        request.asynchronous = true;
        if (error == cudaSuccess) error = submit(call, request);
      }
    } else if (const auto* fill = std::get_if<FillRequest>(&node->action)) {
      FillRequest request = *fill;
      request.stream = &stream;
      error = submit(call, request);
    } else if (const auto* host = std::get_if<HostCall>(&node->action)) {
      error = submit(call, stream, *host);
    } else if (const auto* record = std::get_if<EventRecord>(&node->action)) {
      if (Event* event = call.state().find_event(record->event)) {
        event->recorded = true;
        call.backend().event_recorded(*event, stream);
      }
    } else if (const auto* memory = std::get_if<MemoryNode>(&node->action)) {
      if (stream.capture == nullptr) memory->memory->used = !memory->free;
    } else if (const auto* child = std::get_if<std::shared_ptr<Graph>>(&node->action)) {
      error = issue(call, **child, stream);
    }
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// Whether b can take a's place: the same nodes with the same edges.
cudaGraphExecUpdateResult compare(const Graph& a, const Graph& b) {
  if (a.nodes.size() != b.nodes.size()) return cudaGraphExecUpdateErrorTopologyChanged;
  std::unordered_map<const GraphNode*, size_t> place;
  for (size_t i = 0; i < a.nodes.size(); ++i) place[a.nodes[i].get()] = place[b.nodes[i].get()] = i;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const GraphNode &x = *a.nodes[i], &y = *b.nodes[i];
    if (x.type() != y.type()) return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (x.after.size() != y.after.size() ||
        !std::equal(x.after.begin(), x.after.end(), y.after.begin(), [&](const GraphNode* m, const GraphNode* n) { return place[m] == place[n]; }))
      return cudaGraphExecUpdateErrorTopologyChanged;
  }
  return cudaGraphExecUpdateSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  Call call("cudaStreamBeginCapture");
  return begin_capture(call, stream, nullptr, {});
}
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t handle, const cudaGraphNode_t* after, const cudaGraphEdgeData*,
                                          size_t count, cudaStreamCaptureMode) {
  Call call("cudaStreamBeginCaptureToGraph");
  Graph* graph = call.state().find_graph(handle);
  if (graph == nullptr || (after == nullptr && count != 0)) return call.done(cudaErrorInvalidValue);
  std::vector<GraphNode*> nodes;
  for (size_t i = 0; i < count; ++i) {
    nodes.push_back(call.state().find_graph_node(after[i]));
    if (nodes.back() == nullptr || nodes.back()->graph != graph) return call.done(cudaErrorInvalidValue);
  }
  return begin_capture(call, stream, graph, std::move(nodes));
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* out) {
  Call call("cudaStreamEndCapture");
  Stream* stream = call.state().find_stream(handle);
  if (stream == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  if (out == nullptr) return call.done(cudaErrorInvalidValue);
  *out = nullptr;
  Graph* graph = nullptr;
  const cudaError_t error = end_capture(*stream, call.state().streams(), &graph);
  if (error == cudaSuccess) *out = reinterpret_cast<cudaGraph_t>(graph);
  return call.done(error);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  Call call("cudaStreamIsCapturing");
  const Stream* stream = call.state().find_stream(handle);
  if (stream == nullptr || status == nullptr) return call.done(cudaErrorInvalidValue);
  *status = stream->capture != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** after, const cudaGraphEdgeData** edges, size_t* count) {
  Call call("cudaStreamGetCaptureInfo");
  const Stream* stream = call.state().find_stream(handle);
  if (stream == nullptr || status == nullptr) return call.done(cudaErrorInvalidValue);
  *status = stream->capture != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  if (stream->capture == nullptr) return cudaSuccess;
  if (id != nullptr) *id = reinterpret_cast<uintptr_t>(stream->capture);
  if (graph != nullptr) *graph = reinterpret_cast<cudaGraph_t>(stream->capture);
  if (after != nullptr) *after = reinterpret_cast<const cudaGraphNode_t*>(stream->captured.data());
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = stream->captured.size();
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  Call call("cudaGraphInstantiate");
  return instantiate(call, out, graph);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  Call call("cudaGraphInstantiateWithFlags");
  return instantiate(call, out, graph);
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* out, cudaGraph_t graph, cudaGraphInstantiateParams* params) {
  Call call("cudaGraphInstantiateWithParams");
  const cudaError_t error = instantiate(call, out, graph);
  if (params != nullptr) {
    params->errNode_out = nullptr;
    params->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  }
  return error;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t) {
  Call call("cudaGraphUpload");
  return call.done(call.state().find_graph(graph) == nullptr ? cudaErrorInvalidValue : cudaSuccess);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream) {
  Call call("cudaGraphLaunch");
  const Graph* graph = call.state().find_graph(handle);
  Stream* on = call.state().find_stream(stream);
  if (graph == nullptr) return call.done(cudaErrorInvalidValue);
  if (on == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  return issue(call, *graph, *on);
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t from, cudaGraphExecUpdateResultInfo* result) {
  Call call("cudaGraphExecUpdate");
  Graph* target = call.state().find_graph(handle);
  const Graph* source = call.state().find_graph(from);
  if (target == nullptr || source == nullptr) return call.done(cudaErrorInvalidValue);
  const cudaGraphExecUpdateResult compared = compare(*target, *source);
  if (result != nullptr) *result = {compared, nullptr, nullptr};
  if (compared != cudaGraphExecUpdateSuccess) return call.done(cudaErrorGraphExecUpdateFailure);
  for (size_t i = 0; i < source->nodes.size(); ++i) {
    const GraphNode& node = *source->nodes[i];
    const auto* child = std::get_if<std::shared_ptr<Graph>>(&node.action);
    if (child != nullptr)
      target->nodes[i]->action = (*child)->clone();
    else
      target->nodes[i]->action = node.action;
  }
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  Call call("cudaGraphExecDestroy");
  return call.done(call.state().destroy_graph(graph) ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaDeviceGraphMemTrim(int) { return cudaSuccess; }
// Memory of graphs is theirs from the making of its node (graph.h), so what is reserved is what is used.
cudaError_t cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType which, void* value) {
  Call call("cudaDeviceGetGraphMemAttribute");
  if (value == nullptr) return call.done(cudaErrorInvalidValue);
  const bool now = which == cudaGraphMemAttrUsedMemCurrent || which == cudaGraphMemAttrReservedMemCurrent;
  if (!now && which != cudaGraphMemAttrUsedMemHigh && which != cudaGraphMemAttrReservedMemHigh) return call.done(cudaErrorInvalidValue);
  *static_cast<uint64_t*>(value) = now ? call.state().graph_memory_bytes() : call.state().most_graph_memory_bytes;
  return cudaSuccess;
}
// The highest values can be set back, to now.
cudaError_t cudaDeviceSetGraphMemAttribute(int, cudaGraphMemAttributeType which, void* value) {
  Call call("cudaDeviceSetGraphMemAttribute");
  const bool highest = which == cudaGraphMemAttrUsedMemHigh || which == cudaGraphMemAttrReservedMemHigh;
  if (value == nullptr || !highest || *static_cast<const uint64_t*>(value) != 0) return call.done(cudaErrorInvalidValue);
  call.state().most_graph_memory_bytes = call.state().graph_memory_bytes();
  return cudaSuccess;
}

}  // extern "C"
