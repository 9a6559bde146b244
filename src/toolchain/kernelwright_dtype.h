// kw::DType of candidate.h as numbers, without the toolkit's headers. Internal to toolchain.
#pragma once

#include "tensor/dtype.h"

namespace kw::toolchain {

// The code that candidate.h gives the element type; -1: it has none.
inline int candidate_dtype(tensor::DType type) {
  using tensor::DType;
  switch (type) {
    case DType::kBool: return 0;
    case DType::kI8: return 1;
    case DType::kU8: return 2;
    case DType::kI16: return 3;
    case DType::kU16: return 4;
    case DType::kI32: return 5;
    case DType::kU32: return 6;
    case DType::kI64: return 7;
    case DType::kU64: return 8;
    case DType::kE2M1: return 9;
    case DType::kE4M3: return 10;
    case DType::kE5M2: return 11;
    case DType::kUE8M0: return 12;
    case DType::kF16: return 13;
    case DType::kBF16: return 14;
    case DType::kF32: return 15;
    case DType::kF64: return 16;
    case DType::kI4: return 17;
    case DType::kU4: return 18;
    case DType::kTF32: case DType::kE3M2: case DType::kE2M3: case DType::kUE4M3: return -1;
  }
  return -1;
}

}  // namespace kw::toolchain
