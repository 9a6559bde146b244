// Damaged modules must yield errors, never a crash, a hang or unbounded memory: seeded mutations of the
// module files and text cases through parse, print and verify. The libFuzzer targets in fuzz/ go further.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "ptx/parser.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"

namespace kw::ptx {
namespace {

void run_through(const std::string& text) {
  auto module = parse(text, "mutant.ptx");
  if (!module) {
    const std::string message = format_error(module.error());
    ASSERT_FALSE(module.error().message.empty());
    ASSERT_LT(message.size(), 20'000u);
    return;
  }
  const std::string printed = print(*module);
  auto again = parse(printed, "printed.ptx");
  ASSERT_TRUE(again.has_value()) << format_error(again.error()) << "\nfrom:\n" << text.substr(0, 2000);
  ASSERT_EQ(print(*again), printed);
  for (const Error& error : verify(*module, 5)) ASSERT_FALSE(error.message.empty());
}

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  for (const char* folder : {"/tests/ptx/modules", "/tests/ptx", "/fuzz/corpus/ptx"}) {
    const std::string path = std::string(KW_SOURCE_DIR) + folder;
    if (!std::filesystem::exists(path)) continue;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
      std::ifstream in(file, std::ios::binary);
      std::ostringstream text;
      text << in.rdbuf();
      texts.push_back(text.str());
    }
  }
  return texts;
}

TEST(Mutation, DamagedModulesAreRefusedOrRoundTrip) {
  const std::vector<std::string> texts = corpus();
  ASSERT_FALSE(texts.empty());
  constexpr std::string_view kPieces[] = {"{", "}", "(", ")", "[", "]", ",", ";", ":", "::", ".", "@", "!", "|", "_", "<", ">", "=", "-", "%r1", "%p1", "0x", "0f",
                                          "4294967295", "18446744073709551615", ".reg .b32 ", ".v4", "\"", "/*", "//", "\n", "generic(", ".param .b64 x", "call ", "mov.b64 ", "ld.", std::string_view("\0", 1), "\xff"};
  std::mt19937 random(20240917);
  const auto below = [&](size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(random()) % bound; };
  const auto begin = std::chrono::steady_clock::now();
  // A fixed number of mutants, so that two runs test the same; time only stops very slow machines.
  for (int i = 0; i < 4000 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20); ++i) {
    std::string text = texts[below(texts.size())];
    if (text.size() > 6000) {  // a header and a window keep mutants small and their function near
      const size_t from = below(text.size() - 5000);
      text = text.substr(0, std::min<size_t>(200, from)) + text.substr(text.find('\n', from) == std::string::npos ? from : text.find('\n', from), 5000);
    }
    const size_t edits = 1 + below(4);
    for (size_t edit = 0; edit < edits && !text.empty(); ++edit) {
      const size_t at = below(text.size());
      switch (below(7)) {
        case 0: text[at] = static_cast<char>(random() & 0xFF); break;
        case 1: text.insert(at, kPieces[below(std::size(kPieces))]); break;
        case 2: text.erase(at, 1 + below(20)); break;
        case 3: text.resize(at); break;
        case 4: text.insert(at, text.substr(below(text.size()), below(200))); break;
        case 5: std::swap(text[at], text[below(text.size())]); break;
        default: text.replace(at, std::min<size_t>(text.size() - at, 1 + below(8)), kPieces[below(std::size(kPieces))]); break;
      }
    }
    ASSERT_NO_FATAL_FAILURE(run_through(text));
  }
}

TEST(Mutation, EveryTruncationOfAModuleIsHandled) {
  std::ifstream in(KW_SOURCE_DIR "/tests/ptx/modules/blackwell_sm_100a.ptx", std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const std::string whole = text.str();
  ASSERT_FALSE(whole.empty());
  for (size_t size = 0; size < whole.size(); ++size) ASSERT_NO_FATAL_FAILURE(run_through(whole.substr(0, size)));
}

}  // namespace
}  // namespace kw::ptx
