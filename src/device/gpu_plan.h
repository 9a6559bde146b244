// A plan loaded on an NVIDIA GPU. Internal to device: gpu_device.cc makes them.
//   gpu_plan.cc    buffers, modules, runs with a look around afterwards
//   gpu_steps.cc   a step's work put on a stream, and all of them as a CUDA graph
//   gpu_call.cc    calls between two clocks, and under a third
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/cuda_driver.h"
#include "device/device.h"
#include "device/replay.h"

namespace kw::device {

// Of a driver's call that failed: kLimit for memory, else kIo.
Error of_driver(const cuda::Driver& driver, cuda::Status status, const std::string& what);

// "0000:1b:00.0"
std::string bus_place(const cuda::Driver& driver, int device);

// What all plans of a GPU share. One thread at a time.
class GpuTools {
 public:
  static Result<std::shared_ptr<const GpuTools>> make(const cuda::Driver& driver, int device);
  ~GpuTools();
  // Adds the fingerprint of device memory to the two words at `sums`.
  Status fingerprint(cuda::Stream* stream, cuda::DevicePointer from, uint64_t bytes, uint64_t key, cuda::DevicePointer sums) const;
  // Nothing of what was in the L2 cache is there any more, and no line waits to be written back: other memory is read.
  Status flush_l2(cuda::Stream* stream) const;
  const std::string& bus_place() const { return bus_place_; }

 private:
  explicit GpuTools(const cuda::Driver& driver) : driver_(driver) {}
  const cuda::Driver& driver_;
  cuda::Module* module_ = nullptr;
  cuda::Function* kernel_ = nullptr;
  cuda::DevicePointer other_ = 0, sums_ = 0;
  uint64_t other_bytes_ = 0;
  std::string bus_place_;
  uint32_t blocks_ = 1;
};

class GpuPlan final : public LoadedPlan {
 public:
  GpuPlan(const cuda::Driver& driver, std::shared_ptr<const GpuTools> tools, plan::Plan plan)
      : driver_(driver), tools_(std::move(tools)), plan_(std::move(plan)) {}
  ~GpuPlan() override;
  Status prepare(const LoadOptions& options);

  const plan::Plan& plan() const override { return plan_; }
  Status write(std::string_view buffer, std::span<const uint8_t> bytes) override;
  Status read(std::string_view buffer, std::span<uint8_t> bytes) const override;
  Result<std::optional<uint64_t>> first_unwritten(std::string_view buffer) const override;
  Status reset() override;
  Result<RunReport> run(const RunOptions& options) override;
  Result<CallReport> call(const CallOptions& options) override;

 private:
  // Before and after every buffer, so that a store beside it is seen when it is not far off.
  static constexpr uint64_t kGuardBytes = 4096;
  struct Block {
    cuda::DevicePointer base = 0, address = 0;   // of what is allocated; of the buffer in it
    cuda::DevicePointer kept = 0;     // what an input or inout was given; 0: nothing yet
    bool written = false;
  };
  struct Variable {
    cuda::DevicePointer address = 0;
    std::vector<uint8_t> initial;
  };

  Status ours(cuda::Status status, const std::string& what) const {
    return status == cuda::kSuccess ? Status() : fail(of_driver(driver_, status, what));
  }
  uint64_t most_shift() const;
  Status allocate(Block& block, const plan::Buffer& buffer) const;
  Status load_code();
  Status settle_elsewhere(uint64_t seed);
  Status place(uint64_t layout_seed);
  Status put_written(const CallOptions& options);
  cuda::Status to_device(cuda::DevicePointer to, std::span<const uint8_t> bytes) const;
  Status load_module(size_t index);
  Result<cuda::Function*> function_of(const plan::Launch& launch) const;
  Status poison(size_t buffer);
  Status poison_all();
  Status synchronize() const { return ours(driver_.stream_synchronize(stream_), "the GPU's work"); }
  Result<uint64_t> resolve(const plan::Address& address) const;
  Resolve resolver() const {
    return [this](const plan::Address& address) { return resolve(address); };
  }
  Status look_around(RunReport& report);
  Status look_at_inputs(StepReport& last, const std::string& kernel);

  // gpu_steps.cc. A launch's own failure to start is the status; what else fails is an Error.
  Status stage_writes();
  Status encode_tensor_map(uint8_t* bytes) const;
  Result<cuda::Status> start(const plan::Launch& launch, cuda::Stream* stream) const;
  Status move_bytes(size_t index, cuda::Stream* stream) const;
  Status capture();
  void drop_graph();
  size_t graph_nodes() const;
  Status put_on_streams(std::vector<cuda::Stream*>& lanes, std::vector<cuda::Event*>& events) const;

  // gpu_call.cc
  Status make_sums();
  uint64_t sums_bytes() const { return std::max<uint64_t>(48, 48 * blocks_.size()); }   // before a call; as many more after it
  Status take_fingerprints(uint64_t key, cuda::DevicePointer sums);
  Result<CallReport> timed_call(const CallOptions& options);

  const cuda::Driver& driver_;
  const std::shared_ptr<const GpuTools> tools_;
  plan::Plan plan_;
  cuda::Stream* stream_ = nullptr;
  std::vector<Block> blocks_;               // by buffer
  std::vector<cuda::Module*> modules_;
  std::vector<Variable> variables_;
  std::vector<cuda::DevicePointer> staged_; // by step: what a Write writes; 0 for others
  cuda::GraphExec* graph_ = nullptr;        // of the buffers where they lie; null: not made yet
  bool turned_ = false;                     // inputs hold a call's contents, not the written ones
  cuda::Event* begin_ = nullptr;
  cuda::Event* end_ = nullptr;
  cuda::DevicePointer sums_ = 0;
};

// What a kernel did that ended the launch; nothing for what is ours.
std::optional<emu::Finding::Kind> kind_of(cuda::Status status);
emu::Finding gpu_finding(emu::Finding::Kind kind, const std::string& kernel, const std::string& message, bool fatal);

}  // namespace kw::device
