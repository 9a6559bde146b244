// What has been compiled, by content: a folder for each key. It is made beside its place and renamed into it, so a reader sees all
// of it or nothing. Internal to toolchain. Thread-safe, also among processes.
#pragma once

#include <functional>
#include <string>

#include "toolchain/toolchain.h"

namespace kw::toolchain {

Result<std::string> compile_cache(const CompileOptions& options);

// Puts into the cache at `place` what `fill` writes into a fresh folder; `last` is the file that says that it is there. What a full disk
// cut short goes. Two judges may compile the same at once; one is kept, unless it must not `may_be_there`: then this one.
Status keep_compiled(const std::string& cache, const std::string& place, const std::string& last, bool may_be_there,
                     const std::function<Status(const std::string& folder)>& fill);

}  // namespace kw::toolchain
