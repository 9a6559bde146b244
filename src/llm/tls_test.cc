// TLS against a server with certificates made for the test.
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>

#include <algorithm>
#include <memory>

#include "base/file.h"
#include "llm/http_provider.h"
#include "llm/open_provider.h"
#include "llm/scripted_server_for_test.h"

namespace kw::llm {
namespace {

struct Identity {
  std::shared_ptr<EVP_PKEY> key;
  std::shared_ptr<X509> certificate;
  std::string pem;
};

// Signed by itself, for `names` like "DNS:localhost,IP:127.0.0.1".
Identity make_identity(const char* names) {
  Identity out{{EVP_EC_gen("P-256"), EVP_PKEY_free}, {X509_new(), X509_free}, ""};
  X509* certificate = out.certificate.get();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, out.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  X509_sign(certificate, out.key.get(), EVP_sha256());
  BIO* text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(text, certificate);
  char* data = nullptr;
  const long size = BIO_get_mem_data(text, &data);
  out.pem.assign(data, static_cast<size_t>(size));
  BIO_free(text);
  return out;
}

ScriptedServer::Scene tls_scene(const Identity& identity, const std::string& answer, bool say_goodbye) {
  return [identity, answer, say_goodbye](Visitor& visitor) {
    SSL_CTX* context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(context, identity.certificate.get());
    SSL_CTX_use_PrivateKey(context, identity.key.get());
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, visitor.fd());
    if (SSL_accept(ssl) == 1) {
      char buffer[16384];
      SSL_read(ssl, buffer, sizeof buffer);
      // In records of a few bytes.
      for (size_t at = 0; at < answer.size(); at += 7)
        SSL_write(ssl, answer.data() + at, static_cast<int>(std::min<size_t>(7, answer.size() - at)));
      if (say_goodbye) SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
  };
}

class Tls : public testing::Test {
 protected:
  void SetUp() override { signal(SIGPIPE, SIG_IGN); }

  Answer<Reply> ask(const ScriptedServer& server, const Identity* trusted, const char* host = "127.0.0.1") {
    const std::string file = folder_ / "trusted.pem";
    if (trusted != nullptr) {
      EXPECT_TRUE(write_file(file, trusted->pem));
    }
    const ScopedVariable certificates("SSL_CERT_FILE", trusted == nullptr ? nullptr : file.c_str());
    Limits limits;
    limits.connect_seconds = limits.idle_seconds = 10;
    auto opened = open_provider(fmt::format("openai:m@https://{}:{}", host, server.port()), limits);
    Request request;
    request.messages = {{Role::kUser, "hello", {}, ""}};
    return opened->provider->ask(request, {});
  }

  TempDir folder_ = *TempDir::create();
};

const std::string kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Type: "
    "application/json\r\n\r\n{\"choices\":[{\"message\":{\"content\":\"hi\"}}]}";

TEST_F(Tls, TrustsWhatItIsToldTo) {
  const Identity identity = make_identity("DNS:localhost,IP:127.0.0.1"),
                 other = make_identity("DNS:localhost,IP:127.0.0.1"),
                 elsewhere = make_identity("DNS:elsewhere,IP:127.0.0.2");
  ScriptedServer server({tls_scene(identity, kAnswer, true)}),
      wrong_name({tls_scene(elsewhere, kAnswer, true)});
  const auto reply = ask(server, &identity);
  ASSERT_TRUE(reply) << format_error(reply.error());
  EXPECT_EQ(reply->text, "hi");
  EXPECT_EQ(ask(server, &identity, "localhost")->text, "hi");
  for (const auto& refused : {ask(server, &other), ask(server, nullptr), ask(wrong_name, &elsewhere),
                              ask(wrong_name, &elsewhere, "localhost")}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, FailureKind::kMisconfigured) << refused.error().message;
    EXPECT_FALSE(refused.error().retriable);
    EXPECT_NE(refused.error().message.find("is not trusted"), std::string::npos) << refused.error().message;
  }
}

TEST_F(Tls, AnEndWithoutAGoodbyeIsACut) {
  const Identity identity = make_identity("IP:127.0.0.1");
  ScriptedServer server({tls_scene(identity, kAnswer, false)});
  EXPECT_EQ(ask(server, &identity).error().kind, FailureKind::kCutStream);
}

TEST_F(Tls, ServersThatSpeakSomethingElse) {
  const Identity identity = make_identity("IP:127.0.0.1");
  ScriptedServer plain({[](Visitor& v) {
    v.send("HTTP/1.1 400 x\r\n\r\n");
    v.wait_until_gone();
  }}),
      silent({[](Visitor&) {}});
  EXPECT_EQ(ask(plain, &identity).error().kind, FailureKind::kUnreachable);
  EXPECT_EQ(ask(silent, &identity).error().kind, FailureKind::kCutStream);
  const ScopedVariable certificates("SSL_CERT_FILE", "/no/such/file");
  Request request;
  request.messages = {{Role::kUser, "hello", {}, ""}};
  const auto reply = open_provider(fmt::format("openai:m@https://127.0.0.1:{}", plain.port()), {})
                         ->provider->ask(request, {});
  EXPECT_EQ(reply.error().kind, FailureKind::kMisconfigured);
  EXPECT_NE(reply.error().message.find("/no/such/file"), std::string::npos);
}

TEST_F(Tls, ThroughAProxy) {
  const Identity identity = make_identity("DNS:model.test");
  std::string tunnel;
  const auto inner = tls_scene(identity, kAnswer, true);
  ScriptedServer proxy({[&](Visitor& v) {
                          tunnel = v.read_request();
                          v.send("HTTP/1.1 200 Connection established\r\n\r\n");
                          inner(v);
                        },
                        ScriptedServer::says("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")});
  const ScopedVariable given("https_proxy",
                             fmt::format("http://user:secret@127.0.0.1:{}", proxy.port()).c_str()),
      no("no_proxy", nullptr), upper("NO_PROXY", nullptr);
  const auto reply = ask(proxy, &identity, "model.test");
  ASSERT_TRUE(reply) << format_error(reply.error());
  EXPECT_TRUE(tunnel.starts_with(fmt::format("CONNECT model.test:{} HTTP/1.1\r\n", proxy.port()))) << tunnel;
  EXPECT_NE(tunnel.find("Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"), std::string::npos);
  const auto refused = ask(proxy, &identity, "model.test");
  EXPECT_EQ(refused.error().kind, FailureKind::kUnreachable);
  EXPECT_EQ(format_error(refused.error()).find("secret"), std::string::npos);
}

}  // namespace
}  // namespace kw::llm
