// Memory counters (Options::count): what a profiler would show for the accesses of one block.
// Sectors: distinct 32-byte sectors a warp request touches. Local memory counts as the hardware lays it out,
// four-byte words of the 32 lanes side by side.
// Shared wavefronts: 32 banks of 4 bytes; an access of up to 4 bytes per lane is served for the whole warp at
// once, of 8 bytes per half-warp, of 16 bytes per quarter-warp; within such a group each further distinct word
// in a bank costs a pass, equal words are broadcast (CUDA C++ Programming Guide, shared memory). A matrix row of
// ldmatrix behaves as a 16-byte access.
#pragma once

#include "emu/observer.h"

namespace kw::emu {

// What was added: sectors in global and local memory, wavefronts in shared memory.
struct AccessCount {
  uint64_t bytes = 0;
  uint32_t sectors = 0, wavefronts = 0, ideal_wavefronts = 0;
};
AccessCount count_access(Counters& counters, ptx::Space space, Access how, const uint64_t* addresses, Mask lanes,
                         unsigned bytes);

uint32_t count_sectors(const uint64_t* addresses, Mask lanes, unsigned bytes);
uint32_t count_lines(const uint64_t* addresses, Mask lanes, unsigned bytes);   // distinct lines of 128 bytes
struct Wavefronts { uint32_t needed = 0, ideal = 0; };
Wavefronts count_wavefronts(const uint64_t* offsets, Mask lanes, unsigned bytes);

}  // namespace kw::emu
