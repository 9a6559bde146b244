#include "llm/http.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace kw::llm {
namespace {

std::string environment(const char* upper, const char* lower) {
  for (const char* name : {lower, upper}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

// "a.example, .b.example, *": names and the domains below them.
bool named_by(std::string_view list, const std::string& host) {
  while (!list.empty()) {
    const size_t end = std::min(list.find_first_of(", "), list.size());
    std::string_view name = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (name == "*") return true;
    if (name.starts_with('.')) name.remove_prefix(1);
    if (name.empty()) continue;
    if (host == name ||
        (host.size() > name.size() && host.ends_with(name) && host[host.size() - name.size() - 1] == '.'))
      return true;
  }
  return false;
}

Answer<ResponseHead> exchange(ByteStream& stream, std::string_view request, const Limits& limits,
                              const Wait& wait, const ResponseParser::Sink& sink) {
  ResponseParser parser;
  // A server may answer before it has read everything, with an error say, and close: its answer is what
  // matters.
  auto sent = stream.send(request, wait);
  if (!sent && sent.error().kind != FailureKind::kCutStream) return fail(std::move(sent.error()));
  uint64_t received = 0;
  std::array<char, 16384> buffer;
  while (!parser.done() && !parser.stopped()) {
    auto got = stream.receive(buffer.data(), buffer.size(), wait);
    if (!got) return fail(sent ? std::move(got.error()) : std::move(sent.error()));
    if (*got == 0) {
      if (parser.end()) break;
      if (!sent) return fail(std::move(sent.error()));
      return fail(FailureKind::kCutStream,
                  parser.has_head() ? "the connection ended within the answer"
                                    : "the connection ended without an answer",
                  "ask again");
    }
    received += *got;
    if (received > limits.reply_bytes) {
      return fail(FailureKind::kMalformedAnswer,
                  fmt::format("the answer has more than {} bytes", limits.reply_bytes),
                  "ask for fewer output tokens");
    }
    if (const Status fed = parser.feed({buffer.data(), *got}, sink); !fed) {
      return fail(FailureKind::kMalformedAnswer, fed.error().message,
                  "is the address that of a language model's server?");
    }
  }
  return parser.head();
}

Answer<void> open_tunnel(ByteStream& stream, const Url& url, const Url& proxy, const Wait& wait) {
  const std::string target = fmt::format(
      "{}:{}", url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]", url.port);
  std::string request = fmt::format("CONNECT {} HTTP/1.1\r\nHost: {}\r\n", target, target);
  if (!proxy.user_info.empty())
    request += fmt::format("Proxy-Authorization: Basic {}\r\n", base64(proxy.user_info));
  request += "\r\n";
  auto sent = stream.send(request, wait);
  if (!sent) return sent;
  ResponseParser parser;
  // Byte by byte: what follows the head belongs to the tunnel.
  while (!parser.has_head()) {
    char byte = 0;
    auto got = stream.receive(&byte, 1, wait);
    if (!got) return fail(std::move(got.error()));
    const Status fed =
        *got == 0 ? Status(kw::fail(ErrorCode::kInvalid, "no answer"))
                  : parser.feed({&byte, 1}, [](const ResponseHead&, std::string_view) { return true; });
    if (!fed)
      return fail(
          FailureKind::kUnreachable,
          fmt::format("the proxy {} did not answer as a proxy does: {}", proxy.host, fed.error().message),
          "look at HTTPS_PROXY");
  }
  if (parser.head().status != 200) {
    return fail(FailureKind::kUnreachable,
                fmt::format("the proxy {} does not connect to {}: status {}", proxy.host, url.host,
                            parser.head().status),
                "look at HTTPS_PROXY and NO_PROXY");
  }
  return {};
}

}  // namespace

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
  }
  return out;
}

Answer<std::optional<Url>> proxy_for(const Url& url) {
  const std::string given = environment("HTTPS_PROXY", "https_proxy");
  if (!url.tls || given.empty() || url.loopback() || named_by(environment("NO_PROXY", "no_proxy"), url.host))
    return std::nullopt;
  auto proxy = parse_url(given.find("://") == std::string::npos ? "http://" + given : given);
  if (!proxy || proxy->tls) {
    return fail(FailureKind::kMisconfigured, "HTTPS_PROXY is no address like http://host:port",
                "write it so, or unset it; proxies spoken to by TLS are not supported");
  }
  return *proxy;
}

Answer<ResponseHead> post(const Post& post, const Limits& limits, const Patience& patience,
                          const ResponseParser::Sink& sink) {
  const Wait wait{patience, limits.idle_seconds > 0 ? limits.idle_seconds : Wait{}.idle_seconds};
  auto proxy = proxy_for(post.url);
  if (!proxy) return fail(std::move(proxy.error()));
  const Url& next = *proxy ? **proxy : post.url;
  auto stream = connect_to(next.host, next.port, limits.connect_seconds, patience);
  if (!stream) return fail(std::move(stream.error()));
  // Until the request is out, the server owes an answer to a connection, not to a model.
  const Wait connecting{patience, std::min(wait.idle_seconds, limits.connect_seconds)};
  if (*proxy) {
    if (auto opened = open_tunnel(**stream, post.url, next, connecting); !opened)
      return fail(std::move(opened.error()));
  }
  if (post.url.tls) {
    stream = start_tls(std::move(*stream), post.url.host, connecting);
    if (!stream) return fail(std::move(stream.error()));
  }
  std::string request = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: "
      "application/json\r\nContent-Length: {}\r\n",
      post.url.path.empty() ? "/" : post.url.path, post.url.authority(), post.body.size());
  for (const auto& [name, value] : post.headers) request += fmt::format("{}: {}\r\n", name, value);
  request += "\r\n";
  request += post.body;
  return exchange(**stream, request, limits, wait, sink);
}

}  // namespace kw::llm
