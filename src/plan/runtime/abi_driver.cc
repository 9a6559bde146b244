// The few driver functions that runtime programs ask for by name, above all cuTensorMapEncodeTiled (its rules:
// CUDA driver API, "Tensor Map Object Management").
#include <cuda.h>

#include <cstring>
#include <string_view>

#include "plan/runtime/state.h"
#include "plan/tensor_map.h"

using namespace kw::runtime;  // NOLINT: the C functions below are this file's purpose

namespace {

// Bytes of one element as it lies in global memory; the packed 4- and 6-bit types count in halves of a byte.
unsigned element_bits(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return 8;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return 16;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return 64;
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B: return 4;
    case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B: return 6;
    default: return 32;
  }
}

}  // namespace

extern "C" {

CUresult cuTensorMapEncodeTiled(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank, void* address, const cuuint64_t* extent,
                                const cuuint64_t* stride, const cuuint32_t* box, const cuuint32_t* element_stride,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
  static_assert(sizeof(CUtensorMap) == kw::plan::kTensorMapBytes);
  if (out == nullptr || rank < 1 || rank > 5 || extent == nullptr || box == nullptr || element_stride == nullptr ||
      (rank > 1 && stride == nullptr) || type < 0 || type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B)
    return CUDA_ERROR_INVALID_VALUE;
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && rank < 3) return CUDA_ERROR_INVALID_VALUE;
  const auto location = reinterpret_cast<uint64_t>(address);
  if (location % (interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16) != 0) return CUDA_ERROR_INVALID_VALUE;
  kw::plan::TensorMap map;
  map.address = location;
  map.type = static_cast<uint8_t>(type);
  map.rank = static_cast<uint8_t>(rank);
  map.interleave = static_cast<uint8_t>(interleave);
  map.swizzle = static_cast<uint8_t>(swizzle);
  map.promotion = static_cast<uint8_t>(promotion);
  map.fill = static_cast<uint8_t>(fill);
  for (size_t i = 0; i < rank; ++i) {
    if (extent[i] == 0 || extent[i] > (uint64_t{1} << 32) || box[i] == 0 || box[i] > 256 || element_stride[i] == 0 || element_stride[i] > 8)
      return CUDA_ERROR_INVALID_VALUE;
    if (i + 1 < rank && (stride[i] % 16 != 0 || stride[i] >= (uint64_t{1} << 40))) return CUDA_ERROR_INVALID_VALUE;
    map.extent[i] = extent[i];
    map.box[i] = box[i];
    map.element_stride[i] = element_stride[i];
    if (i + 1 < rank) map.stride[i] = stride[i];
  }
  const unsigned inner_bits = box[0] * element_bits(type);
  if (interleave == CU_TENSOR_MAP_INTERLEAVE_NONE && inner_bits % 128 != 0) return CUDA_ERROR_INVALID_VALUE;
  const unsigned span = swizzle == CU_TENSOR_MAP_SWIZZLE_32B ? 32 : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64 : 128;
  if (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && interleave == CU_TENSOR_MAP_INTERLEAVE_NONE && inner_bits / 8 > span)
    return CUDA_ERROR_INVALID_VALUE;
  const auto bytes = kw::plan::encode(map);
  std::memcpy(out, bytes.data(), bytes.size());
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) { *version = CUDA_VERSION; return CUDA_SUCCESS; }
CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult, const char** text) { *text = "driver error"; return CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult, const char** text) { *text = "CUDA_ERROR"; return CUDA_SUCCESS; }

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** out, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  Call call("cudaGetDriverEntryPoint");
  if (symbol == nullptr || out == nullptr) return call.done(cudaErrorInvalidValue);
  struct Known {
    std::string_view name;
    void* function;
  };
  const Known known[] = {
      {"cuTensorMapEncodeTiled", reinterpret_cast<void*>(&cuTensorMapEncodeTiled)},
      {"cuDriverGetVersion", reinterpret_cast<void*>(&cuDriverGetVersion)},
      {"cuInit", reinterpret_cast<void*>(&cuInit)},
      {"cuGetErrorString", reinterpret_cast<void*>(&cuGetErrorString)},
      {"cuGetErrorName", reinterpret_cast<void*>(&cuGetErrorName)},
  };
  *out = nullptr;
  for (const Known& each : known)
    if (each.name == symbol) *out = each.function;
  if (status != nullptr) *status = *out != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  if (*out == nullptr) return call.unsupported(std::string("the driver function ") + symbol + " is not part of this runtime");
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** out, unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, out, CUDA_VERSION, flags, status);
}

}  // extern "C"

namespace kw::runtime {

// Of abi_unsupported.cc.
int unsupported_call(const char* name) {
  Call call(name);
  return call.unsupported("this runtime does not have it");
}

}  // namespace kw::runtime
