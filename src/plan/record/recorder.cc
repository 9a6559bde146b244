#include "plan/record/recorder.h"

#include <cstdlib>
#include <cstring>

#include "base/demangle.h"
#include "plan/runtime/state.h"
#include "plan/tensor_map.h"

namespace kw::runtime {
namespace {

constexpr uint64_t kMaxWritten = uint64_t{64} << 20;     // bytes of host data in one plan
constexpr uint64_t kMaxHostMemory = uint64_t{1} << 30;
Recorder* recorder = nullptr;

}  // namespace

Recorder* Recorder::current() { return recorder; }

std::unique_ptr<Backend> make_backend() {
  const char* target = std::getenv("KW_RECORD_TARGET");
  const char* seed = std::getenv("KW_RECORD_SEED");
  return std::make_unique<Recorder>(target == nullptr ? "sm_80" : target, seed == nullptr ? 0 : std::strtoull(seed, nullptr, 10));
}

Recorder::Recorder(std::string target, uint64_t seed) : target_(std::move(target)), space_(seed) {
  plan_.target = target_;
  recorder = this;
}

uint64_t Recorder::add_buffer(plan::Buffer buffer) {
  plan::Address address;
  address.buffer = static_cast<uint32_t>(plan_.buffers.size());
  const uint64_t begin = space_.place(buffer.bytes, address);
  if (begin == 0 || plan_.buffers.size() >= plan::kMaxBuffers)
    stop({"limit", Call::current(), fmt::format("device memory is exhausted: {} buffers, {} more bytes asked for", plan_.buffers.size(), buffer.bytes), {}});
  plan_.buffers.push_back(std::move(buffer));
  return begin;
}

cudaError_t Recorder::allocate(uint64_t bytes, MemoryKind kind, void** address) {
  if (kind == MemoryKind::kPinnedHost) {
    if (bytes > kMaxHostMemory) return cudaErrorMemoryAllocation;
    *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (*address == nullptr) return cudaErrorMemoryAllocation;
    std::memset(*address, 0, bytes);
    host_[reinterpret_cast<uint64_t>(*address)] = bytes;
    return cudaSuccess;
  }
  if (bytes > (uint64_t{1} << 38)) return cudaErrorMemoryAllocation;
  plan::Buffer buffer;
  buffer.name = fmt::format("workspace {}", workspaces_++);
  buffer.bytes = bytes;
  bytes_in_use_ += bytes;
  *address = reinterpret_cast<void*>(add_buffer(std::move(buffer)));
  return cudaSuccess;
}

cudaError_t Recorder::release(void* address) {
  const auto value = reinterpret_cast<uint64_t>(address);
  if (const auto host = host_.find(value); host != host_.end()) {
    host_.erase(host);
    std::free(address);
    return cudaSuccess;
  }
  // A plan's buffers live until its end; who was given a freed one's memory is not known, so nothing may use it again.
  const auto* range = space_.find(value);
  if (range == nullptr || range->begin != value || !range->target.in_buffer() ||
      plan_.buffers[range->target.buffer].role != plan::Role::kWorkspace)
    return cudaErrorInvalidValue;
  if (!freed_.insert(range->target.buffer).second) return cudaErrorInvalidValue;
  bytes_in_use_ -= std::min(bytes_in_use_, range->bytes);
  return cudaSuccess;
}

Backend::Located Recorder::locate(const void* address) {
  Located located;
  const auto* range = space_.find(reinterpret_cast<uint64_t>(address));
  if (range == nullptr) return located;
  located.device = true;
  located.begin = reinterpret_cast<void*>(range->begin);
  located.bytes = range->bytes;
  return located;
}

std::string Recorder::describe(uint64_t address) const {
  const auto* range = space_.find(address);
  if (range == nullptr) return "";
  const std::string name = range->target.in_buffer() ? fmt::format("'{}'", plan_.buffers[range->target.buffer].name)
                                                     : fmt::format("the device variable '{}'", range->target.variable);
  const auto offset = static_cast<int64_t>(address - range->begin);
  return offset == 0 ? name : fmt::format("{} {} {}", name, offset < 0 ? '-' : '+', offset < 0 ? -offset : offset);
}

Frontier Recorder::frontier_of(const Stream& stream) const {
  Frontier frontier = stream.frontier;
  State& state = State::get();
  if (stream.legacy) {
    for (const Stream* other : state.streams())
      if (other->blocking()) frontier = unite(frontier, other->frontier);
  } else if (stream.blocking()) {
    frontier = unite(frontier, state.legacy_stream().frontier);
  }
  return frontier;
}

void Recorder::add_step(plan::Step step, Stream& stream) {
  if (plan_.steps.size() >= plan::kMaxSteps)
    stop({"limit", Call::current(), fmt::format("the entry issues more than {} steps", plan::kMaxSteps), {}});
  const uint32_t index = order_.add(frontier_of(stream));
  stream.frontier = {index};
  step.after = order_.after()[index];
  plan_.steps.push_back(std::move(step));
  sites_.push_back(call_site());
}

plan::Address Recorder::resolved(const void* address, const char* what) const {
  if (auto target = space_.resolve(reinterpret_cast<uint64_t>(address))) {
    refuse_freed(*target);
    return *target;
  }
  stop({"call", Call::current(), fmt::format("{} is not device memory", what), {}});
}

uint32_t Recorder::module_of(const ModuleImage& image) {
  if (module_index_.size() <= image.index) module_index_.resize(image.index + 1, -1);
  int64_t& index = module_index_[image.index];
  if (index < 0) {
    const std::string hash = plan::hash_of(image.ptx);
    for (size_t i = 0; i < plan_.modules.size(); ++i)
      if (plan_.modules[i].hash == hash) index = static_cast<int64_t>(i);
    if (index < 0) {
      index = static_cast<int64_t>(plan_.modules.size());
      plan_.modules.push_back({image.ptx, hash});
    }
  }
  return static_cast<uint32_t>(index);
}

void Recorder::refuse_host_pointers(const LaunchRequest& request) const {
  for (size_t offset = 0; offset + 8 <= request.params.size() && !host_.empty(); offset += 8) {
    uint64_t value;
    std::memcpy(&value, request.params.data() + offset, 8);
    auto it = host_.upper_bound(value);
    if (it == host_.begin()) continue;
    --it;
    if (value - it->first < it->second)
      stop({"launch", Call::current(),
            fmt::format("{} is given a pointer to host memory (parameter offset {})", readable_name(request.kernel->name), offset),
            {"A plan has device memory only: copy the data with cudaMemcpyAsync into memory from cudaMalloc."}});
  }
}

void Recorder::refuse_freed(const plan::Address& address) const {
  if (!address.in_buffer() || freed_.count(address.buffer) == 0) return;
  stop({"launch", Call::current(), fmt::format("'{}' is used after it was freed", plan_.buffers[address.buffer].name),
        {"Free memory behind the last call that uses it: cudaFreeAsync waits for what its stream was given before."}});
}

cudaError_t Recorder::launch(const LaunchRequest& request) {
  refuse_host_pointers(request);
  plan::Launch launch;
  launch.module = module_of(*request.kernel->module);
  launch.kernel = request.kernel->name;
  launch.grid = request.grid;
  launch.block = request.block;
  launch.cluster = request.cluster;
  launch.dynamic_shared_bytes = request.dynamic_shared_bytes;
  launch.cooperative = request.cooperative;
  launch.programmatic_order = request.programmatic_order;
  launch.shared_carveout_percent = request.shared_carveout_percent;
  launch.nonportable_cluster = request.kernel->nonportable_cluster;
  launch.params = request.params;
  for (uint32_t offset = 0; offset + plan::kTensorMapBytes <= launch.params.size(); offset += 64)
    if (plan::decode_tensor_map(std::span<const uint8_t>(launch.params).subspan(offset))) launch.tensor_maps.push_back(offset);
  launch.relocations = space_.extract(launch.params);
  for (const plan::Relocation& relocation : launch.relocations) refuse_freed(relocation.target);
  plan::Step step;
  step.action = std::move(launch);
  add_step(std::move(step), *request.stream);
  return cudaSuccess;
}

cudaError_t Recorder::copy(const CopyRequest& request) {
  using Direction = CopyRequest::Direction;
  switch (request.direction) {
    case Direction::kHostToHost:
      for (uint64_t row = 0; row < request.rows; ++row)
        std::memmove(request.to + row * request.to_pitch, request.from + row * request.from_pitch, request.row_bytes);
      return cudaSuccess;
    case Direction::kDeviceToHost:
      stop({"call", Call::current(),
            fmt::format("{} bytes of {} are copied to the host, but tensor contents do not exist while recording", request.row_bytes * request.rows,
                        describe(reinterpret_cast<uint64_t>(request.from))),
            {"Decide from shapes and attributes, or let a kernel read the value where it lies."}});
    case Direction::kDeviceToDevice: {
      plan::Copy copy;
      copy.to = resolved(request.to, "the destination");
      copy.from = resolved(request.from, "the source");
      copy.row_bytes = request.row_bytes;
      copy.rows = request.rows;
      if (request.rows > 1) copy.to_pitch = request.to_pitch, copy.from_pitch = request.from_pitch;
      plan::Step step;
      step.action = std::move(copy);
      add_step(std::move(step), *request.stream);
      return cudaSuccess;
    }
    case Direction::kHostToDevice: break;
  }
  for (uint64_t row = 0; row < request.rows; ++row) {
    written_bytes_ += request.row_bytes;
    if (written_bytes_ > kMaxWritten)
      stop({"limit", Call::current(), fmt::format("the entry copies more than {} bytes from the host to the device", kMaxWritten),
            {"Compute tables of this size in a kernel."}});
    plan::Write write;
    write.to = resolved(request.to + row * request.to_pitch, "the destination");
    const uint8_t* from = request.from + row * request.from_pitch;
    write.data.assign(from, from + request.row_bytes);
    write.relocations = space_.extract(write.data);
    plan::Step step;
    step.action = std::move(write);
    add_step(std::move(step), *request.stream);
  }
  // A copy from pageable memory holds the host until the data is taken, not until it has arrived.
  return cudaSuccess;
}

cudaError_t Recorder::fill(const FillRequest& request) {
  plan::Fill fill;
  fill.to = resolved(request.to, "the destination");
  fill.pattern = {request.value};
  fill.row_bytes = request.row_bytes;
  fill.rows = request.rows;
  if (request.rows > 1) fill.pitch = request.pitch;
  plan::Step step;
  step.action = std::move(fill);
  add_step(std::move(step), *request.stream);
  return cudaSuccess;
}

cudaError_t Recorder::address_of(Variable& variable, void** address) {
  if (!variable.module->problem.empty())
    stop({"launch", Call::current(), variable.module->problem, {}});
  auto [it, fresh] = variables_.emplace(&variable, 0);
  if (fresh) {
    plan::Address target;
    target.module = module_of(*variable.module);
    target.variable = variable.name;
    it->second = space_.place(variable.bytes, target);
    if (it->second == 0) stop({"limit", Call::current(), "device memory is exhausted", {}});
  }
  *address = reinterpret_cast<void*>(it->second);
  return cudaSuccess;
}

void Recorder::modules_registered(std::vector<Variable*> managed) {
  for (Variable* variable : managed) {
    void* address = nullptr;
    address_of(*variable, &address);
    *variable->managed_pointer = address;   // the host faults when it follows it
  }
}

void Recorder::event_recorded(Event& event, Stream& stream) { event.frontier = unite(frontier_of(stream), order_.host()); }
void Recorder::stream_waits(Stream& stream, Event& event) { stream.frontier = unite(stream.frontier, event.frontier); }
void Recorder::host_waits(Stream& stream) { order_.host_waited(frontier_of(stream)); }
void Recorder::host_waits(Event& event) { order_.host_waited(event.frontier); }
void Recorder::host_waits_for_all() {
  Frontier all;
  for (const Stream* stream : State::get().streams()) all = unite(all, stream->frontier);
  order_.host_waited(all);
}

cudaError_t Recorder::refuse_launch(cudaError_t, const std::string& message) { stop({"launch", Call::current(), message, {}}); }

cudaError_t Recorder::unsupported(const char* call, const std::string& why) {
  stop({"call", call, fmt::format("{} cannot be recorded: {}", call, why),
        {"A plan holds kernel launches, fills, device-to-device copies, and data that the host computes from shapes."}});
}

void Recorder::finish(Stream& entry_stream, std::string candidate) {
  plan_.candidate = std::move(candidate);
  // What the caller's stream waits for: its own work, and what the host or the legacy stream ordered before it.
  plan_.unjoined = order_.outside(unite(frontier_of(entry_stream), order_.host()));
  const std::string plan_text = plan::write(plan_, plan::Code::kHashes);
  std::string sites = "{\"steps\": [";
  for (size_t i = 0; i < sites_.size(); ++i) sites += fmt::format("{}[{}]", i == 0 ? "" : ", ", fmt::join(sites_[i], ", "));
  sites += "]}\n";
  const auto write = [](const std::string& path, const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    const bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file == nullptr || std::fclose(file) != 0 || !good) stop({"limit", "", "the plan cannot be written: no room", {}});
  };
  for (const plan::Module& module : plan_.modules) write(fmt::format("{}/{}.ptx", output_folder(), module.hash), module.ptx);
  write(output_folder() + "/sites.json", sites);
  write(output_folder() + "/plan.json", plan_text);
}

}  // namespace kw::runtime
