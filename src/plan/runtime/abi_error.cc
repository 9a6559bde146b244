// The last error, and names of errors.
#include <iterator>

#include "plan/runtime/state.h"

using namespace kw::runtime;  // NOLINT: the C functions below are this file's purpose

namespace {

struct Name {
  cudaError_t code;
  const char* text;
};

// Every error of the toolkit that this was built with (made from driver_types.h when configuring).
constexpr Name kNames[] = {
#define KW_CUDA_ERROR(name) {name, #name},
#include "cuda_error_names.inc"
#undef KW_CUDA_ERROR
};

// What people meet, in words.
constexpr Name kTexts[] = {
    {cudaSuccess, "no error"},
    {cudaErrorInvalidValue, "invalid argument"},
    {cudaErrorMemoryAllocation, "out of memory"},
    {cudaErrorInvalidConfiguration, "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "invalid pitch argument"},
    {cudaErrorInvalidSymbol, "invalid device symbol"},
    {cudaErrorInvalidDeviceFunction, "invalid device function"},
    {cudaErrorInvalidResourceHandle, "invalid resource handle"},
    {cudaErrorInvalidDevice, "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"},
    {cudaErrorIllegalAddress, "an illegal memory access was encountered"},
    {cudaErrorMisalignedAddress, "misaligned address"},
    {cudaErrorIllegalInstruction, "an illegal instruction was encountered"},
    {cudaErrorLaunchFailure, "unspecified launch failure"},
    {cudaErrorLaunchTimeout, "the launch timed out and was terminated"},
    {cudaErrorLaunchOutOfResources, "too many resources requested for launch"},
    {cudaErrorAssert, "device-side assert triggered"},
    {cudaErrorNotSupported, "operation not supported"},
    {cudaErrorMissingConfiguration, "missing launch configuration"},
    {cudaErrorInvalidClusterSize, "invalid cluster size"},
};

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t error = Call::last_error();
  Call::last_error() = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() { return Call::last_error(); }

const char* cudaGetErrorName(cudaError_t error) {
  for (const Name& name : kNames)
    if (name.code == error) return name.text;
  return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  for (const Name& name : kTexts)
    if (name.code == error) return name.text;
  return cudaGetErrorName(error);
}

}  // extern "C"
