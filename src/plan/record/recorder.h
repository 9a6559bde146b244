// The recording backend: every call becomes a step of a plan, nothing is executed. Lives in the candidate's
// process, in the jail. What cannot be recorded ends the process through stop(), after writing why.
//
// Files, in the folder that main (entry.cc) got: plan.json, HASH.ptx of each module (its text would double in JSON) and sites.json
// on success, or error.json:
//   sites.json {"steps": [[frame, …], …]}         return addresses relative to the program, innermost first
//   error.json {"kind", "call", "message", "notes", "frames"}
#pragma once

#include <set>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/record/address_space.h"
#include "plan/record/order.h"
#include "plan/runtime/backend.h"

namespace kw::runtime {

// The program's own return addresses, innermost first, relative to where it was loaded.
std::vector<uint64_t> call_site();

// Why a recording ends; names as toolchain/record.cc reads them.
struct Stop {
  const char* kind = "call";     // call, contract, crash, limit, launch
  std::string call, message;
  std::vector<std::string> notes;
};
[[noreturn]] void stop(const Stop& reason);
[[noreturn]] void stop(const Stop& reason, const std::vector<uint64_t>& frames);

class Recorder final : public Backend {
 public:
  Recorder(std::string target, uint64_t seed);
  static Recorder* current();

  // The tensors of the workload, before the entry runs. The tagged address.
  uint64_t add_buffer(plan::Buffer buffer);
  // Ends the recording: writes plan.json and sites.json.
  void finish(Stream& entry_stream, std::string candidate);

  const std::string& target() const override { return target_; }
  cudaError_t allocate(uint64_t bytes, MemoryKind kind, void** address) override;
  cudaError_t release(void* address) override;
  Located locate(const void* address) override;
  uint64_t bytes_in_use() const override { return bytes_in_use_; }
  cudaError_t launch(const LaunchRequest& request) override;
  cudaError_t copy(const CopyRequest& request) override;
  cudaError_t fill(const FillRequest& request) override;
  cudaError_t address_of(Variable& variable, void** address) override;
  void modules_registered(std::vector<Variable*> managed) override;
  void event_recorded(Event& event, Stream& stream) override;
  void stream_waits(Stream& stream, Event& event) override;
  void host_waits(Stream& stream) override;
  void host_waits(Event& event) override;
  void host_waits_for_all() override;
  bool runs_host_functions() const override { return false; }
  cudaError_t refuse_launch(cudaError_t error, const std::string& message) override;
  cudaError_t unsupported(const char* call, const std::string& why) override;

  // "buffer 'x' + 16", for messages about a fault at `address`; empty when it is none of ours.
  std::string describe(uint64_t address) const;

 private:
  void add_step(plan::Step step, Stream& stream);
  Frontier frontier_of(const Stream& stream) const;
  plan::Address resolved(const void* address, const char* what) const;
  uint32_t module_of(const ModuleImage& image);
  void refuse_host_pointers(const LaunchRequest& request) const;
  void refuse_freed(const plan::Address& address) const;

  std::string target_;
  AddressSpace space_;
  Order order_;
  plan::Plan plan_;
  std::vector<std::vector<uint64_t>> sites_;
  std::vector<int64_t> module_index_;               // by ModuleImage::index; -1: not used yet
  std::map<const Variable*, uint64_t> variables_;   // address by variable
  std::map<uint64_t, uint64_t> host_;               // pinned host memory: begin, bytes
  std::set<uint32_t> freed_;                        // buffers
  uint64_t bytes_in_use_ = 0, written_bytes_ = 0;
  int workspaces_ = 0;
};

// Where main put the output folder.
void set_output_folder(std::string folder);
const std::string& output_folder();

}  // namespace kw::runtime
