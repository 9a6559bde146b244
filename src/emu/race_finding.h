// What the race checks say alike: of which kind an access is, in words, and the finding of a race. Internal to emu.
#pragma once

#include <string>

#include "emu/observer.h"

namespace kw::emu {

bool is_write(Access how);
// "wrote", "updates atomically".
const char* verb(Access how, bool past);

// A race at `address` of `space` (an offset for .shared): kind and place are set, message and parties are not.
// `where` becomes the place in words.
Finding race_at(const Warp& warp, ptx::Space space, uint64_t address, unsigned bytes, std::string& where);

}  // namespace kw::emu
