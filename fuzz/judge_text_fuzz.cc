// Any text as a .case file, as the head of a .cu fixture, and as a verdict to be judged again: something or an error with a
// message. A verdict does not differ from itself.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "judge/fixture.h"
#include "judge/stored_verdict.h"

using namespace kw;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* file : {"/fuzz/x.case", "/fuzz/x.cu"})
    if (const auto fixture = judge::read_fixture(text, file); !fixture) KW_CHECK(!fixture.error().message.empty());
  if (const auto verdict = judge::read_verdict(text, "fuzz.json")) {
    KW_CHECK(!verdict->evidence.sources.empty());
    KW_CHECK(judge::differences(text, text).empty());
  } else {
    KW_CHECK(!format_error(verdict.error()).empty());
  }
  return 0;
}
