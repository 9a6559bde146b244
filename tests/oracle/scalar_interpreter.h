// A second interpreter of PTX, slow and obvious: one thread at a time, one 64-bit integer a register, no
// lowering, no vectors, no sharing of code with src/emu (only the parser and its syntax tree). It exists to be
// compared with the emulator on random kernels (differential_test.cc).
//
// Scope: one block of one kernel with one .u64 parameter, the address kBufferAddress of a buffer; integer,
// logic, comparison and IEEE floating-point instructions on .u16 to .s64, .f16, .f32, .f64; shared memory;
// branches, barriers, shuffles and votes of whole warps. Anything else is an error that names it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ptx/module.h"

namespace kw::oracle {

inline constexpr uint64_t kBufferAddress = 0x1000'0000;

// Runs the module's only kernel with `threads` threads on `buffer`, which it changes.
Status run_scalar(const ptx::Module& module, uint32_t threads, std::vector<uint8_t>& buffer);

}  // namespace kw::oracle
