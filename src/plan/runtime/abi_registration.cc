// What nvcc's generated host code calls before main: fat binaries, kernels, variables
// (crt/host_runtime.h of the toolkit).
#include <cstdio>

#include "plan/runtime/state.h"

using kw::runtime::Call;
using kw::runtime::FatBinary;
using kw::runtime::State;
using kw::runtime::Variable;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  Call call("__cudaRegisterFatBinary");
  return reinterpret_cast<void**>(call.state().register_fat_binary(wrapper));
}

void __cudaRegisterFatBinaryEnd(void** handle) {
  Call call("__cudaRegisterFatBinaryEnd");
  if (handle == nullptr) return;
  auto& binary = *reinterpret_cast<FatBinary*>(handle);
  if (!binary.managed.empty()) call.backend().modules_registered(binary.managed);
}

void __cudaUnregisterFatBinary(void**) {}

char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  Call call("__cudaRegisterFunction");
  if (handle != nullptr) call.state().register_kernel(*reinterpret_cast<FatBinary*>(handle), host, name);
}

void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t bytes, int constant, int) {
  Call call("__cudaRegisterVar");
  if (handle != nullptr)
    call.state().register_variable(*reinterpret_cast<FatBinary*>(handle), host, name, bytes, constant != 0);
}

void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, size_t bytes, int, int) {
  Call call("__cudaRegisterManagedVar");
  if (handle == nullptr) return;
  auto& binary = *reinterpret_cast<FatBinary*>(handle);
  Variable* variable = call.state().register_variable(binary, host, name, bytes, false);
  variable->managed_pointer = host;
  binary.managed.push_back(variable);
}

void __cudaRegisterTexture(void**, const void*, const void**, const char* name, int, int, int) {
  Call call("__cudaRegisterTexture");
  call.unsupported(std::string("texture references are not supported (") + (name ? name : "?") + ")");
}

void __cudaRegisterSurface(void**, const void*, const void**, const char* name, int, int) {
  Call call("__cudaRegisterSurface");
  call.unsupported(std::string("surface references are not supported (") + (name ? name : "?") + ")");
}

// Relocatable device code: nvlink makes machine code only, so there is nothing to run.
void __cudaRegisterLinkedBinary(const void*, void (*)(void**), void*) {}

}  // extern "C"
