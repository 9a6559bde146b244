// From return addresses of a candidate's program to its source lines, by addr2line (binutils, which the host
// compiler needs anyway) over the line tables that -g1 leaves. Internal to toolchain.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::toolchain {

// Thread-safe. An address is looked up once: every workload of a problem launches from the same few lines.
class CallSites {
 public:
  // Frames in files below `folder` are the candidate's.
  CallSites(std::string program, std::string folder) : program_(std::move(program)), folder_(std::move(folder)) {}

  // `frames`: innermost first. Line 0 where nothing is known. The kernel's own host function, which every <<<…>>>
  // goes through, does not count as the place.
  std::vector<Span> places_of(const std::vector<std::vector<uint64_t>>& sites);
  Span place_of(const std::vector<uint64_t>& frames) { return places_of({frames})[0]; }

 private:
  struct Frame {
    std::string file;
    int line = 0;
  };
  using Chain = std::vector<Frame>;   // inlined callers follow

  void look_up(const std::set<uint64_t>& addresses);
  Span place_along(const std::vector<uint64_t>& frames) const;

  std::string program_, folder_;
  std::mutex mutex_;
  std::map<uint64_t, Chain> chains_;
};

}  // namespace kw::toolchain
