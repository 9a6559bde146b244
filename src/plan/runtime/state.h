// What the C functions of the runtime share: registered modules, kernels and variables, streams and events,
// the launch configuration stack, and the lock. One State per process, made on first use and never destroyed,
// because registration begins before main and ends after it.
#pragma once

#include <cuda_runtime_api.h>

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/runtime/backend.h"
#include "plan/runtime/graph.h"

namespace kw::runtime {

// One fat binary of the program: what its handle (void**) points to.
struct FatBinary {
  ModuleImage* module = nullptr;
  std::vector<Variable*> managed;
};

class State {
 public:
  static State& get();

  Backend& backend();
  std::recursive_mutex& lock() { return lock_; }

  FatBinary* register_fat_binary(const void* wrapper);
  void register_kernel(FatBinary& binary, const void* host, const char* name);
  Variable* register_variable(FatBinary& binary, const void* host, const char* name, uint64_t bytes, bool constant);

  // By host address, or by handle (a Kernel*). Null when it is neither.
  Kernel* find_kernel(const void* symbol);
  Variable* find_variable(const void* symbol);

  // The stream that a handle means, the default streams included. Null for a handle that is none.
  Stream* find_stream(cudaStream_t handle);
  Stream& legacy_stream() { return legacy_; }
  Stream* create_stream(unsigned flags, int priority);
  bool destroy_stream(cudaStream_t handle);
  std::vector<Stream*> streams();

  Event* find_event(cudaEvent_t handle);
  Event* create_event(unsigned flags);
  bool destroy_event(cudaEvent_t handle);

  // Graphs and executable graphs by their handles.
  Graph* keep_graph(std::shared_ptr<Graph> graph);
  Graph* find_graph(const void* handle);
  GraphNode* find_graph_node(const void* handle);
  bool destroy_graph(const void* handle);
  // Memory of graphs, by address; null for any other.
  std::shared_ptr<GraphMemory> keep_graph_memory(void* address, uint64_t bytes);
  std::shared_ptr<GraphMemory> find_graph_memory(const void* address) const;
  void release_graph_memory();   // what no graph knows and nobody uses
  uint64_t graph_memory_bytes() const;
  uint64_t most_graph_memory_bytes = 0;   // since a program set it back

  // The .target of the first module that has one; empty before any is registered.
  std::string first_target() const;

 private:
  State();
  std::recursive_mutex lock_;
  std::unique_ptr<Backend> backend_;
  std::deque<FatBinary> binaries_;
  std::deque<ModuleImage> modules_;
  std::deque<Kernel> kernels_;
  std::deque<Variable> variables_;
  std::unordered_map<const void*, Kernel*> kernel_by_host_;
  std::set<const void*> kernel_handles_;
  std::unordered_map<const void*, Variable*> variable_by_host_;
  Stream legacy_, per_thread_;
  std::unordered_map<const void*, std::unique_ptr<Stream>> streams_;
  std::unordered_map<const void*, std::unique_ptr<Event>> events_;
  std::unordered_map<const void*, std::shared_ptr<Graph>> graphs_;
  std::unordered_map<const void*, std::shared_ptr<GraphMemory>> graph_memory_;
  uint64_t next_stream_ = 10;
};

struct CallConfiguration {
  dim3 grid, block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};
std::vector<CallConfiguration>& call_configurations();   // of this thread

// One call from the program: holds the lock and keeps the last error.
//   extern "C" cudaError_t cudaFoo(int x) { Call call("cudaFoo"); return call.done(…); }
class Call {
 public:
  explicit Call(const char* name) : name_(name), lock_(State::get().lock()) { current() = name; }
  State& state() { return State::get(); }
  Backend& backend() { return State::get().backend(); }
  cudaError_t done(cudaError_t error) {
    if (error != cudaSuccess) last_error() = error;
    return error;
  }
  cudaError_t unsupported(const std::string& why) { return done(backend().unsupported(name_, why)); }
  const char* name() const { return name_; }

  static cudaError_t& last_error();        // of this thread
  static const char*& current();           // the name of this thread's latest call

 private:
  const char* name_;
  std::lock_guard<std::recursive_mutex> lock_;
};

}  // namespace kw::runtime
