// What a language model may call while it answers: a search of code in words, and reading lines of a file that was found (codesearch/index.h).
#pragma once

#include <memory>

#include "agent/roles.h"
#include "codesearch/index.h"

namespace kw::agent {

// Results are text for the model, at most 16,000 bytes of them; so are faults of its own calls. Thread-safe.
ModelTools code_tools(std::shared_ptr<const codesearch::Index> index);

}  // namespace kw::agent
