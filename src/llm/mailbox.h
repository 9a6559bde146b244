// A folder as the language model: every request appears as NNNN-prompt.md to read and NNNN-prompt.json for
// programs, and NNNN-reply.md or NNNN-reply.json is awaited (docs/formats/llm.md). A person or any agent can
// answer. Survives a restart: a request that stands in the folder already is not written again, and its reply
// is taken.
#pragma once

#include <memory>
#include <string>

#include "llm/provider.h"

namespace kw::llm {

// Made when it is not there. Failure kMisconfigured: no such folder can be had, or another process asks
// through it.
Answer<std::unique_ptr<Provider>> open_mailbox(const std::string& folder, const Limits& limits);

}  // namespace kw::llm
