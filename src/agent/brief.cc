#include "agent/brief.h"

namespace kw::agent {
namespace {

using tensor::DType;

// As candidate.h's data<T>() takes them.
std::string_view cuda_type(DType type) {
  switch (type) {
    case DType::kF64: return "double";
    case DType::kF32: return "float";
    case DType::kBF16: return "__nv_bfloat16";
    case DType::kF16: return "__half";
    case DType::kE4M3: return "__nv_fp8_e4m3";
    case DType::kE5M2: return "__nv_fp8_e5m2";
    case DType::kUE8M0: return "__nv_fp8_e8m0";
    case DType::kI8: return "int8_t";
    case DType::kU8: return "uint8_t";
    case DType::kI16: return "int16_t";
    case DType::kU16: return "uint16_t";
    case DType::kI32: return "int32_t";
    case DType::kU32: return "uint32_t";
    case DType::kI64: return "int64_t";
    case DType::kU64: return "uint64_t";
    case DType::kBool: return "bool";
    default: return "void";
  }
}

std::string tensor_line(const problem::TensorDecl& tensor, bool out) {
  std::string shape;
  for (const problem::Dim& dim : tensor.shape) shape += (shape.empty() ? "" : ", ") + dim.text();
  const unsigned bits = tensor::bits_of(tensor.dtype);
  return fmt::format("//   {} {}: [{}] of {}, {}.data<{}>(){}\n", out ? "output" : "input", tensor.name, shape, tensor::name_of(tensor.dtype), tensor.name,
                     bits < 8 ? "uint32_t" : cuda_type(tensor.dtype), bits < 8 ? fmt::format(" has {} elements a word, the first in the low bits", 32 / bits) : "");
}

}  // namespace

std::string entry_text(const problem::Problem& problem) {
  std::string parameters, tensors;
  for (const auto& each : problem.inputs) {
    parameters += "kw::In " + each.name + ", ";
    tensors += tensor_line(each, false);
  }
  for (const auto& each : problem.outputs) {
    parameters += "kw::Out " + each.name + ", ";
    tensors += tensor_line(each, true);
  }
  for (const auto& each : problem.axes) parameters += "int64_t " + each.name + ", ";
  for (const auto& each : problem.attributes) parameters += "float " + each.name + ", ";
  return "KW_ENTRY(" + parameters + "cudaStream_t stream)\n" + tensors;
}

std::string machine_text(const arch::Target& target) {
  const arch::ReferencePart& part = target.part;
  std::string out;
  if (!part.product.empty())
    out = fmt::format("{} with {} SMs, {:.0f} GB/s of DRAM, {} MiB of L2, {:.0f} TFLOP/s in fp32 and {:.0f} in bf16 by tensor cores; ", part.product, part.sm_count, part.dram_gbps,
                      part.l2_bytes >> 20, part.fp32_tflops, part.tensor_fp16_tflops);
  out += fmt::format("an SM has {} KiB of shared memory ({} KiB a block), {} registers, {} threads, {} blocks at the most.", target.limits.shared_per_sm_bytes >> 10,
                     target.limits.shared_per_block_optin_bytes >> 10, target.limits.registers_per_sm, target.limits.threads_per_sm, target.limits.blocks_per_sm);
  if (target.number() >= 90)
    out += " The judge's emulator runs what sm_89 has (mma.sync, ldmatrix, cp.async); of wgmma, bulk copies (TMA), transaction barriers and clusters it can say nothing, so do without.";
  return out;
}

}  // namespace kw::agent
