#include "plan/runtime/state.h"

#include <algorithm>

#include "plan/runtime/fatbinary.h"

namespace kw::runtime {

State::State() {
  legacy_.legacy = true;
  legacy_.id = 1;
  per_thread_.id = 2;
}

State& State::get() {
  static State* state = new State;  // outlives every exit handler of the program
  return *state;
}

Backend& State::backend() {
  if (backend_ == nullptr) backend_ = make_backend();
  return *backend_;
}

FatBinary* State::register_fat_binary(const void* wrapper) {
  ModuleImage& module = modules_.emplace_back();
  module.index = static_cast<uint32_t>(modules_.size() - 1);
  auto text = ptx_of_fat_binary(wrapper);
  if (text) {
    module.ptx = std::move(*text);
    module.outline = plan::outline(module.ptx);
  } else {
    module.problem = text.error().message;
  }
  FatBinary& binary = binaries_.emplace_back();
  binary.module = &module;
  return &binary;
}

void State::register_kernel(FatBinary& binary, const void* host, const char* name) {
  Kernel& kernel = kernels_.emplace_back();
  kernel.module = binary.module;
  kernel.name = name == nullptr ? "" : name;
  kernel.host = host;
  kernel.entry = binary.module->outline.find_entry(kernel.name);
  if (kernel.entry != nullptr) kernel.required_cluster = kernel.entry->cluster;
  kernel_by_host_[host] = &kernel;
  kernel_handles_.insert(&kernel);
}

Variable* State::register_variable(FatBinary& binary, const void* host, const char* name, uint64_t bytes, bool constant) {
  Variable& variable = variables_.emplace_back();
  variable.module = binary.module;
  variable.name = name == nullptr ? "" : name;
  variable.host = host;
  variable.bytes = bytes;
  variable.constant = constant;
  variable_by_host_[host] = &variable;
  return &variable;
}

Kernel* State::find_kernel(const void* symbol) {
  const auto it = kernel_by_host_.find(symbol);
  if (it != kernel_by_host_.end()) return it->second;
  if (kernel_handles_.count(symbol) == 0) return nullptr;
  return const_cast<Kernel*>(static_cast<const Kernel*>(symbol));
}

Variable* State::find_variable(const void* symbol) {
  const auto it = variable_by_host_.find(symbol);
  return it == variable_by_host_.end() ? nullptr : it->second;
}

Stream* State::find_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return &legacy_;
  if (handle == cudaStreamPerThread) return &per_thread_;
  const auto it = streams_.find(handle);
  return it == streams_.end() ? nullptr : it->second.get();
}

Stream* State::create_stream(unsigned flags, int priority) {
  auto stream = std::make_unique<Stream>();
  stream->id = next_stream_++;
  stream->flags = flags;
  stream->priority = priority;
  Stream* handle = stream.get();
  streams_.emplace(handle, std::move(stream));
  return handle;
}

bool State::destroy_stream(cudaStream_t handle) {
  // Work that was issued stays issued; only the handle goes.
  return streams_.erase(handle) != 0;
}

std::vector<Stream*> State::streams() {
  std::vector<Stream*> all{&legacy_, &per_thread_};
  for (auto& [handle, stream] : streams_) all.push_back(stream.get());
  return all;
}

Event* State::find_event(cudaEvent_t handle) {
  const auto it = events_.find(handle);
  return it == events_.end() ? nullptr : it->second.get();
}

Event* State::create_event(unsigned flags) {
  auto event = std::make_unique<Event>();
  event->flags = flags;
  Event* handle = event.get();
  events_.emplace(handle, std::move(event));
  return handle;
}

bool State::destroy_event(cudaEvent_t handle) { return events_.erase(handle) != 0; }

Graph* State::keep_graph(std::shared_ptr<Graph> graph) {
  Graph* handle = graph.get();
  graphs_.emplace(handle, std::move(graph));
  return handle;
}

Graph* State::find_graph(const void* handle) {
  const auto it = graphs_.find(handle);
  return it == graphs_.end() ? nullptr : it->second.get();
}

bool State::destroy_graph(const void* handle) {
  if (graphs_.erase(handle) == 0) return false;
  release_graph_memory();
  return true;
}

std::shared_ptr<GraphMemory> State::keep_graph_memory(void* address, uint64_t bytes) {
  auto memory = std::make_shared<GraphMemory>();
  memory->address = address;
  memory->bytes = bytes;
  graph_memory_[address] = memory;
  most_graph_memory_bytes = std::max(most_graph_memory_bytes, graph_memory_bytes());
  return memory;
}

std::shared_ptr<GraphMemory> State::find_graph_memory(const void* address) const {
  const auto it = graph_memory_.find(address);
  return it == graph_memory_.end() ? nullptr : it->second;
}

void State::release_graph_memory() {
  for (auto it = graph_memory_.begin(); it != graph_memory_.end();) {
    if (it->second.use_count() > 1 || it->second->used) {
      ++it;
      continue;
    }
    backend().release(it->second->address);
    it = graph_memory_.erase(it);
  }
}

uint64_t State::graph_memory_bytes() const {
  uint64_t sum = 0;
  for (const auto& [address, memory] : graph_memory_) sum += memory->bytes;
  return sum;
}

GraphNode* State::find_graph_node(const void* handle) {
  for (auto& [key, graph] : graphs_)
    for (auto& node : graph->nodes)
      if (node.get() == handle) return node.get();
  return nullptr;
}

std::string State::first_target() const {
  for (const ModuleImage& module : modules_)
    if (!module.outline.target.empty()) return module.outline.target;
  return "";
}

std::vector<CallConfiguration>& call_configurations() {
  thread_local std::vector<CallConfiguration> stack;
  return stack;
}

cudaError_t& Call::last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

const char*& Call::current() {
  thread_local const char* name = "";
  return name;
}

}  // namespace kw::runtime
