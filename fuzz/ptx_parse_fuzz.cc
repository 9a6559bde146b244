// libFuzzer target: any bytes through the PTX parser, printer and verifier. What parses must print and
// parse again to the same print.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ptx/parser.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto module = kw::ptx::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz.ptx");
  if (!module) {
    if (kw::format_error(module.error()).empty()) std::abort();
    return 0;
  }
  const std::string printed = kw::ptx::print(*module);
  auto again = kw::ptx::parse(printed, "printed.ptx");
  if (!again || kw::ptx::print(*again) != printed) std::abort();
  for (const kw::Error& error : kw::ptx::verify(*module, 5))
    if (error.message.empty()) std::abort();
  return 0;
}
