// wmma.load and wmma.store: fragments to and from matrices in memory. Internal to emu.
#pragma once

#include "emu/lowering.h"

namespace kw::emu {

Status lower_wmma_load(Lowering& lowering);
Status lower_wmma_store(Lowering& lowering);

}  // namespace kw::emu
