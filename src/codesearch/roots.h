// Where code search looks: folders and files, each under the name that its paths begin with. Nothing is read here but folders' entries.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::codesearch {

struct Root {
  std::string name;    // "kernels": paths are shown as kernels/gemm_f16.cu; empty: without a name before them
  std::string place;   // a folder or a file
};

struct Roots {
  std::vector<Root> places;
  std::vector<std::string> notes;       // what was looked for and is not there, one sentence each
  uint64_t most_bytes = 256ull << 20;   // of all files together; what comes after is left out, and said to be
  uint64_t most_files = 50'000;
};

// The folders and files named, under the names that they were given by. kNotFound: one is not there.
Result<Roots> roots_of(const std::vector<std::string>& places);

// The project's kernels, headers and documentation, of the installation or of the source tree; and CUTLASS with CuTe where it is found:
// $KW_CUTLASS or $CUTLASS_PATH (a checkout, or a folder of headers), else the folders that CUDA's headers are looked for in.
Roots own_roots();

}  // namespace kw::codesearch
