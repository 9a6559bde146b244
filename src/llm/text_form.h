// A conversation as a text to read and a reply as a text to write: the form in which a program or a person is
// asked that speaks no protocol (docs/formats/llm.md). Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "llm/failure.h"
#include "llm/message.h"

namespace kw::llm {

// A single user message without tools is itself; else every message under a line like [user], the tools and
// how to call them last.
std::string prompt_text(const Request& request);

// Text, and a tool call for every block
//   ```tool
//   {"name": "judge", "arguments": {"path": "a.cu"}}
//   ```
// when the request has tools. Ends before the first stop sequence. Usage is left estimated. Failure
// kMalformedAnswer, naming the line.
Answer<Reply> read_reply_text(std::string_view text, const Request& request);

}  // namespace kw::llm
