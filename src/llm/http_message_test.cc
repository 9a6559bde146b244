#include "llm/http_message.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "llm/http.h"
#include "llm/scripted_server_for_test.h"

namespace kw::llm {
namespace {

TEST(Url, Table) {
  const auto shown = [](std::string_view text) {
    const auto url = parse_url(text);
    return url ? fmt::format("{} {} {} '{}' {}", url->tls ? "tls" : "plain", url->host, url->port, url->path,
                             url->authority())
               : "error";
  };
  EXPECT_EQ(shown("https://api.openai.com"), "tls api.openai.com 443 '' api.openai.com");
  EXPECT_EQ(shown("http://LocalHost:8000/v1/"), "plain localhost 8000 '/v1' localhost:8000");
  EXPECT_EQ(shown("http://[::1]:80/a/b"), "plain ::1 80 '/a/b' [::1]");
  EXPECT_EQ(shown("HTTPS://h:80"), "tls h 80 '' h:80");
  for (const char* bad : {"", "h", "ftp://h", "https://", "https://:80", "http://h:0", "http://h:65536",
                          "http://h:x", "http://h:", "http://h/a?key=x", "http://h#x", "http://h/a b",
                          "http://[::1", "http://[::1]x", "http://h/\r\nX: y", "://h"}) {
    EXPECT_EQ(shown(bad), "error") << bad;
  }
  EXPECT_EQ(parse_url("http://u:p@h:1")->user_info, "u:p");
}

struct Parsed {
  std::string status = "?", body;
  bool operator==(const Parsed&) const = default;
};

Parsed parse(std::string_view bytes, const std::function<size_t()>& piece) {
  ResponseParser parser;
  Parsed out;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), piece());
    const Status fed = parser.feed(bytes.substr(0, size), [&](const ResponseHead&, std::string_view more) {
      out.body += more;
      return true;
    });
    if (!fed) return {"error", out.body};
    bytes.remove_prefix(size);
  }
  out.status = fmt::format("{}{}", parser.head().status, parser.end() ? "" : " cut");
  return out;
}

Parsed parse(std::string_view bytes) {
  return parse(bytes, [] { return size_t{1} << 20; });
}

TEST(Response, Table) {
  const std::pair<const char*, Parsed> cases[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", {"200", "abc"}},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", {"200 cut", "abc"}},
      {"HTTP/1.0 200 OK\n\nabc", {"200", "abc"}},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nT: x\r\n\r\n",
       {"200", "abc"}},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", {"200 cut", "ab"}},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nabc\r\n", {"error", "ab"}},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", {"error", ""}},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", {"error", ""}},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", {"error", ""}},
      {"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", {"error", ""}},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 no\r\nContent-Length: 0\r\n\r\n", {"401", ""}},
      {"HTTP/1.1 204 none\r\n\r\n", {"204", ""}},
      {"SSH-2.0-OpenSSH_9.2\r\n", {"error", ""}},
      {"HTTP/1.1 2x0 OK\r\n", {"error", ""}},
      {"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", {"error", ""}},
      {"", {"0 cut", ""}},
  };
  for (const auto& [bytes, expected] : cases) {
    const Parsed got = parse(bytes);
    EXPECT_EQ(got.status, expected.status) << bytes;
    EXPECT_EQ(got.body, expected.body) << bytes;
  }
}

TEST(Response, AHeadOfAnySizeIsRefused) {
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nX: " + std::string(70000, 'x')).status, "error");
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 20000; ++i) many += "a: b\r\n";
  EXPECT_EQ(parse(many).status, "error");
  std::string trailers = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  for (int i = 0; i < 20000; ++i) trailers += "a: b\r\n";
  EXPECT_EQ(parse(trailers).status, "error");
  std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 20000; ++i) chunks += "1\r\nx\r\n";
  EXPECT_EQ(parse(chunks + "0\r\n\r\n").status, "200");
}

TEST(Response, SplitsDoNotMatter) {
  Rng rng(2);
  const std::string seeds[] = {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
                               "HTTP/1.1 500 x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
                               "HTTP/1.1 200 OK\r\nA: b\r\n\r\nxyz\n"};
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = seeds[rng.below(3)];
    for (uint64_t edits = rng.below(4); edits > 0; --edits) {
      const size_t at = rng.below(bytes.size());
      if (rng.below(2) == 0)
        bytes[at] = static_cast<char>(rng.below(256));
      else
        bytes.insert(at, 1, "\r\n0:;f "[rng.below(7)]);
    }
    EXPECT_EQ(parse(bytes, [&] { return 1 + rng.below(4); }), parse(bytes)) << bytes;
  }
}

TEST(Http, Base64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Http, ProxyOfTheEnvironment) {
  const ScopedVariable unset("HTTPS_PROXY", nullptr), proxy("https_proxy", "proxy.example:3128"),
      no("no_proxy", nullptr);
  const auto used = [](const char* url) {
    const auto answer = proxy_for(*parse_url(url));
    return !answer ? "error" : *answer ? fmt::format("{}:{}", (*answer)->host, (*answer)->port) : "direct";
  };
  EXPECT_EQ(used("https://api.openai.com"), "proxy.example:3128");
  EXPECT_EQ(used("http://api.openai.com"), "direct");
  EXPECT_EQ(used("https://127.0.0.1"), "direct");
  const ScopedVariable exempt("NO_PROXY", "localhost, .example.com,b.org");
  EXPECT_EQ(used("https://x.example.com"), "direct");
  EXPECT_EQ(used("https://example.com"), "direct");
  EXPECT_EQ(used("https://notexample.com"), "proxy.example:3128");
  EXPECT_EQ(used("https://ab.org"), "proxy.example:3128");
  const ScopedVariable bad("https_proxy", "socks5://x");
  EXPECT_EQ(used("https://api.openai.com"), "error");
}

}  // namespace
}  // namespace kw::llm
