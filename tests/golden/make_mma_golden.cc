// Writes the golden corpus of mma and wmma.mma (mma.golden) on standard output: runs every case of
// mma_case.h on the GPU of this machine through the driver. One line a case: the instruction, its selector, and
// D's registers as hexadecimal bytes.
#include "gpu.h"
#include "mma_case.h"

int main() {
  kw::golden::Gpu gpu;
  int refused = 0;
  for (const auto& mma : kw::golden::all_mma_cases()) {
    const auto output = gpu.run(kw::golden::kernel_text(mma), kw::golden::input_bytes(mma), kw::golden::output_bytes(mma));
    if (output.empty()) {
      std::fprintf(stderr, "not made: %s\n", mma.name.c_str());
      ++refused;
      continue;
    }
    std::printf("%s %u ", mma.name.c_str(), mma.form.selector);
    for (const uint8_t byte : output) std::printf("%02x", byte);
    std::printf("\n");
  }
  return refused == 0 ? 0 : 1;
}
