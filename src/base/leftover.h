// What programs of ours leave behind when they are killed (SIGKILL, a power cut): nothing of theirs runs any more, so the
// next one takes it away. Nothing is touched that is not plainly ours, old enough, and nobody's. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace kw {

// Marks a temporary folder as in use for as long as the result lives, or this process and those that it forks.
Result<UniqueFd> claim_folder(const std::string& folder);

// Removes the folder, the mark last: what a kill cuts short is still a folder that somebody claimed.
void remove_claimed_folder(const std::string& folder);

// Removes the folders `parent`/`prefix`.XXXXXX (as TempDir names them) of this user that are older than a minute and
// claimed by nobody any more, or empty. At most 64 of them.
void sweep_claimed_folders(const std::string& parent, std::string_view prefix);

// For a folder that only we write into: removes entries NAME.XXXXXX, which write_file() and TempDir began and nobody
// finished within ten minutes (or `older_than_s`, where nobody else can be writing). At most 64 of them. Nothing that is to stay
// there may have such a name.
void sweep_unfinished(const std::string& folder, double older_than_s = 600);

}  // namespace kw
