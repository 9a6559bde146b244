// What lies at an address, as the author of a kernel calls it. Internal to emu.
#pragma once

#include <string>

#include "emu/observer.h"

namespace kw::emu {

// Sets `object` and `object_offset` by `space` and `address` (an offset for .shared and .local), and says where
// that is: "offset 16 of 'v_tile' in shared memory". An address behind the end of a block's shared memory belongs
// to what lies last there, and is then in no object's bounds.
std::string name_object(const Warp& warp, Finding& finding);

}  // namespace kw::emu
