// Any text as what the CUDA tools print: nvcc's messages, nvdisasm's listing, ptxas's resources. What is not understood is
// left out.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "toolchain/diagnostics.h"
#include "toolchain/sass_facts.h"

using namespace kw;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  KW_CHECK(toolchain::parse_diagnostics(text, "/folder", 50).size() <= 50);
  for (const auto& facts : toolchain::sass_facts(text)) KW_CHECK(facts.instructions >= facts.local_loads + facts.local_stores);
  (void)toolchain::ptxas_resources(text);
  return 0;
}
