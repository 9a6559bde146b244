// Frames of a warp's calls, and what passes between them. Internal to emu.
#pragma once

#include "emu/run_warp.h"

namespace kw::emu {

Frame* new_frame(WarpState& s, const Code& code, CodeCounts* counts);
void release_frame(WarpState& s, Frame* frame);   // kept for the next call of the function
// Values between the caller's arguments and the callee's parameters (or results, the other way).
void pass_values(Warp& w, const Frame& caller, const Frame& callee, const std::vector<CallSite::Argument>& outer,
                 const std::vector<Code::Parameter>& inner, bool inward, Mask lanes);

}  // namespace kw::emu
