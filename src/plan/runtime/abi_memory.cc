// Allocation, copies and fills.
#include <cstring>

#include "plan/runtime/graph.h"
#include "plan/runtime/request.h"
#include "plan/runtime/state.h"

namespace kw::runtime {
namespace {

cudaError_t allocate(Call& call, void** out, uint64_t bytes, MemoryKind kind) {
  if (out == nullptr) return call.done(cudaErrorInvalidValue);
  *out = nullptr;
  if (bytes == 0) return cudaSuccess;
  return call.done(call.backend().allocate(bytes, kind, out));
}

cudaError_t allocate_in_order(Call& call, void** out, uint64_t bytes, cudaStream_t handle) {
  Stream* stream = call.state().find_stream(handle);
  if (stream == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  const cudaError_t error = allocate(call, out, bytes, MemoryKind::kDevice);
  if (error == cudaSuccess && stream->capture != nullptr) capture_node(*stream)->action = MemoryNode{call.state().keep_graph_memory(*out, bytes), false};
  return error;
}

cudaError_t release(Call& call, void* address) {
  if (address == nullptr) return cudaSuccess;
  auto memory = call.state().find_graph_memory(address);
  if (memory == nullptr) return call.done(call.backend().release(address));
  if (!memory->used) return call.done(cudaErrorInvalidValue);
  memory->used = false;
  memory.reset();
  call.state().release_graph_memory();
  return cudaSuccess;
}

cudaError_t copy(Call& call, void* to, const void* from, const Rows& rows, cudaMemcpyKind kind, cudaStream_t handle,
                 bool asynchronous) {
  if (rows.empty()) return cudaSuccess;
  CopyRequest request;
  request.asynchronous = asynchronous;
  request.stream = call.state().find_stream(handle);
  if (request.stream == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = copy_request(call, to, from, rows, kind, &request); error != cudaSuccess) return call.done(error);
  return submit(call, std::move(request));
}

cudaError_t fill(Call& call, void* to, int value, uint64_t row_bytes, uint64_t rows, uint64_t pitch, cudaStream_t handle) {
  const Rows shape{row_bytes, rows, pitch, 0};
  if (shape.empty()) return cudaSuccess;
  FillRequest request;
  request.stream = call.state().find_stream(handle);
  if (request.stream == nullptr) return call.done(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = fill_request(call, to, value, shape, &request); error != cudaSuccess) return call.done(error);
  return submit(call, std::move(request));
}

constexpr uint64_t kPitchAlign = 512;

uint64_t pitch_of(uint64_t width) { return (width + kPitchAlign - 1) / kPitchAlign * kPitchAlign; }

}  // namespace

cudaError_t copy_request(Call& call, void* to, const void* from, const Rows& rows, cudaMemcpyKind kind, CopyRequest* out) {
  if (to == nullptr || from == nullptr) return cudaErrorInvalidValue;
  out->to = static_cast<uint8_t*>(to);
  out->from = static_cast<const uint8_t*>(from);
  out->row_bytes = rows.row_bytes;
  out->rows = rows.rows;
  out->to_pitch = rows.to_pitch;
  out->from_pitch = rows.from_pitch;
  // The addresses say more than `kind`, which programs often leave at cudaMemcpyDefault.
  const bool to_device = call.backend().locate(to).device, from_device = call.backend().locate(from).device;
  if ((kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) && !to_device) return cudaErrorInvalidValue;
  if ((kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice) && !from_device) return cudaErrorInvalidValue;
  using Direction = CopyRequest::Direction;
  out->direction = to_device ? (from_device ? Direction::kDeviceToDevice : Direction::kHostToDevice)
                             : (from_device ? Direction::kDeviceToHost : Direction::kHostToHost);
  return cudaSuccess;
}

cudaError_t fill_request(Call& call, void* to, int value, const Rows& rows, FillRequest* out) {
  if (!call.backend().locate(to).device) return cudaErrorInvalidValue;
  out->to = static_cast<uint8_t*>(to);
  out->value = static_cast<uint8_t>(value);
  out->row_bytes = rows.row_bytes;
  out->rows = rows.rows;
  out->pitch = rows.to_pitch;
  return cudaSuccess;
}

}  // namespace kw::runtime

using namespace kw::runtime;  // NOLINT: the C functions below are this file's purpose

extern "C" {

cudaError_t cudaMalloc(void** out, size_t bytes) { Call call("cudaMalloc"); return allocate(call, out, bytes, MemoryKind::kDevice); }
cudaError_t cudaMallocManaged(void** out, size_t bytes, unsigned) {
  Call call("cudaMallocManaged");
  return allocate(call, out, bytes, MemoryKind::kManaged);
}
cudaError_t cudaMallocAsync(void** out, size_t bytes, cudaStream_t stream) {
  Call call("cudaMallocAsync");
  return allocate_in_order(call, out, bytes, stream);
}
cudaError_t cudaMallocFromPoolAsync(void** out, size_t bytes, cudaMemPool_t, cudaStream_t stream) {
  Call call("cudaMallocFromPoolAsync");
  return allocate_in_order(call, out, bytes, stream);
}
cudaError_t cudaMallocHost(void** out, size_t bytes) {
  Call call("cudaMallocHost");
  return allocate(call, out, bytes, MemoryKind::kPinnedHost);
}
cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
  Call call("cudaHostAlloc");
  return allocate(call, out, bytes, MemoryKind::kPinnedHost);
}
cudaError_t cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height) {
  Call call("cudaMallocPitch");
  if (pitch == nullptr || (height != 0 && width > (uint64_t{1} << 40) / height)) return call.done(cudaErrorInvalidValue);
  *pitch = pitch_of(width);
  return allocate(call, out, *pitch * height, MemoryKind::kDevice);
}
cudaError_t cudaMalloc3D(cudaPitchedPtr* out, cudaExtent extent) {
  Call call("cudaMalloc3D");
  const uint64_t limit = uint64_t{1} << 40;
  if (out == nullptr || extent.width > limit || (extent.height != 0 && extent.depth > limit / extent.height) ||
      (extent.height * extent.depth != 0 && extent.width > limit / (extent.height * extent.depth)))
    return call.done(cudaErrorInvalidValue);
  out->pitch = pitch_of(extent.width);
  out->xsize = extent.width;
  out->ysize = extent.height;
  return allocate(call, &out->ptr, out->pitch * extent.height * extent.depth, MemoryKind::kDevice);
}
cudaError_t cudaFree(void* address) { Call call("cudaFree"); return release(call, address); }
cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
  Call call("cudaFreeAsync");
  Stream* on = call.state().find_stream(stream);
  if (on == nullptr || on->capture == nullptr) return release(call, address);
  auto memory = call.state().find_graph_memory(address);
  if (memory == nullptr) return call.done(cudaErrorInvalidValue);
  capture_node(*on)->action = MemoryNode{std::move(memory), true};
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* address) { Call call("cudaFreeHost"); return release(call, address); }
// The host's own memory stays where it is: copies reach it, kernels do not.
cudaError_t cudaHostRegister(void* address, size_t, unsigned) {
  Call call("cudaHostRegister");
  return call.done(address == nullptr ? cudaErrorInvalidValue : cudaSuccess);
}
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaHostGetDevicePointer(void** out, void* host, unsigned) {
  Call call("cudaHostGetDevicePointer");
  if (out == nullptr) return call.done(cudaErrorInvalidValue);
  if (!call.backend().locate(host).device) return call.unsupported("kernels reach host memory only when cudaHostAlloc made it");
  *out = host;
  return cudaSuccess;
}
cudaError_t cudaHostGetFlags(unsigned* flags, void*) { *flags = cudaHostAllocMapped; return cudaSuccess; }

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  Call call("cudaMemcpy");
  return copy(call, to, from, {bytes}, kind, nullptr, false);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  Call call("cudaMemcpyAsync");
  return copy(call, to, from, {bytes}, kind, stream, true);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind) {
  Call call("cudaMemcpy2D");
  if (width > to_pitch || width > from_pitch) return call.done(cudaErrorInvalidPitchValue);
  return copy(call, to, from, {width, height, to_pitch, from_pitch}, kind, nullptr, false);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  Call call("cudaMemcpy2DAsync");
  if (width > to_pitch || width > from_pitch) return call.done(cudaErrorInvalidPitchValue);
  return copy(call, to, from, {width, height, to_pitch, from_pitch}, kind, stream, true);
}

static cudaError_t copy_3d(Call& call, const cudaMemcpy3DParms* p, cudaStream_t stream, bool asynchronous) {
  if (p == nullptr) return call.done(cudaErrorInvalidValue);
  if (p->srcArray != nullptr || p->dstArray != nullptr) return call.unsupported("arrays (texture memory) are not supported");
  for (size_t z = 0; z < p->extent.depth; ++z) {
    auto* to = static_cast<uint8_t*>(p->dstPtr.ptr) + ((p->dstPos.z + z) * p->dstPtr.ysize + p->dstPos.y) * p->dstPtr.pitch + p->dstPos.x;
    const auto* from =
        static_cast<const uint8_t*>(p->srcPtr.ptr) + ((p->srcPos.z + z) * p->srcPtr.ysize + p->srcPos.y) * p->srcPtr.pitch + p->srcPos.x;
    const cudaError_t error =
        copy(call, to, from, {p->extent.width, p->extent.height, p->dstPtr.pitch, p->srcPtr.pitch}, p->kind, stream, asynchronous);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) { Call call("cudaMemcpy3D"); return copy_3d(call, p, nullptr, false); }
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  Call call("cudaMemcpy3DAsync");
  return copy_3d(call, p, stream, true);
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  Call call("cudaMemcpyPeer");
  return copy(call, to, from, {bytes}, cudaMemcpyDeviceToDevice, nullptr, false);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  Call call("cudaMemcpyPeerAsync");
  return copy(call, to, from, {bytes}, cudaMemcpyDeviceToDevice, stream, true);
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) { Call call("cudaMemset"); return fill(call, to, value, bytes, 1, 0, nullptr); }
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  Call call("cudaMemsetAsync");
  return fill(call, to, value, bytes, 1, 0, stream);
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  Call call("cudaMemset2D");
  return fill(call, to, value, width, height, pitch, nullptr);
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  Call call("cudaMemset2DAsync");
  return fill(call, to, value, width, height, pitch, stream);
}
static cudaError_t fill_3d(Call& call, const cudaPitchedPtr& p, int value, const cudaExtent& extent, cudaStream_t stream) {
  for (size_t z = 0; z < extent.depth; ++z) {
    const cudaError_t error = fill(call, static_cast<uint8_t*>(p.ptr) + z * p.ysize * p.pitch, value, extent.width, extent.height, p.pitch, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemset3D(cudaPitchedPtr p, int value, cudaExtent extent) { Call call("cudaMemset3D"); return fill_3d(call, p, value, extent, nullptr); }
cudaError_t cudaMemset3DAsync(cudaPitchedPtr p, int value, cudaExtent extent, cudaStream_t stream) {
  Call call("cudaMemset3DAsync");
  return fill_3d(call, p, value, extent, stream);
}

// ---- symbols: __device__ and __constant__ variables

static cudaError_t symbol(Call& call, const void* name, size_t bytes, size_t offset, void** out) {
  Variable* variable = call.state().find_variable(name);
  if (variable == nullptr) return call.done(cudaErrorInvalidSymbol);
  if (offset > variable->bytes || bytes > variable->bytes - offset) return call.done(cudaErrorInvalidValue);
  const cudaError_t error = call.done(call.backend().address_of(*variable, out));
  if (error == cudaSuccess) *out = static_cast<uint8_t*>(*out) + offset;
  return error;
}
cudaError_t cudaGetSymbolAddress(void** out, const void* name) {
  Call call("cudaGetSymbolAddress");
  return symbol(call, name, 0, 0, out);
}
cudaError_t cudaGetSymbolSize(size_t* bytes, const void* name) {
  Call call("cudaGetSymbolSize");
  Variable* variable = call.state().find_variable(name);
  if (variable == nullptr || bytes == nullptr) return call.done(cudaErrorInvalidSymbol);
  *bytes = variable->bytes;
  return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbol(const void* name, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  Call call("cudaMemcpyToSymbol");
  void* to = nullptr;
  const cudaError_t error = symbol(call, name, bytes, offset, &to);
  return error != cudaSuccess ? error : copy(call, to, from, {bytes}, kind, nullptr, false);
}
cudaError_t cudaMemcpyToSymbolAsync(const void* name, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  Call call("cudaMemcpyToSymbolAsync");
  void* to = nullptr;
  const cudaError_t error = symbol(call, name, bytes, offset, &to);
  return error != cudaSuccess ? error : copy(call, to, from, {bytes}, kind, stream, true);
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* name, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  Call call("cudaMemcpyFromSymbol");
  void* from = nullptr;
  const cudaError_t error = symbol(call, name, bytes, offset, &from);
  return error != cudaSuccess ? error : copy(call, to, from, {bytes}, kind, nullptr, false);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* name, size_t bytes, size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  Call call("cudaMemcpyFromSymbolAsync");
  void* from = nullptr;
  const cudaError_t error = symbol(call, name, bytes, offset, &from);
  return error != cudaSuccess ? error : copy(call, to, from, {bytes}, kind, stream, true);
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  Call call("cudaMemGetInfo");
  constexpr uint64_t kTotal = uint64_t{16} << 30;
  const uint64_t used = std::min(call.backend().bytes_in_use(), kTotal);
  if (free_bytes != nullptr) *free_bytes = kTotal - used;
  if (total_bytes != nullptr) *total_bytes = kTotal;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  Call call("cudaPointerGetAttributes");
  if (attributes == nullptr) return call.done(cudaErrorInvalidValue);
  std::memset(attributes, 0, sizeof *attributes);
  const Backend::Located located = call.backend().locate(address);
  attributes->device = located.device ? 0 : cudaInvalidDeviceId;
  attributes->type = cudaMemoryTypeUnregistered;
  if (located.device) {
    attributes->type = located.kind == MemoryKind::kDevice    ? cudaMemoryTypeDevice
                       : located.kind == MemoryKind::kManaged ? cudaMemoryTypeManaged
                                                              : cudaMemoryTypeHost;
    attributes->devicePointer = const_cast<void*>(address);
    if (located.kind != MemoryKind::kDevice) attributes->hostPointer = const_cast<void*>(address);
  }
  return cudaSuccess;
}
// Managed memory is always where it is needed.
cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t, unsigned) { return cudaSuccess; }

// ---- pools: one, without limits

static char default_pool;
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) { *pool = reinterpret_cast<cudaMemPool_t>(&default_pool); return cudaSuccess; }
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }
cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) { return cudaDeviceGetDefaultMemPool(pool, 0); }
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
  Call call("cudaMemPoolGetAttribute");
  const bool wide = attribute >= cudaMemPoolAttrReleaseThreshold;
  std::memset(value, 0, wide ? 8 : 4);
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, size_t) { return cudaSuccess; }

}  // extern "C"
