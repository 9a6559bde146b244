// All of OpenSSL that is used. It is linked statically (src/llm/CMakeLists.txt), so that `kw` needs no
// library but C's.
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "llm/byte_stream.h"

namespace kw::llm {
namespace {

struct Free {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

// Where distributions keep the certificates that they trust, besides the place that OpenSSL was built for.
constexpr std::array<const char*, 4> kBundles = {"/etc/ssl/certs/ca-certificates.crt",
                                                 "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                                 "/etc/ssl/cert.pem"};

std::string last_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "no reason given" : reason;
}

Answer<std::unique_ptr<SSL_CTX, Free>> make_context() {
  // No openssl.cnf of the machine: it may name modules for another build of OpenSSL.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  ERR_clear_error();
  std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_client_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return fail(FailureKind::kMisconfigured, fmt::format("TLS cannot be set up: {}", last_error()));
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(), SSL_MODE_AUTO_RETRY);
  const char* named = std::getenv("SSL_CERT_FILE");
  if (named != nullptr && *named != '\0') {
    if (SSL_CTX_load_verify_locations(context.get(), named, nullptr) != 1) {
      return fail(
          FailureKind::kMisconfigured,
          fmt::format("the certificates of SSL_CERT_FILE ({}) cannot be read: {}", named, last_error()),
          "name a file of trusted certificates in PEM form, or unset SSL_CERT_FILE");
    }
    return context;
  }
  SSL_CTX_set_default_verify_paths(context.get());
  for (const char* bundle : kBundles) {
    if (access(bundle, R_OK) == 0 && SSL_CTX_load_verify_locations(context.get(), bundle, nullptr) == 1)
      break;
  }
  ERR_clear_error();
  return context;
}

class Tls : public ByteStream {
 public:
  Tls(std::unique_ptr<ByteStream> below, std::string host)
      : below_(std::move(below)), host_(std::move(host)) {}

  Answer<void> handshake(const Wait& wait) {
    auto context = make_context();
    if (!context) return fail(std::move(context.error()));
    context_ = std::move(*context);
    ssl_.reset(SSL_new(context_.get()));
    BIO* in = BIO_new(BIO_s_mem());
    BIO* out = BIO_new(BIO_s_mem());
    if (!ssl_ || in == nullptr || out == nullptr) {
      BIO_free(in);
      BIO_free(out);
      return fail(FailureKind::kMisconfigured, "TLS cannot be set up: no memory");
    }
    SSL_set_bio(ssl_.get(), in, out);  // owns both
    BIO_set_mem_eof_return(in, -1);    // empty is not the end
    SSL_set_connect_state(ssl_.get());
    // A host by number has no name to ask for; its certificate must name the number.
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), host_.c_str()) != 1) {
      ERR_clear_error();
      SSL_set_tlsext_host_name(ssl_.get(), host_.c_str());
      SSL_set1_host(ssl_.get(), host_.c_str());
    }
    const auto shaken = step(wait, [this] { return SSL_do_handshake(ssl_.get()); });
    if (!shaken) return fail(std::move(shaken.error()));
    if (*shaken == 0)
      return fail(FailureKind::kCutStream,
                  fmt::format("{} ended the connection during the TLS handshake", host_));
    return {};
  }

  Answer<void> send(std::string_view bytes, const Wait& wait) override {
    while (!bytes.empty()) {
      size_t written = 0;
      const auto sent =
          step(wait, [&] { return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written); });
      if (!sent) return fail(std::move(sent.error()));
      if (*sent == 0)
        return fail(FailureKind::kCutStream,
                    fmt::format("{} ended the connection before it had the whole request", host_));
      bytes.remove_prefix(written);
    }
    return {};
  }

  Answer<size_t> receive(char* into, size_t most, const Wait& wait) override {
    size_t got = 0;
    const auto read = step(wait, [&] { return SSL_read_ex(ssl_.get(), into, most, &got); });
    if (!read) return fail(std::move(read.error()));
    return got;  // 0: the other side said that it has ended
  }

 private:
  Answer<void> flush(const Wait& wait) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(ssl_.get()), &data);
    if (size <= 0) return {};
    const std::string bytes(data, static_cast<size_t>(size));
    BIO_reset(SSL_get_wbio(ssl_.get()));
    return below_->send(bytes, wait);
  }

  // Repeats `action` while it wants bytes to come or to go. 0 when the other side has ended the connection as
  // it should.
  template <typename Action>
  Answer<int> step(const Wait& wait, const Action& action) {
    while (true) {
      ERR_clear_error();
      const int result = action();
      const int error = result > 0 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), result);
      if (error == SSL_ERROR_SSL) return broken();
      if (auto flushed = flush(wait); !flushed) return fail(std::move(flushed.error()));
      if (error == SSL_ERROR_NONE) return 1;
      if (error == SSL_ERROR_ZERO_RETURN) return 0;
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return broken();
      if (error == SSL_ERROR_WANT_WRITE) continue;
      std::array<char, 16384> buffer;
      const auto got = below_->receive(buffer.data(), buffer.size(), wait);
      if (!got) return fail(std::move(got.error()));
      if (*got == 0)
        return fail(FailureKind::kCutStream,
                    fmt::format("the connection to {} ended before it should", host_));
      BIO_write(SSL_get_rbio(ssl_.get()), buffer.data(), static_cast<int>(*got));
    }
  }

  tl::unexpected<Failure> broken() {
    const long verified = SSL_get_verify_result(ssl_.get());
    const std::string reason = last_error();
    if (verified != X509_V_OK) {
      return fail(FailureKind::kMisconfigured,
                  fmt::format("the certificate of {} is not trusted: {}", host_,
                              X509_verify_cert_error_string(verified)),
                  "install ca-certificates, or name the certificates to trust in SSL_CERT_FILE");
    }
    Failure failure =
        make_failure(FailureKind::kUnreachable, fmt::format("TLS with {} failed: {}", host_, reason),
                     "is it https that this port speaks?");
    failure.retriable = false;
    return fail(std::move(failure));
  }

  std::unique_ptr<ByteStream> below_;
  std::string host_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
};

}  // namespace

Answer<std::unique_ptr<ByteStream>> start_tls(std::unique_ptr<ByteStream> below, const std::string& host,
                                              const Wait& wait) {
  auto tls = std::make_unique<Tls>(std::move(below), host);
  if (auto shaken = tls->handshake(wait); !shaken) return fail(std::move(shaken.error()));
  return tls;
}

}  // namespace kw::llm
