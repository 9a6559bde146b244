// One POST over a connection of its own, its answer given as it comes. Never follows a redirect: it would
// carry the key elsewhere. Through HTTPS_PROXY where that is set and NO_PROXY does not name the host; http://
// addresses go directly. Thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "llm/byte_stream.h"

namespace kw::llm {

struct Post {
  Url url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

// The head, after `sink` had the whole body or returned false. An answer that ends before its end:
// kCutStream; one that is no HTTP or has more than limits.reply_bytes: kMalformedAnswer.
Answer<ResponseHead> post(const Post& post, const Limits& limits, const Patience& patience,
                          const ResponseParser::Sink& sink);

// HTTPS_PROXY (or https_proxy) for `url`; nothing when it goes directly. Error kMisconfigured for one that is
// no address.
Answer<std::optional<Url>> proxy_for(const Url& url);

// RFC 4648, with padding.
std::string base64(std::string_view bytes);

}  // namespace kw::llm
