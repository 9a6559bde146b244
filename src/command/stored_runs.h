// The store that a command is asked about: --store, or the user's. Internal to command.
#pragma once

#include "command/command.h"
#include "store/store.h"

namespace kw::command {

Result<std::string> store_folder_of(const Invocation& invocation);

// kNotFound where there is none: to look is no reason to make one.
Result<store::Store> open_existing_store(const Invocation& invocation);

}  // namespace kw::command
