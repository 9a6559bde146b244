// Streams, events and what the host waits for.
#include <algorithm>
#include <climits>

#include "plan/runtime/request.h"
#include "plan/runtime/state.h"

using namespace kw::runtime;  // NOLINT: the C functions below are this file's purpose

namespace {

cudaError_t create_stream(Call& call, cudaStream_t* out, unsigned flags, int priority) {
  if (out == nullptr) return call.done(cudaErrorInvalidValue);
  *out = reinterpret_cast<cudaStream_t>(call.state().create_stream(flags, priority));
  return cudaSuccess;
}

cudaError_t record(Call& call, cudaEvent_t event, cudaStream_t stream) {
  Event* known = call.state().find_event(event);
  Stream* on = call.state().find_stream(stream);
  if (known == nullptr || on == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  known->recorded = true;
  known->capture = on->capture;
  known->captured = on->captured;
  if (on->capture != nullptr) return cudaSuccess;   // an edge of the graph, not an event
  call.backend().event_recorded(*known, *on);
  return cudaSuccess;
}

cudaError_t host_function(Call& call, cudaStream_t stream, cudaHostFn_t function, void* data) {
  Stream* known = call.state().find_stream(stream);
  if (known == nullptr || function == nullptr) return call.done(cudaErrorInvalidValue);
  return submit(call, *known, {function, data});
}

// Waiting for work that is captured and so never begins.
cudaError_t captured(Call& call, const Graph* capture) {
  return call.done(capture == nullptr ? cudaSuccess : cudaErrorStreamCaptureUnsupported);
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* out) { Call call("cudaStreamCreate"); return create_stream(call, out, 0, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
  Call call("cudaStreamCreateWithFlags");
  return create_stream(call, out, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned flags, int priority) {
  Call call("cudaStreamCreateWithPriority");
  return create_stream(call, out, flags, priority);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Call call("cudaStreamDestroy");
  return call.done(call.state().destroy_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Call call("cudaStreamSynchronize");
  Stream* known = call.state().find_stream(stream);
  if (known == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = captured(call, known->capture); error != cudaSuccess) return error;
  call.backend().host_waits(*known);
  return call.done(call.backend().fault());
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  Call call("cudaStreamWaitEvent");
  Stream* known = call.state().find_stream(stream);
  Event* waited = call.state().find_event(event);
  if (known == nullptr || waited == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  const auto all = call.state().streams();
  if (std::any_of(all.begin(), all.end(), [&](const Stream* s) { return s->capture != nullptr && s->capture == waited->capture; })) {
    // The stream joins the capture.
    if (known->capture != nullptr && known->capture != waited->capture) return call.done(cudaErrorStreamCaptureMerge);
    known->capture = waited->capture;
    for (GraphNode* node : waited->captured)
      if (std::find(known->captured.begin(), known->captured.end(), node) == known->captured.end()) known->captured.push_back(node);
    return cudaSuccess;
  }
  if (known->capture != nullptr) return cudaSuccess;   // done before the graph is launched
  call.backend().stream_waits(*known, *waited);
  return cudaSuccess;
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  Call call("cudaStreamGetFlags");
  Stream* known = call.state().find_stream(stream);
  if (known == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  *flags = known->flags;
  return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  Call call("cudaStreamGetPriority");
  Stream* known = call.state().find_stream(stream);
  if (known == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  *priority = known->priority;
  return cudaSuccess;
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  Call call("cudaStreamGetId");
  Stream* known = call.state().find_stream(stream);
  if (known == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  *id = known->id;
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) { *device = 0; return cudaSuccess; }
cudaError_t cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue*) { return cudaSuccess; }
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  Call call("cudaLaunchHostFunc");
  return host_function(call, stream, function, data);
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
  Call call("cudaStreamAddCallback");
  if (call.state().find_stream(stream) == nullptr || callback == nullptr) return call.done(cudaErrorInvalidValue);
  if (!call.backend().runs_host_functions()) return call.unsupported("host code cannot run in the middle of a plan");
  if (call.state().find_stream(stream)->capture != nullptr) return call.done(cudaErrorStreamCaptureUnsupported);
  callback(stream, cudaSuccess, data);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
  Call call("cudaEventCreateWithFlags");
  if (out == nullptr) return call.done(cudaErrorInvalidValue);
  *out = reinterpret_cast<cudaEvent_t>(call.state().create_event(flags));
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* out) { return cudaEventCreateWithFlags(out, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Call call("cudaEventDestroy");
  return call.done(call.state().destroy_event(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { Call call("cudaEventRecord"); return record(call, event, stream); }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  Call call("cudaEventRecordWithFlags");
  return record(call, event, stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Call call("cudaEventSynchronize");
  Event* known = call.state().find_event(event);
  if (known == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = captured(call, known->capture); error != cudaSuccess) return error;
  call.backend().host_waits(*known);
  return call.done(call.backend().fault());
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  Call call("cudaEventQuery");
  return call.done(call.state().find_event(event) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess);
}
// While recording nothing runs, so 0; under the emulator the modelled time of the work in between (event.time_ms).
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  Call call("cudaEventElapsedTime");
  Event* from = call.state().find_event(begin);
  Event* to = call.state().find_event(end);
  if (from == nullptr || to == nullptr || !from->recorded || !to->recorded) return call.done(cudaErrorInvalidResourceHandle);
  *ms = static_cast<float>(to->time_ms - from->time_ms);
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  Call call("cudaDeviceSynchronize");
  call.backend().host_waits_for_all();
  return call.done(call.backend().fault());
}

}  // extern "C"
