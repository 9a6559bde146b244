// How what was counted at one workload extends to another that launches the same kernels. Pure; thread-safe.
//
// Where every block does the same in both (shorten.h), everything goes with the number of blocks; a sample of the blocks stands for all
// (sample.h). Where neither is to be had, an instruction outside of loops goes with the number of warps, and one in a loop with the
// operations of the problem.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "profile/subject.h"

namespace kw::profile {

// Lines of PTX from a label to a branch back to it.
using Loops = std::vector<std::pair<uint32_t, uint32_t>>;
Loops loops_of(std::string_view ptx);

Site times(const emu::SiteCounters& site, double by);
double by_blocks(const Kernel& kernel);
// `operations`: of the profiled workload over those of the counted one.
double by_loops(const emu::SiteCounters& site, const Kernel& kernel, const Loops& loops, double operations);

// Adds up what is known of one instruction.
void add_site(std::vector<Site>& to, Site site);

Totals totals_of(const Kernel& kernel);

}  // namespace kw::profile
