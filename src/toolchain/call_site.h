// From return addresses of a candidate's program to its source lines, by addr2line (binutils, which the host
// compiler needs anyway) over the line tables that -g1 leaves. Internal to toolchain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::toolchain {

class CallSites {
 public:
  // Frames in files below `folder` are the candidate's.
  CallSites(std::string program, std::string folder) : program_(std::move(program)), folder_(std::move(folder)) {}

  // `frames`: innermost first. Line 0 where nothing is known. The kernel's own host function, which every <<<…>>>
  // goes through, does not count as the place.
  std::vector<Span> places_of(const std::vector<std::vector<uint64_t>>& sites) const;
  Span place_of(const std::vector<uint64_t>& frames) const { return places_of({frames})[0]; }

 private:
  std::string program_, folder_;
};

}  // namespace kw::toolchain
