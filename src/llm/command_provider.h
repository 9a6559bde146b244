// A program as the language model: the prompt on its standard input, the answer on its standard output
// (text_form.h). It is ended, with all that it started in its process group, at the deadline and when the
// call is cancelled.
#pragma once

#include <memory>
#include <string>

#include "llm/key.h"
#include "llm/provider.h"

namespace kw::llm {

// `words` go to /bin/sh -c, in the current folder and with this process's environment.
std::unique_ptr<Provider> command_provider(std::string words, const Key& key, const Limits& limits);

}  // namespace kw::llm
