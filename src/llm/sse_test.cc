#include "llm/sse.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"

namespace kw::llm {
namespace {

using Events = std::vector<std::pair<std::string, std::string>>;

Events parse(const std::vector<std::string>& pieces, uint64_t most = 1 << 20) {
  SseParser parser(most);
  Events out;
  for (const std::string& piece : pieces) {
    const Status fed = parser.feed(piece, [&](const SseEvent& event) {
      out.emplace_back(event.event, event.data);
      return true;
    });
    if (!fed) out.emplace_back("error", fed.error().message);
  }
  return out;
}

TEST(Sse, Table) {
  const std::pair<const char*, Events> cases[] = {
      {"data: a\n\n", {{"message", "a"}}},
      {"data:a\r\n\r\n", {{"message", "a"}}},
      {"data: a\r\ndata: b\r\n\r\n", {{"message", "a\nb"}}},
      {"data: a\rdata: b\r\r", {{"message", "a\nb"}}},
      {"event: ping\ndata: {}\n\n", {{"ping", "{}"}}},
      {": keep-alive\n\ndata: x\n\n", {{"message", "x"}}},
      {"id: 7\nretry: 3\ndata:  x\n\n", {{"message", " x"}}},
      {"data\n\n", {{"message", ""}}},
      {"\xef\xbb\xbf"
       "data: x\n\n",
       {{"message", "x"}}},
      {"event: lost\n\ndata: x\n\n", {{"message", "x"}}},
      {"data: unfinished\n", {}},
      {"data: [DONE]\n\ndata: more", {{"message", "[DONE]"}}},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(parse({text}), expected) << text;
}

TEST(Sse, StopsWhereItIsTold) {
  SseParser parser(1000);
  int seen = 0;
  ASSERT_TRUE(parser.feed("data: a\n\ndata: b\n\n", [&](const SseEvent&) { return ++seen < 1; }));
  EXPECT_EQ(seen, 1);
}

TEST(Sse, ALineOrEventOfAnyLengthIsRefused) {
  EXPECT_EQ(parse({"data: " + std::string(200, 'x') + "\n\n"}, 100).at(0).first, "error");
  std::vector<std::string> lines(50, "data: xxxxxxxxxx\n");
  EXPECT_EQ(parse(lines, 100).at(0).first, "error");
}

// However the bytes are split, the events are the same; and no bytes do harm.
TEST(Sse, SplitsDoNotMatter) {
  Rng rng(1);
  const std::string alphabet = "dataevent: \n\n\n\r\r\n{}\xc3\xa4:";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    const uint64_t words = rng.below(12);
    for (uint64_t i = 0; i < words; ++i) {
      switch (rng.below(6)) {
        case 0: text += "data: {\"x\":1}\n"; break;
        case 1: text += "\r\n"; break;
        case 2: text += "event: e\r"; break;
        case 3: text += "\n"; break;
        default:
          for (uint64_t k = rng.below(9); k > 0; --k)
            text += round % 2 == 0 ? alphabet[rng.below(alphabet.size())] : static_cast<char>(rng.below(256));
      }
    }
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t size = 1 + rng.below(5);
      pieces.push_back(text.substr(at, size));
      at += size;
    }
    EXPECT_EQ(parse(pieces), parse({text}));
  }
}

}  // namespace
}  // namespace kw::llm
