// The two providers that ask nobody. Replay: the exchanges of a transcript, in order; a request that is not
// the recorded one is a failure that says at which exchange and where it differs. None: asking is a failure.
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
