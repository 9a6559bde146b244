// A connection as bytes in and out, whatever carries them: a socket, or TLS over one. Waiting is bounded and
// cancellable. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "llm/http_message.h"
#include "llm/provider.h"

namespace kw::llm {

struct Wait {
  Patience patience;
  double idle_seconds = 120;  // without progress
};

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Failures: kCancelled, kTimedOut, kCutStream.
  virtual Answer<void> send(std::string_view bytes, const Wait& wait) = 0;
  // How many bytes came; 0: the other side has ended the connection as it should.
  virtual Answer<size_t> receive(char* into, size_t most, const Wait& wait) = 0;
};

// A TCP connection to the first address of `host` that accepts one. Failures: kUnreachable, kTimedOut
// (kUnreachable: after `connect_seconds`), kCancelled.
Answer<std::unique_ptr<ByteStream>> connect_to(const std::string& host, uint16_t port, double connect_seconds,
                                               const Patience& patience);

// TLS 1.2 or later over `below`, with the host's certificate verified against the system's bundle or
// SSL_CERT_FILE. Failures: kMisconfigured (a certificate that is not trusted, no bundle), and those of
// `below`.
Answer<std::unique_ptr<ByteStream>> start_tls(std::unique_ptr<ByteStream> below, const std::string& host,
                                              const Wait& wait);

}  // namespace kw::llm
