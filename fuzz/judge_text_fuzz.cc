// Any text as a .case file, as the head of a .cu fixture, as a verdict to be judged again, and as a bundle: something or an error with a
// message. A verdict does not differ from itself. The text also stands for a bundle's index, whose hash would never fit by chance.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/hash.h"
#include "base/tar.h"
#include "judge/bundle.h"
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
  if (const auto verdict = judge::read_undecided(text, "fuzz.json"); !verdict) KW_CHECK(!format_error(verdict.error()).empty());
  const auto indexed = write_tar({{"index/" + hash_hex(text), text}});
  KW_CHECK(indexed);
  for (const std::string& bytes : {std::string(text), *indexed}) {
    const auto bundle = judge::Bundle::parse(bytes, "fuzz.kwb");
    if (!bundle) KW_CHECK(!format_error(bundle.error()).empty());
    else for (const auto& each : bundle->cases) KW_CHECK(!each.c.name.empty());
  }
  return 0;
}
