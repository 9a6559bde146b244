// mbarrier as sm_80 has it, and cp.async.mbarrier.arrive. Internal to emu; entries of async_copy_ops().
#pragma once

#include "emu/lowering.h"

namespace kw::emu {

bool supported_mbarrier(const ptx::Instruction& instruction);   // not the forms of sm_90
Status lower_mbarrier(Lowering& lowering);
Status lower_arrive_copies(Lowering& lowering);

}  // namespace kw::emu
