// A step's work put on a stream, and all steps of a plan as a CUDA graph.
#include <algorithm>
#include <cstring>

#include "device/gpu_plan.h"
#include "plan/tensor_map.h"

namespace kw::device {

// The driver's own tensor map in place of the plan's, whose layout is ours (plan/tensor_map.h).
Status GpuPlan::encode_tensor_map(uint8_t* bytes) const {
  const auto map = plan::decode_tensor_map({bytes, plan::kTensorMapBytes});
  if (!map) return fail(ErrorCode::kInvalid, "a tensor map of the plan does not decode");
  alignas(64) uint8_t encoded[plan::kTensorMapBytes];
  KW_TRY_VOID(ours(driver_.encode_tiled(encoded, map->type, map->rank, reinterpret_cast<void*>(map->address), map->extent.data(), map->stride.data(),
                                        map->box.data(), map->element_stride.data(), map->interleave, map->swizzle, map->promotion, map->fill),
                   "a tensor map"));
  std::memcpy(bytes, encoded, sizeof encoded);
  return {};
}

Result<cuda::Status> GpuPlan::start(const plan::Launch& launch, cuda::Stream* stream) const {
  KW_TRY(cuda::Function* const function, function_of(launch));
  std::vector<uint8_t> params = launch.params;
  KW_TRY_VOID(relocate(params, launch.relocations, resolver()));
  for (const uint32_t offset : launch.tensor_maps) KW_TRY_VOID(encode_tensor_map(params.data() + offset));
  if (launch.dynamic_shared_bytes > (48u << 10))
    KW_TRY_VOID(ours(driver_.function_set(function, cuda::kMaxDynamicShared, static_cast<int>(launch.dynamic_shared_bytes)), "dynamic shared memory"));
  KW_TRY_VOID(ours(driver_.function_set(function, cuda::kSharedCarveout, launch.shared_carveout_percent), "the shared memory carve-out"));
  if (launch.nonportable_cluster) KW_TRY_VOID(ours(driver_.function_set(function, cuda::kNonportableCluster, 1), "a non-portable cluster"));
  std::vector<cuda::LaunchAttribute> attributes;
  const auto add = [&](cuda::LaunchAttribute::Id id, std::array<uint32_t, 3> value) {
    cuda::LaunchAttribute attribute{id, 0, {}};
    std::copy(value.begin(), value.end(), attribute.value.begin());
    attributes.push_back(attribute);
  };
  if (launch.cooperative) add(cuda::LaunchAttribute::kCooperative, {1, 0, 0});
  if (launch.cluster != std::array<uint32_t, 3>{1, 1, 1}) add(cuda::LaunchAttribute::kClusterDimension, launch.cluster);
  if (launch.programmatic_order) add(cuda::LaunchAttribute::kProgrammaticOrder, {1, 0, 0});
  const auto& g = launch.grid;
  const auto& b = launch.block;
  const cuda::LaunchConfig config{{g[0], g[1], g[2]}, {b[0], b[1], b[2]}, launch.dynamic_shared_bytes, stream, attributes.data(),
                                  static_cast<uint32_t>(attributes.size())};
  size_t bytes = params.size();
  void* extra[] = {cuda::kParamPointer, params.data(), cuda::kParamSize, &bytes, cuda::kParamEnd};
  return driver_.launch(&config, function, nullptr, extra);
}

Status GpuPlan::move_bytes(size_t index, cuda::Stream* stream) const {
  const plan::Step& step = plan_.steps[index];
  if (const auto* fill = std::get_if<plan::Fill>(&step.action)) {
    if (fill->row_bytes == 0 || fill->rows == 0) return {};
    KW_TRY(const uint64_t to, resolve(fill->to));
    uint32_t value = 0;
    std::memcpy(&value, fill->pattern.data(), fill->pattern.size());
    const size_t width = fill->row_bytes / fill->pattern.size();
    const size_t pitch = fill->rows == 1 ? fill->row_bytes : fill->pitch;
    switch (fill->pattern.size()) {
      case 1: return ours(driver_.fill_2d_8(to, pitch, static_cast<uint8_t>(value), width, fill->rows, stream), "a fill");
      case 2: return ours(driver_.fill_2d_16(to, pitch, static_cast<uint16_t>(value), width, fill->rows, stream), "a fill");
      default: return ours(driver_.fill_2d_32(to, pitch, value, width, fill->rows, stream), "a fill");
    }
  }
  if (const auto* copy = std::get_if<plan::Copy>(&step.action)) {
    if (copy->row_bytes == 0 || copy->rows == 0) return {};
    cuda::Copy2d what;
    KW_TRY(what.to, resolve(copy->to));
    KW_TRY(what.from, resolve(copy->from));
    what.to_pitch = copy->rows == 1 ? copy->row_bytes : copy->to_pitch;
    what.from_pitch = copy->rows == 1 ? copy->row_bytes : copy->from_pitch;
    what.width_bytes = copy->row_bytes;
    what.height = copy->rows;
    return ours(driver_.copy_2d(&what, stream), "a copy");
  }
  const auto& write = std::get<plan::Write>(step.action);
  KW_TRY(const uint64_t to, resolve(write.to));
  return write.data.empty() ? Status() : ours(driver_.copy(to, staged_[index], write.data.size(), stream), "a write");
}

// A graph's copy reads its source when it runs: what the plan writes lies on the device beforehand.
Status GpuPlan::stage_writes() {
  staged_.resize(plan_.steps.size(), 0);
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const auto* write = std::get_if<plan::Write>(&plan_.steps[i].action);
    if (write == nullptr || write->data.empty()) continue;
    std::vector<uint8_t> data = write->data;
    KW_TRY_VOID(relocate(data, write->relocations, resolver()));
    if (staged_[i] == 0) KW_TRY_VOID(ours(driver_.allocate(&staged_[i], data.size()), "what the plan writes"));
    KW_TRY_VOID(ours(to_device(staged_[i], data), "what the plan writes"));
  }
  return {};
}

// Steps without order between them go on streams of their own, so that they may run side by side as the candidate asked.
Status GpuPlan::put_on_streams(std::vector<cuda::Stream*>& lanes, std::vector<cuda::Event*>& events) const {
  constexpr size_t kMostLanes = 16;
  const size_t count = plan_.steps.size();
  const auto new_event = [&](cuda::Stream* stream) -> Result<cuda::Event*> {
    cuda::Event* event = nullptr;
    KW_TRY_VOID(ours(driver_.event_create(&event, cuda::kUntimed), "an event"));
    events.push_back(event);
    KW_TRY_VOID(ours(driver_.event_record(event, stream), "an event"));
    return event;
  };
  lanes = {stream_};
  KW_TRY(cuda::Event* const begin, new_event(stream_));
  std::vector<size_t> lane_of(count), last_of{count};   // a lane's last step; `count`: none yet
  std::vector<cuda::Event*> done(count);
  for (size_t i = 0; i < count; ++i) {
    const plan::Step& step = plan_.steps[i];
    size_t lane = lanes.size();
    for (size_t l = 0; l < lanes.size() && lane == lanes.size(); ++l) {
      const bool follows = std::find(step.after.begin(), step.after.end(), last_of[l]) != step.after.end();
      if (follows || last_of[l] == count) lane = l;
    }
    if (lane == lanes.size() && lanes.size() == kMostLanes) lane = i % kMostLanes;   // an order that the plan does not ask for, but allows
    if (lane == lanes.size()) {
      cuda::Stream* stream = nullptr;
      KW_TRY_VOID(ours(driver_.stream_create(&stream, cuda::kNonBlocking), "a stream"));
      lanes.push_back(stream);
      last_of.push_back(count);
      KW_TRY_VOID(ours(driver_.stream_wait(stream, begin, 0), "a stream"));
    }
    for (const uint32_t before : step.after)
      if (lane_of[before] != lane) KW_TRY_VOID(ours(driver_.stream_wait(lanes[lane], done[before], 0), "a stream"));
    if (const auto* launch = std::get_if<plan::Launch>(&step.action)) {
      KW_TRY(const cuda::Status status, start(*launch, lanes[lane]));
      KW_TRY_VOID(ours(status, fmt::format("step {}, kernel {}", i, launch->kernel)));
    } else {
      KW_TRY_VOID(move_bytes(i, lanes[lane]));
    }
    lane_of[i] = lane;
    last_of[lane] = i;
    KW_TRY(done[i], new_event(lanes[lane]));   // of a stream that is captured, no work
  }
  for (size_t l = 1; l < lanes.size(); ++l) {
    KW_TRY(cuda::Event* const end, new_event(lanes[l]));
    KW_TRY_VOID(ours(driver_.stream_wait(stream_, end, 0), "a stream"));
  }
  return {};
}

void GpuPlan::drop_graph() {
  if (graph_ != nullptr) driver_.graph_exec_destroy(graph_);
  graph_ = nullptr;
}

// Steps that put something on a stream.
size_t GpuPlan::graph_nodes() const {
  return static_cast<size_t>(std::count_if(plan_.steps.begin(), plan_.steps.end(), [](const plan::Step& step) {
    if (const auto* fill = std::get_if<plan::Fill>(&step.action)) return fill->row_bytes > 0 && fill->rows > 0;
    if (const auto* copy = std::get_if<plan::Copy>(&step.action)) return copy->row_bytes > 0 && copy->rows > 0;
    const auto* write = std::get_if<plan::Write>(&step.action);
    return write == nullptr || !write->data.empty();
  }));
}

Status GpuPlan::capture() {
  if (graph_ != nullptr) return {};
  std::vector<cuda::Stream*> lanes;
  std::vector<cuda::Event*> events;
  KW_TRY_VOID(ours(driver_.capture_begin(stream_, cuda::kCaptureRelaxed), "a graph of the plan"));
  const Status put = put_on_streams(lanes, events);
  cuda::Graph* graph = nullptr;
  const cuda::Status ended = driver_.capture_end(stream_, &graph);
  Status made = put;
  if (made) made = ours(ended, "a graph of the plan");
  if (made) made = ours(driver_.graph_instantiate(&graph_, graph, 0), "a graph of the plan");
  if (graph != nullptr) driver_.graph_destroy(graph);
  for (cuda::Event* event : events) driver_.event_destroy(event);
  for (size_t l = 1; l < lanes.size(); ++l) driver_.stream_destroy(lanes[l]);
  return made;
}

}  // namespace kw::device
