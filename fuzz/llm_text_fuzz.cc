// Any bytes that a server, a person or a file says are a reply or a failure with a message: HTTP responses, event streams in pieces, replies in
// both protocols, replies as text, transcripts. What was read of a transcript is written and read again the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "llm/http_message.h"
#include "llm/text_form.h"
#include "llm/transcript.h"
#include "llm/wire.h"

using namespace kw;

namespace {

void check(const llm::Answer<llm::Reply>& reply) {
  if (!reply) {
    KW_CHECK(!reply.error().message.empty());
    return;
  }
  const llm::Json json = llm::to_json(*reply);
  const auto again = llm::reply_from_json(parse_json(llm::json_text(json)));
  KW_CHECK(again && llm::to_json(*again) == json);
}

// The body of a response, in the pieces that its bytes fall into, as a stream and whole.
void answer(std::string_view bytes, size_t piece, const llm::Wire& wire) {
  llm::ResponseParser parser;
  llm::SseParser events(1 << 16);
  const auto reader = wire.reader({});
  std::string body;
  for (; !bytes.empty() && !parser.done(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    const Status fed = parser.feed(bytes.substr(0, piece), [&](const llm::ResponseHead&, std::string_view more) {
      body += more;
      return events.feed(more, [&](const llm::SseEvent& event) { return reader->take(event).value_or(false); }).has_value();
    });
    if (!fed) return;
  }
  static_cast<void>(llm::asked_wait(parser.head(), 1'000'000'000));
  check(reader->finish());
  check(wire.read_whole(parse_json(body)));
  KW_CHECK(!llm::server_failure(parser.head().status, parse_json(body), body, {"host", "m", "KEY", {}}).message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t piece = size == 0 ? 1 : data[0] % 31 + 1;
  static const llm::Server server{"host", "m", "KEY", {}};
  static const auto openai = llm::openai_wire(server, false), anthropic = llm::anthropic_wire(server);
  for (const llm::Wire* wire : {openai.get(), anthropic.get()}) {
    answer(text, piece, *wire);
    answer("HTTP/1.1 200 OK\r\n\r\n" + std::string(text), piece, *wire);
  }
  llm::Request request;
  request.messages = {{llm::Role::kUser, "go", {}, ""}};
  request.tools = {{"f", "", "{}"}};
  request.stop = {"END"};
  check(llm::read_reply_text(text, request));
  static_cast<void>(llm::parse_url(text));
  if (const auto recorded = llm::parse_transcript(text, "fuzz"); recorded && recorded->exchanges.size() > 1)
    static_cast<void>(llm::difference(recorded->exchanges[0].request, recorded->exchanges[1].request));
  return 0;
}
