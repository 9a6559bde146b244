// The seam of the CUDA runtime: the C functions of the toolkit (abi_*.cc) keep the books that every CUDA
// program needs (modules, kernels, variables, streams, events, errors) and hand what acts on a device to a
// Backend. Two exist: the recorder (plan/record), which writes a plan and executes nothing, and the emulator
// (device/emulated_runtime.cc), which executes at once.
//
// Calls arrive one at a time (the runtime holds a lock), from any thread. A method returns the cudaError_t that
// the program sees. Pointers are the program's: a backend must expect any value.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plan/ptx_outline.h"

namespace kw::runtime {

struct ModuleImage {
  std::string ptx;
  plan::PtxOutline outline;
  std::string problem;           // not empty: nothing in it can be used, and why
  uint32_t index = 0;            // in order of registration
};

struct Kernel {
  ModuleImage* module = nullptr;
  const plan::EntryOutline* entry = nullptr;   // null: the module does not define it
  std::string name;
  const void* host = nullptr;    // the address that stands for it in the program
  // Function attributes; -1: not set.
  int max_dynamic_shared_bytes = -1;
  int shared_carveout_percent = -1;
  bool nonportable_cluster = false;
  std::array<uint32_t, 3> required_cluster{};
};

struct Variable {
  ModuleImage* module = nullptr;
  std::string name;
  const void* host = nullptr;    // its shadow in the program
  void** managed_pointer = nullptr;   // managed variables: where the program reads its address
  uint64_t bytes = 0;
  bool constant = false;
};

struct Graph;
struct GraphNode;

struct HostCall {
  cudaHostFn_t function = nullptr;
  void* data = nullptr;
};

// What a stream or an event stands behind: steps for the recorder, nothing for the emulator; nodes while work is
// captured into a graph instead of issued.
struct Stream {
  uint64_t id = 0;
  unsigned flags = 0;
  int priority = 0;
  bool legacy = false;           // the legacy default stream
  bool blocking() const { return (flags & cudaStreamNonBlocking) == 0; }
  std::vector<uint32_t> frontier;
  Graph* capture = nullptr;      // not null: captured into it
  bool capture_origin = false;   // the capture began on this stream
  std::vector<GraphNode*> captured;
};

struct Event {
  unsigned flags = 0;
  bool recorded = false;
  double time_ms = 0;
  std::vector<uint32_t> frontier;
  Graph* capture = nullptr;      // recorded in a captured stream
  std::vector<GraphNode*> captured;
};

enum class MemoryKind { kDevice, kManaged, kPinnedHost };

struct LaunchRequest {
  Kernel* kernel = nullptr;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false, programmatic_order = false;
  int shared_carveout_percent = -1;
  std::vector<uint8_t> params;
  Stream* stream = nullptr;
};

struct CopyRequest {
  enum class Direction { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice } direction = Direction::kHostToHost;
  uint8_t* to = nullptr;
  const uint8_t* from = nullptr;
  uint64_t row_bytes = 0, rows = 1, to_pitch = 0, from_pitch = 0;
  Stream* stream = nullptr;
  bool asynchronous = false;
};

struct FillRequest {
  uint8_t* to = nullptr;
  uint8_t value = 0;
  uint64_t row_bytes = 0, rows = 1, pitch = 0;
  Stream* stream = nullptr;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const std::string& target() const = 0;     // "sm_80"

  virtual cudaError_t allocate(uint64_t bytes, MemoryKind kind, void** address) = 0;
  virtual cudaError_t release(void* address) = 0;
  // Whether kernels can reach the byte, and what kind of memory it lies in.
  struct Located {
    bool device = false;
    MemoryKind kind = MemoryKind::kDevice;
    void* begin = nullptr;
    uint64_t bytes = 0;
  };
  virtual Located locate(const void* address) = 0;
  virtual uint64_t bytes_in_use() const = 0;

  virtual cudaError_t launch(const LaunchRequest& request) = 0;
  virtual cudaError_t copy(const CopyRequest& request) = 0;
  virtual cudaError_t fill(const FillRequest& request) = 0;
  virtual cudaError_t address_of(Variable& variable, void** address) = 0;
  // Every module and symbol of one fat binary is registered (managed variables get their addresses here).
  virtual void modules_registered(std::vector<Variable*> managed) = 0;

  virtual void event_recorded(Event& event, Stream& stream) = 0;
  virtual void stream_waits(Stream& stream, Event& event) = 0;
  virtual void host_waits(Stream& stream) = 0;
  virtual void host_waits(Event& event) = 0;
  virtual void host_waits_for_all() = 0;
  // The error that a kernel left behind, which every later wait and copy reports; cudaSuccess while there is none.
  virtual cudaError_t fault() const { return cudaSuccess; }
  // Host functions in stream order. False: cannot be done.
  virtual bool runs_host_functions() const = 0;

  // A launch that the target or its own attributes forbid, in a sentence. Returns what the program sees.
  virtual cudaError_t refuse_launch(cudaError_t error, const std::string& message) = 0;
  // A call that this runtime does not have, or that this backend cannot do. May not return.
  virtual cudaError_t unsupported(const char* call, const std::string& why) = 0;
};

// Defined once per runtime library.
std::unique_ptr<Backend> make_backend();

}  // namespace kw::runtime
