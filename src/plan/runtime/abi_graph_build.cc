// Graphs: their nodes and edges.
#include <algorithm>
#include <cstring>

#include "plan/runtime/graph.h"
#include "plan/runtime/launch.h"
#include "plan/runtime/request.h"
#include "plan/runtime/state.h"

using namespace kw::runtime;  // NOLINT: the C functions below are this file's purpose

namespace {

GraphNode* node_of(Call& call, cudaGraphNode_t handle) { return call.state().find_graph_node(handle); }

cudaError_t add_node(Call& call, cudaGraphNode_t* out, cudaGraph_t handle, const cudaGraphNode_t* after, size_t count, GraphNode** made) {
  Graph* graph = call.state().find_graph(handle);
  if (graph == nullptr || out == nullptr || (after == nullptr && count != 0)) return call.done(cudaErrorInvalidValue);
  std::vector<GraphNode*> dependencies;
  for (size_t i = 0; i < count; ++i) {
    GraphNode* node = node_of(call, after[i]);
    if (node == nullptr || node->graph != graph) return call.done(cudaErrorInvalidValue);
    dependencies.push_back(node);
  }
  *made = graph->add(std::move(dependencies));
  *out = reinterpret_cast<cudaGraphNode_t>(*made);
  return cudaSuccess;
}

template <typename Action>
cudaError_t add(Call& call, cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, Action action) {
  GraphNode* node = nullptr;
  const cudaError_t error = add_node(call, out, graph, after, count, &node);
  if (error == cudaSuccess) node->action = std::move(action);
  return error;
}

cudaError_t kernel_action(Call& call, const cudaKernelNodeParams* p, LaunchRequest* out) {
  if (p == nullptr) return call.done(cudaErrorInvalidValue);
  if (p->extra != nullptr) return call.unsupported("parameters given as one packed buffer");
  LaunchConfiguration configuration{p->gridDim, p->blockDim};
  configuration.dynamic_shared_bytes = p->sharedMemBytes;
  return prepare_launch(call, p->func, configuration, p->kernelParams, out);
}

cudaError_t fill_action(Call& call, const cudaMemsetParams* p, FillRequest* out) {
  if (p == nullptr || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)) return call.done(cudaErrorInvalidValue);
  const unsigned repeated = (p->value & 0xff) * 0x01010101u, mask = p->elementSize == 4 ? ~0u : (1u << (8 * p->elementSize)) - 1;
  if (((repeated ^ p->value) & mask) != 0) return call.unsupported("a fill whose elements have different bytes");
  return call.done(fill_request(call, p->dst, static_cast<int>(p->value & 0xff), {p->width * p->elementSize, p->height, p->pitch, 0}, out));
}

cudaError_t copies_action(Call& call, const cudaMemcpy3DParms* p, std::vector<CopyRequest>* out) {
  if (p == nullptr) return call.done(cudaErrorInvalidValue);
  if (p->srcArray != nullptr || p->dstArray != nullptr) return call.unsupported("arrays (texture memory) are not supported");
  if (p->extent.depth > 65536) return call.done(cudaErrorInvalidValue);
  for (size_t z = 0; z < p->extent.depth && p->extent.width * p->extent.height != 0; ++z) {
    auto* to = static_cast<uint8_t*>(p->dstPtr.ptr) + ((p->dstPos.z + z) * p->dstPtr.ysize + p->dstPos.y) * p->dstPtr.pitch + p->dstPos.x;
    const auto* from =
        static_cast<const uint8_t*>(p->srcPtr.ptr) + ((p->srcPos.z + z) * p->srcPtr.ysize + p->srcPos.y) * p->srcPtr.pitch + p->srcPos.x;
    const cudaError_t error =
        copy_request(call, to, from, {p->extent.width, p->extent.height, p->dstPtr.pitch, p->srcPtr.pitch}, p->kind, &out->emplace_back());
    if (error != cudaSuccess) return call.done(error);
  }
  return cudaSuccess;
}

cudaError_t copy_action(Call& call, void* to, const void* from, size_t bytes, cudaMemcpyKind kind, std::vector<CopyRequest>* out) {
  return bytes == 0 ? cudaSuccess : call.done(copy_request(call, to, from, {bytes}, kind, &out->emplace_back()));
}

// Replaces what a node does; it must be of the same kind.
template <typename Action> cudaError_t replace(Call& call, GraphNode* node, Action action) {
  if (node == nullptr || !std::holds_alternative<Action>(node->action)) return call.done(cudaErrorInvalidValue);
  node->action = std::move(action);
  return cudaSuccess;
}

GraphNode* in_executable(Call& call, cudaGraphExec_t handle, cudaGraphNode_t node) {
  Graph* graph = call.state().find_graph(handle);
  if (graph == nullptr) return nullptr;
  const auto it = graph->copy_of.find(reinterpret_cast<const GraphNode*>(node));
  return it == graph->copy_of.end() ? nullptr : it->second;
}

cudaError_t list(Call& call, const std::vector<GraphNode*>& found, cudaGraphNode_t* nodes, size_t* count) {
  if (count == nullptr) return call.done(cudaErrorInvalidValue);
  if (nodes != nullptr) {
    for (size_t i = 0; i < *count; ++i) nodes[i] = i < found.size() ? reinterpret_cast<cudaGraphNode_t>(found[i]) : nullptr;
    *count = std::min(*count, found.size());
  } else {
    *count = found.size();
  }
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* out, unsigned) {
  Call call("cudaGraphCreate");
  if (out == nullptr) return call.done(cudaErrorInvalidValue);
  *out = reinterpret_cast<cudaGraph_t>(call.state().keep_graph(std::make_shared<Graph>()));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  Call call("cudaGraphDestroy");
  for (const Stream* stream : call.state().streams())
    if (stream->capture != nullptr && stream->capture == call.state().find_graph(graph)) return call.done(cudaErrorInvalidValue);
  return call.done(call.state().destroy_graph(graph) ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaGraphClone(cudaGraph_t* out, cudaGraph_t original) {
  Call call("cudaGraphClone");
  const Graph* graph = call.state().find_graph(original);
  if (graph == nullptr || out == nullptr) return call.done(cudaErrorInvalidValue);
  *out = reinterpret_cast<cudaGraph_t>(call.state().keep_graph(graph->clone()));
  return cudaSuccess;
}
cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* out, cudaGraphNode_t original, cudaGraph_t clone) {
  Call call("cudaGraphNodeFindInClone");
  const Graph* graph = call.state().find_graph(clone);
  if (graph == nullptr || out == nullptr) return call.done(cudaErrorInvalidValue);
  const auto it = graph->copy_of.find(reinterpret_cast<const GraphNode*>(original));
  if (it == graph->copy_of.end()) return call.done(cudaErrorInvalidValue);
  *out = reinterpret_cast<cudaGraphNode_t>(it->second);
  return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaKernelNodeParams* params) {
  Call call("cudaGraphAddKernelNode");
  LaunchRequest request;
  if (const cudaError_t error = kernel_action(call, params, &request); error != cudaSuccess) return error;
  return add(call, out, graph, after, count, std::move(request));
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemcpy3DParms* params) {
  Call call("cudaGraphAddMemcpyNode");
  std::vector<CopyRequest> copies;
  if (const cudaError_t error = copies_action(call, params, &copies); error != cudaSuccess) return error;
  return add(call, out, graph, after, count, std::move(copies));
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, void* to,
                                     const void* from, size_t bytes, cudaMemcpyKind kind) {
  Call call("cudaGraphAddMemcpyNode1D");
  std::vector<CopyRequest> copies;
  if (const cudaError_t error = copy_action(call, to, from, bytes, kind, &copies); error != cudaSuccess) return error;
  return add(call, out, graph, after, count, std::move(copies));
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemsetParams* params) {
  Call call("cudaGraphAddMemsetNode");
  FillRequest request;
  if (const cudaError_t error = fill_action(call, params, &request); error != cudaSuccess) return error;
  return add(call, out, graph, after, count, request);
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                 const cudaHostNodeParams* params) {
  Call call("cudaGraphAddHostNode");
  if (params == nullptr || params->fn == nullptr) return call.done(cudaErrorInvalidValue);
  return add(call, out, graph, after, count, HostCall{params->fn, params->userData});
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count) {
  Call call("cudaGraphAddEmptyNode");
  return add(call, out, graph, after, count, std::monostate());
}
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, cudaEvent_t event) {
  Call call("cudaGraphAddEventRecordNode");
  if (call.state().find_event(event) == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  return add(call, out, graph, after, count, EventRecord{event});
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, cudaGraph_t child) {
  Call call("cudaGraphAddChildGraphNode");
  const Graph* inner = call.state().find_graph(child);
  if (inner == nullptr) return call.done(cudaErrorInvalidValue);
  return add(call, out, graph, after, count, inner->clone());
}
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                     cudaMemAllocNodeParams* params) {
  Call call("cudaGraphAddMemAllocNode");
  if (params == nullptr || params->bytesize == 0) return call.done(cudaErrorInvalidValue);
  if (call.state().find_graph(graph) == nullptr) return call.done(cudaErrorInvalidValue);
  if (const cudaError_t error = call.backend().allocate(params->bytesize, MemoryKind::kDevice, &params->dptr); error != cudaSuccess)
    return call.done(error);
  return add(call, out, graph, after, count, MemoryNode{call.state().keep_graph_memory(params->dptr, params->bytesize), false});
}
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, void* address) {
  Call call("cudaGraphAddMemFreeNode");
  auto memory = call.state().find_graph_memory(address);
  if (memory == nullptr) return call.done(cudaErrorInvalidValue);
  return add(call, out, graph, after, count, MemoryNode{std::move(memory), true});
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from, const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                                     size_t count) {
  Call call("cudaGraphAddDependencies");
  Graph* graph = call.state().find_graph(handle);
  if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr))) return call.done(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) {
    GraphNode *first = node_of(call, from[i]), *second = node_of(call, to[i]);
    if (first == nullptr || second == nullptr || first->graph != graph || second->graph != graph ||
        std::find(second->after.begin(), second->after.end(), first) != second->after.end())
      return call.done(cudaErrorInvalidValue);
    second->after.push_back(first);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  Call call("cudaGraphGetNodes");
  const Graph* graph = call.state().find_graph(handle);
  if (graph == nullptr) return call.done(cudaErrorInvalidValue);
  std::vector<GraphNode*> found;
  for (const auto& node : graph->nodes) found.push_back(node.get());
  return list(call, found, nodes, count);
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  Call call("cudaGraphGetRootNodes");
  const Graph* graph = call.state().find_graph(handle);
  if (graph == nullptr) return call.done(cudaErrorInvalidValue);
  std::vector<GraphNode*> found;
  for (const auto& node : graph->nodes)
    if (node->after.empty()) found.push_back(node.get());
  return list(call, found, nodes, count);
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t handle, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges, size_t* count) {
  Call call("cudaGraphNodeGetDependencies");
  const GraphNode* node = node_of(call, handle);
  if (node == nullptr || count == nullptr) return call.done(cudaErrorInvalidValue);
  if (edges != nullptr && nodes != nullptr) std::memset(edges, 0, *count * sizeof *edges);
  return list(call, node->after, nodes, count);
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  Call call("cudaGraphNodeGetType");
  const GraphNode* node = node_of(call, handle);
  if (node == nullptr || type == nullptr) return call.done(cudaErrorInvalidValue);
  *type = node->type();
  return cudaSuccess;
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* params) {
  Call call("cudaGraphKernelNodeSetParams");
  LaunchRequest request;
  if (const cudaError_t error = kernel_action(call, params, &request); error != cudaSuccess) return error;
  return replace(call, node_of(call, node), std::move(request));
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t graph, cudaGraphNode_t node, const cudaKernelNodeParams* params) {
  Call call("cudaGraphExecKernelNodeSetParams");
  LaunchRequest request;
  if (const cudaError_t error = kernel_action(call, params, &request); error != cudaSuccess) return error;
  return replace(call, in_executable(call, graph, node), std::move(request));
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* params) {
  Call call("cudaGraphMemsetNodeSetParams");
  FillRequest request;
  if (const cudaError_t error = fill_action(call, params, &request); error != cudaSuccess) return error;
  return replace(call, node_of(call, node), request);
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t graph, cudaGraphNode_t node, const cudaMemsetParams* params) {
  Call call("cudaGraphExecMemsetNodeSetParams");
  FillRequest request;
  if (const cudaError_t error = fill_action(call, params, &request); error != cudaSuccess) return error;
  return replace(call, in_executable(call, graph, node), request);
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  Call call("cudaGraphMemcpyNodeSetParams1D");
  std::vector<CopyRequest> copies;
  if (const cudaError_t error = copy_action(call, to, from, bytes, kind, &copies); error != cudaSuccess) return error;
  return replace(call, node_of(call, node), std::move(copies));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t graph, cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                               cudaMemcpyKind kind) {
  Call call("cudaGraphExecMemcpyNodeSetParams1D");
  std::vector<CopyRequest> copies;
  if (const cudaError_t error = copy_action(call, to, from, bytes, kind, &copies); error != cudaSuccess) return error;
  return replace(call, in_executable(call, graph, node), std::move(copies));
}

}  // extern "C"
