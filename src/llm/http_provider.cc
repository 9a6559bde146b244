#include "llm/http_provider.h"

#include <algorithm>
#include <ctime>

namespace kw::llm {
namespace {

constexpr size_t kMostErrorBytes = 64 << 10;

// What comes back, taken apart as its kind demands.
class Receiver {
 public:
  Receiver(const Wire& wire, const Limits& limits, const std::function<void(std::string_view)>& on_text)
      : wire_(wire), reader_(wire.reader(on_text)), events_(limits.line_bytes) {}

  bool take(const ResponseHead& head, std::string_view bytes) {
    if (!streamed(head)) {
      const size_t most =
          head.status == 200
              ? bytes.size()
              : std::min(bytes.size(), kMostErrorBytes - std::min(kMostErrorBytes, body_.size()));
      body_.append(bytes.substr(0, most));
      return most > 0;
    }
    const Status fed = events_.feed(bytes, [&](const SseEvent& event) {
      auto whole = reader_->take(event);
      if (!whole) failure_ = std::move(whole.error());
      ended_ = whole && *whole;
      return whole && !*whole;
    });
    if (!fed)
      failure_ = make_failure(FailureKind::kMalformedAnswer, fed.error().message,
                              "is the address that of a language model's server?");
    return !failure_ && !ended_;
  }

  Answer<Reply> reply(const ResponseHead& head, const Server& server) {
    if (failure_) return fail(std::move(*failure_));
    if (head.status != 200) {
      Failure failure = server_failure(head.status, parse_json(body_), body_, server);
      failure.retry_after_seconds = asked_wait(head, std::time(nullptr));
      return fail(std::move(failure));
    }
    if (streamed(head)) return reader_->finish();
    const Json body = parse_json(body_);
    if (body.is_object()) return wire_.read_whole(body);
    const std::string type = head.header("content-type");
    return fail(malformed_answer(
        type.find("json") == std::string::npos
            ? fmt::format("it is '{}', neither a stream nor JSON", server.key.redacted(type.substr(0, 80)))
            : "it is no JSON object",
        server));
  }

 private:
  static bool streamed(const ResponseHead& head) {
    return head.status == 200 && head.header("content-type").starts_with("text/event-stream");
  }

  const Wire& wire_;
  std::unique_ptr<ReplyReader> reader_;
  SseParser events_;
  std::string body_;
  std::optional<Failure> failure_;
  bool ended_ = false;
};

class HttpProvider : public Provider {
 public:
  HttpProvider(std::unique_ptr<Wire> wire, Url base, Server server, const Limits& limits)
      : wire_(std::move(wire)), base_(std::move(base)), server_(std::move(server)), limits_(limits) {
    if (limits_.total_seconds <= 0) limits_.total_seconds = 1800;
    // A model that reasons, or reads a long prompt on a CPU, is silent for minutes.
    if (limits_.idle_seconds <= 0) limits_.idle_seconds = 600;
  }

  Answer<Reply> ask(const Request& request, const Call& call) override {
    const Patience patience = call.patience.within(limits_.total_seconds);
    Receiver receiver(*wire_, limits_, call.on_text);
    Post request_out{base_, wire_->headers(server_.key), wire_->body(request)};
    request_out.url.path += wire_->path();
    auto head = post(request_out, limits_, patience,
                     [&](const ResponseHead& h, std::string_view bytes) { return receiver.take(h, bytes); });
    Answer<Reply> reply =
        head ? receiver.reply(*head, server_) : Answer<Reply>(fail(std::move(head.error())));
    if (!reply) server_.key.redact(reply.error());
    return reply;
  }

 private:
  std::unique_ptr<Wire> wire_;
  Url base_;
  Server server_;
  Limits limits_;
};

}  // namespace

std::unique_ptr<Provider> http_provider(std::unique_ptr<Wire> wire, Url base, Server server,
                                        const Limits& limits) {
  return std::make_unique<HttpProvider>(std::move(wire), std::move(base), std::move(server), limits);
}

}  // namespace kw::llm
