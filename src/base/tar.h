// Archives of regular files: ustar, as POSIX.1-2017 describes it (pax, "ustar Interchange Format"). In memory; nothing is unpacked
// anywhere. Any bytes are an archive or an error. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

struct TarMember {
  std::string name;            // 1 to 100 bytes
  std::string_view content;    // less than 8 GiB
};
// Equal members give equal bytes: no owner, no time.
Result<std::string> write_tar(const std::vector<TarMember>& members);

// In their order; contents are views of `bytes`. kInvalid, with `file` in the message: no archive, one that is cut short or
// altered, and members that are no regular files.
Result<std::vector<TarMember>> read_tar(std::string_view bytes, std::string_view file);

}  // namespace kw
