// One text that names a language model (docs/formats/llm.md):
//   openai:MODEL[@ADDRESS]   anthropic:MODEL[@ADDRESS]   command:SHELL WORDS   mailbox:FOLDER   replay:FILE
//   none
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "llm/key.h"
#include "llm/provider.h"

namespace kw::llm {

struct OpenProvider {
  std::unique_ptr<Provider> provider;
  Key key;                         // to redact
  std::vector<std::string> notes;  // for who asks: where to answer, what was odd
  std::string replayed;            // the transcript that it reads
};

// Nothing is asked yet. Failures: kMisconfigured, kWrongKey (none is set for a vendor's own server).
Answer<OpenProvider> open_provider(const std::string& spec, const Limits& limits);

}  // namespace kw::llm
