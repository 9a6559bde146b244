// The operations of `cvt` on a whole warp: vector loops for the common pairs of types, convert_lane() lane by lane for
// the rest. Each takes its Conversion from Insn::imm. Internal to emu.
#pragma once

#include "emu/convert_lane.h"
#include "emu/lane_ops.h"

namespace kw::emu {

// One value to one value.
LaneOp scalar_conversion(const Conversion& conversion);
// Two f32 to a packed pair of `to_bytes`, the first above the second.
LaneOp packing_conversion(const Conversion& conversion, unsigned to_bytes);
// A packed pair to a packed pair, one of them of four bytes; no handlers when neither is.
LaneOp pair_conversion(unsigned to_bytes, unsigned from_bytes);

}  // namespace kw::emu
