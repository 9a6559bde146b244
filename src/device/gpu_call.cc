// Calls between two clocks, and under a third.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "device/gpu_plan.h"
#include "device/kernel_trace.h"
#include "device/nvml.h"

namespace kw::device {
namespace {

using cuda::DevicePointer;

constexpr uint32_t kThreads = 256, kBlocksPerMultiprocessor = 4;
constexpr auto kRamp = std::chrono::milliseconds(100);   // power and clocks rise with work
// How often the L2 cache's size is read to empty it; not every line that is read need push another out.
constexpr uint64_t kFlush = 4;

}  // namespace

std::string bus_place(const cuda::Driver& driver, int device) {
  char place[32] = "";
  driver.device_place(place, sizeof place, device);
  return place;
}

Result<std::shared_ptr<const GpuTools>> GpuTools::make(const cuda::Driver& driver, int device) {
  auto tools = std::shared_ptr<GpuTools>(new GpuTools(driver));
  int multiprocessors = 0, l2_bytes = 0;
  driver.device_attribute(&multiprocessors, cuda::kMultiprocessors, device);
  driver.device_attribute(&l2_bytes, cuda::kL2Bytes, device);
  tools->blocks_ = static_cast<uint32_t>(std::max(1, multiprocessors)) * kBlocksPerMultiprocessor;
  tools->bus_place_ = device::bus_place(driver, device);
  tools->other_bytes_ = kFlush * static_cast<uint64_t>(std::max(l2_bytes, 1 << 20));
  const auto tried = [&](cuda::Status status, const char* what) { return status == cuda::kSuccess ? Status() : fail(of_driver(driver, status, what)); };
  KW_TRY_VOID(tried(driver.module_load(&tools->module_, kFingerprintPtx, 0, nullptr, nullptr), "our own kernel"));
  KW_TRY_VOID(tried(driver.module_function(&tools->kernel_, tools->module_, kFingerprintKernel), "our own kernel"));
  KW_TRY_VOID(tried(driver.allocate(&tools->other_, tools->other_bytes_), "memory to empty the L2 cache with"));
  KW_TRY_VOID(tried(driver.allocate(&tools->sums_, 16), "memory to empty the L2 cache with"));
  KW_TRY_VOID(tried(driver.fill_8(tools->other_, 1, tools->other_bytes_, nullptr), "memory to empty the L2 cache with"));
  KW_TRY_VOID(tried(driver.context_synchronize(), "memory to empty the L2 cache with"));
  return tools;
}

GpuTools::~GpuTools() {
  if (other_ != 0) driver_.release(other_);
  if (sums_ != 0) driver_.release(sums_);
  if (module_ != nullptr) driver_.module_unload(module_);
}

Status GpuTools::fingerprint(cuda::Stream* stream, DevicePointer from, uint64_t bytes, uint64_t key, DevicePointer sums) const {
  if (bytes == 0) return {};
  uint64_t params[] = {from, bytes, key, sums};
  size_t size = sizeof params;
  void* extra[] = {cuda::kParamPointer, params, cuda::kParamSize, &size, cuda::kParamEnd};
  const uint64_t threads = (bytes + 3) / 4;
  const auto blocks = static_cast<uint32_t>(std::min<uint64_t>(blocks_, (threads + kThreads - 1) / kThreads));
  const cuda::LaunchConfig config{{blocks, 1, 1}, {kThreads, 1, 1}, 0, stream, nullptr, 0};
  const cuda::Status status = driver_.launch(&config, kernel_, nullptr, extra);
  return status == cuda::kSuccess ? Status() : fail(of_driver(driver_, status, "our own kernel"));
}

Status GpuTools::flush_l2(cuda::Stream* stream) const {
  if (const auto status = driver_.reset_persisting_l2(); status != cuda::kSuccess) return fail(of_driver(driver_, status, "the L2 cache"));
  return fingerprint(stream, other_, other_bytes_, 0, sums_);
}

// Inputs as the options turn them; without a call before there is nothing to put back.
Status GpuPlan::put_written(const CallOptions& options) {
  if (!turned_) return {};
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const plan::Buffer& buffer = plan_.buffers[i];
    const Block& block = blocks_[i];
    if (is_poisoned(buffer) || buffer.bytes == 0) continue;
    if (!block.written) return fail(ErrorCode::kInvalid, "'{}' was not written before the call", buffer.name);
    const uint64_t first = turned_bytes(options, buffer);
    KW_TRY_VOID(ours(driver_.copy(block.address, block.kept + first, buffer.bytes - first, stream_), "an input"));
    if (first > 0) KW_TRY_VOID(ours(driver_.copy(block.address + (buffer.bytes - first), block.kept, first, stream_), "an input"));
  }
  return {};
}

Status GpuPlan::make_sums() {
  return sums_ != 0 ? Status() : ours(driver_.allocate(&sums_, 2 * sums_bytes()), "memory for fingerprints");
}

// Two sums for each buffer's contents and the two bands around it.
Status GpuPlan::take_fingerprints(uint64_t key, DevicePointer sums) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const uint64_t bytes = plan_.buffers[i].bytes;
    const DevicePointer to = sums + 48 * i, behind = block.address + (bytes + 3) / 4 * 4;   // aligned
    KW_TRY_VOID(tools_->fingerprint(stream_, block.address, bytes, key, to));
    KW_TRY_VOID(tools_->fingerprint(stream_, block.address - kGuardBytes, kGuardBytes, key, to + 16));
    KW_TRY_VOID(tools_->fingerprint(stream_, behind, block.address + bytes + kGuardBytes - behind, key, to + 32));
  }
  return {};
}

// The graph is one made while tracing: of another's nodes there may be no records.
Result<CallReport> GpuPlan::call(const CallOptions& options) {
  if (!options.trace || !options.cold) return timed_call(options);
  const Status tracing = start_trace();
  if (tracing) drop_graph();
  Result<CallReport> report = timed_call(options);
  Traced traced;
  Status trace = tracing;
  if (tracing) {
    Result<Traced> stopped = stop_trace();
    drop_graph();
    if (stopped) traced = *stopped;
    else trace = fail(std::move(stopped.error()));
  }
  if (!report || !report->completed) return report;
  const size_t nodes = graph_nodes();
  if (!trace) report->untraced = trace.error().message;
  else if (traced.nodes.size() < nodes) report->untraced = fmt::format("the trace has {} of {} steps", traced.nodes.size(), nodes);
  else {
    report->traced_s = traced.seconds;
    report->traced = std::move(traced.nodes);
  }
  return report;
}

Result<CallReport> GpuPlan::timed_call(const CallOptions& options) {
  using Clock = std::chrono::steady_clock;
  if (options.afresh) KW_TRY_VOID(settle_elsewhere(options.layout_seed));
  if (options.afresh || options.layout_seed != 0) KW_TRY_VOID(place(options.layout_seed));
  KW_TRY_VOID(capture());
  for (cuda::Event** event : {&begin_, &end_})
    if (*event == nullptr) KW_TRY_VOID(ours(driver_.event_create(event, cuda::kTimed), "an event"));
  KW_TRY_VOID(make_sums());
  KW_TRY_VOID(ours(driver_.fill_8(sums_, 0, 2 * sums_bytes(), stream_), "memory for fingerprints"));
  turned_ = true;
  KW_TRY_VOID(put_written(options));
  KW_TRY_VOID(reset());
  KW_TRY_VOID(take_fingerprints(options.key, sums_));
  const int repeats = options.cold ? 1 : std::max(1, options.repeats);
  if (options.cold) {
    KW_TRY_VOID(tools_->flush_l2(stream_));   // long enough for all that follows to be in the queue before the clock starts
  } else {
    KW_TRY_VOID(ours(driver_.graph_launch(graph_, stream_), "the plan"));
  }
  CallReport report;
  cuda::Status status = options.cold ? cuda::kSuccess : driver_.stream_synchronize(stream_);
  const Clock::time_point begin = Clock::now();
  if (status == cuda::kSuccess) status = driver_.event_record(begin_, stream_);
  EnergyMeter meter(tools_->bus_place());
  const bool metered = options.power && !options.cold;
  const Clock::time_point steady = begin + kRamp;
  for (int i = 0; i < repeats && status == cuda::kSuccess; ++i) {
    status = driver_.graph_launch(graph_, stream_);
    if (metered && Clock::now() >= steady) meter.look();   // more launches are in the queue than run meanwhile
  }
  if (status == cuda::kSuccess) status = driver_.event_record(end_, stream_);
  for (cuda::Status busy = status; metered && busy == cuda::kSuccess;) {
    meter.look();
    if (busy = driver_.event_query(end_); busy != cuda::kNotReady) break;
    busy = cuda::kSuccess;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!options.cold && status == cuda::kSuccess) {
    status = driver_.stream_synchronize(stream_);
    report.host_s = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  if (status == cuda::kSuccess) {
    KW_TRY_VOID(take_fingerprints(options.key, sums_ + sums_bytes()));
    status = driver_.stream_synchronize(stream_);
  }
  if (status != cuda::kSuccess) {
    const auto kind = kind_of(status);
    if (!kind) return fail(of_driver(driver_, status, "a timed call"));
    report.findings.push_back(gpu_finding(*kind, "", driver_.describe(status), true));
    return report;
  }
  float milliseconds = 0;
  KW_TRY_VOID(ours(driver_.event_elapsed(&milliseconds, begin_, end_), "the clock"));
  report.device_s = 1e-3 * milliseconds;
  report.power = meter.power();
  report.completed = true;
  std::vector<Fingerprint> sums(2 * sums_bytes() / sizeof(Fingerprint));
  KW_TRY_VOID(ours(driver_.to_host(sums.data(), sums_, 2 * sums_bytes()), "fingerprints"));
  const size_t after = sums.size() / 2;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const plan::Buffer& buffer = plan_.buffers[i];
    for (const size_t part : {1u, 2u}) {
      if (sums[3 * i + part] == sums[after + 3 * i + part]) continue;
      report.findings.push_back(gpu_finding(emu::Finding::Kind::kOutOfBounds, "", fmt::format("something was written {} buffer {}", part == 1 ? "before" : "after", buffer.name), false));
      report.findings.back().object = buffer.name;
    }
    if (buffer.role == plan::Role::kInput && sums[3 * i] != sums[after + 3 * i]) {
      report.findings.push_back(gpu_finding(emu::Finding::Kind::kWriteToReadOnly, "", fmt::format("input {} was written", buffer.name), false));
      report.findings.back().object = buffer.name;
    }
    if (buffer.role == plan::Role::kOutput || buffer.role == plan::Role::kInOut) report.outputs.push_back(sums[after + 3 * i]);
  }
  return report;
}

}  // namespace kw::device
