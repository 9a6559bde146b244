// The two providers that ask nobody. Replay: the exchanges of a transcript, each once; a request that is none of
// them is a failure that says where it differs from the next. None: asking is a failure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "llm/provider.h"

namespace kw::llm {

// `notes` gets what was odd about the transcript.
Answer<std::unique_ptr<Provider>> open_replay(const std::string& path, std::vector<std::string>& notes);
std::unique_ptr<Provider> open_none();

}  // namespace kw::llm
