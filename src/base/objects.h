// Files named by their content: FOLDER/objects/HASH, where HASH is hash_hex() of the bytes. An object is
// written once, never changed, and is there whole or not at all, also after a kill or a power cut. Many
// processes may share a folder. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kw {

// The object's hash, when it is on the disk. One that is there but damaged is written again. FOLDER/objects
// must exist. kIo.
Result<std::string> put_object(const std::string& folder, std::string_view bytes);

// kNotFound when it is missing, kInvalid when it does not hold what its name says, or `hash` is none; kLimit,
// kIo as read_file().
Result<std::string> object(const std::string& folder, const std::string& hash);

}  // namespace kw
