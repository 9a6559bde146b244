// Both HTTP providers against a server that fails in every way that servers do.
#include "llm/http_provider.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/file.h"
#include "llm/open_provider.h"
#include "llm/scripted_server_for_test.h"

namespace kw::llm {
namespace {

const char* const kSecret = "sk-test/1234567890";

Request hello() {
  Request request;
  request.messages = {{Role::kUser, "hello", {}, ""}};
  return request;
}

Limits quick() {
  Limits limits;
  limits.total_seconds = limits.idle_seconds = limits.connect_seconds = 10;  // for a machine that is busy
  limits.reply_bytes = 1 << 20;
  limits.line_bytes = 64 << 10;
  return limits;
}

Answer<Reply> ask(const ScriptedServer& server, const char* kind = "openai", const Call& call = {},
                  const Limits& limits = quick()) {
  const ScopedVariable key("KW_LLM_KEY", kSecret);
  auto opened = open_provider(fmt::format("{}:m-1@{}", kind, server.address()), limits);
  if (!opened) return fail(std::move(opened.error()));
  auto reply = opened->provider->ask(hello(), call);
  if (!reply) {
    EXPECT_EQ(format_error(reply.error()).find("1234567890"), std::string::npos) << reply.error().message;
  }
  return reply;
}

std::string kind_of(const Answer<Reply>& reply) {
  return reply ? "reply" : std::string(name_of(reply.error().kind));
}

std::string event(const std::string& content, const char* finish = "null") {
  return fmt::format("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}},\"finish_reason\":{}}}]}}\n\n",
                     content, finish);
}
const std::string kHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

TEST(HttpProvider, AsksAsTheProtocolSays) {
  ScriptedServer server(
      {ScriptedServer::streams(event("Hel") + event("lo", "\"stop\"") + "data: [DONE]\n\n"),
       ScriptedServer::streams(
           "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"c\"}}\n\n"
           "event: content_block_delta\ndata: "
           "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}"
           "}\n\n"
           "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")});
  std::string heard;
  Call call;
  call.on_text = [&](std::string_view text) { heard += text; };
  auto reply = ask(server, "openai", call);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->text, "Hello");
  EXPECT_EQ(heard, "Hello");
  reply = ask(server, "anthropic");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->text, "Hi");
  EXPECT_EQ(reply->model, "c");
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_TRUE(requests[0].starts_with("POST /v1/chat/completions HTTP/1.1\r\n"));
  EXPECT_NE(requests[0].find(fmt::format("Host: 127.0.0.1:{}\r\n", server.port())), std::string::npos);
  EXPECT_NE(requests[0].find(fmt::format("Authorization: Bearer {}\r\n", kSecret)), std::string::npos);
  EXPECT_TRUE(requests[1].starts_with("POST /v1/messages HTTP/1.1\r\n"));
  EXPECT_NE(requests[1].find(fmt::format("x-api-key: {}\r\n", kSecret)), std::string::npos);
}

TEST(HttpProvider, EveryRefusalHasItsKind) {
  const std::string echo = fmt::format(
      R"({{"error":{{"message":"Incorrect API key provided: {}","code":"invalid_api_key"}}}})", kSecret);
  const std::tuple<const char*, ScriptedServer::Scene> cases[] = {
      {"wrong-key", ScriptedServer::answers(401, echo)},
      {"wrong-key", ScriptedServer::answers(403, "")},
      {"unknown-model",
       ScriptedServer::answers(404, R"({"error":{"message":"no model","code":"model_not_found"}})")},
      {"context-too-long",
       ScriptedServer::answers(400, R"({"error":{"message":"x","code":"context_length_exceeded"}})")},
      {"rate-limited", ScriptedServer::answers(429, "{}", "Retry-After: 7\r\n")},
      {"overloaded", ScriptedServer::answers(500, "")},
      {"overloaded", ScriptedServer::answers(503, "<html>")},
      {"overloaded", ScriptedServer::answers(529, "")},
      {"refused", ScriptedServer::streams(event("x", "\"content_filter\""))},
      {"misconfigured",
       ScriptedServer::answers(301, "", fmt::format("Location: https://elsewhere/{}\r\n", kSecret))},
      {"misconfigured", ScriptedServer::answers(307, "", "Location: http://elsewhere/\r\n")},
      {"malformed-answer", ScriptedServer::answers(200, "{\"choices\":")},
      {"malformed-answer",
       ScriptedServer::answers(200, "<html>sign in</html>", "Content-Type: text/html\r\n")},
      {"malformed-answer", ScriptedServer::answers(200, fmt::format("{{\"{}\":1}}", kSecret),
                                                   fmt::format("Content-Type: {}\r\n", kSecret))},
      {"malformed-answer", ScriptedServer::answers(200, "")},
      {"malformed-answer",
       ScriptedServer::streams(
           fmt::format(
               R"(data: {{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"function":{{"name":"{}","arguments":"x"}}}}]}},"finish_reason":"stop"}}]}})",
               kSecret) +
           "\n\n")},
      {"malformed-answer", ScriptedServer::streams("data: {no json}\n\n")},
      {"malformed-answer", ScriptedServer::says("SSH-2.0-x\r\n\r\n")},
      {"malformed-answer",
       ScriptedServer::says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")},
      {"overloaded",
       ScriptedServer::streams(event("x") + "data: {\"error\":{\"message\":\"engine died\"}}\n\n")},
      {"cut-stream", ScriptedServer::says("")},
      {"cut-stream", ScriptedServer::says("HTTP/1.1 200 OK\r\nContent-Le")},
      {"cut-stream",
       ScriptedServer::says(
           "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")},
      {"cut-stream", ScriptedServer::says(kHead + event("x"))},
      {"cut-stream", ScriptedServer::says(kHead + "data: {\"choi")},
      {"cut-stream",
       [](Visitor& v) {
         v.read_request();
         v.send(kHead + event("x"));
         v.pause(0.02);
         v.reset();
       }},
  };
  for (const auto& [kind, scene] : cases) {
    ScriptedServer server({scene});
    const auto reply = ask(server);
    EXPECT_EQ(kind_of(reply), kind) << (reply ? reply->text : reply.error().message);
    if (!reply) {
      EXPECT_FALSE(reply.error().message.empty());
    }
    if (kind == std::string("rate-limited")) {
      EXPECT_EQ(reply.error().retry_after_seconds, 7);
    }
  }
}

TEST(HttpProvider, AnAnswerInOnePieceWillDo) {
  ScriptedServer server(
      {ScriptedServer::answers(200, R"({"choices":[{"message":{"content":"hi"}}]})"),
       ScriptedServer::says("HTTP/1.1 200 OK\r\n\r\n{\"choices\":[{\"message\":{\"content\":\"ho\"}}]}")});
  EXPECT_EQ(ask(server)->text, "hi");
  EXPECT_EQ(ask(server)->text, "ho");
}

TEST(HttpProvider, PiecesOfAnySize) {
  const std::string events =
      event("Gr\u00fc\u00df") + event("\u4e16\u754c \U0001F600", "\"stop\"") + "data: [DONE]\n\n";
  ScriptedServer server({[&](Visitor& v) {
    v.read_request();
    for (const char c : kHead + events) v.send({&c, 1});
  }});
  EXPECT_EQ(ask(server)->text, "Gr\u00fc\u00df\u4e16\u754c \U0001F600");
}

TEST(HttpProvider, TheEndOfTheReplyIsTheEnd) {
  // [DONE] came; that the server keeps the connection does not matter.
  ScriptedServer server({[](Visitor& v) {
    v.read_request();
    v.send(kHead + event("x", "\"stop\"") + "data: [DONE]\n\n");
    v.wait_until_gone();
  }});
  EXPECT_EQ(ask(server)->text, "x");
}

TEST(HttpProvider, AnErrorBeforeTheRequestWasRead) {
  ScriptedServer server({[](Visitor& v) {
    v.send("HTTP/1.1 413 x\r\nContent-Length: 0\r\n\r\n");
    v.pause(0.05);
  }});
  // More than the buffers between take: the rest of the request meets a connection that has ended.
  Request large = hello();
  large.messages[0].text.assign(8 << 20, 'x');
  auto opened = open_provider("openai:m@" + server.address(), quick());
  EXPECT_EQ(kind_of(opened->provider->ask(large, {})), "context-too-long");
  EXPECT_EQ(kind_of(ask(server)), "context-too-long");
}

TEST(HttpProvider, WhatNeverEndsIsEnded) {
  const std::tuple<const char*, ScriptedServer::Scene> cases[] = {
      {"timed-out",
       [](Visitor& v) {
         v.read_request();
         v.wait_until_gone();
       }},  // says nothing
      {"timed-out",
       [](Visitor& v) {
         v.read_request();
         v.send(kHead + event("x"));
         v.wait_until_gone();
       }},  // falls silent
      {"malformed-answer",
       [](Visitor& v) {
         v.read_request();
         v.send(kHead);
         while (v.send(event(std::string(1000, 'x')))) {
         }
       }},  // an endless stream
      {"malformed-answer",
       [](Visitor& v) {
         v.read_request();
         v.send(kHead + "data: ");
         while (v.send(std::string(1000, 'x'))) {
         }
       }},  // an endless line
      {"malformed-answer",
       [](Visitor& v) {
         v.read_request();
         v.send("HTTP/1.1 200 OK\r\nX: ");
         while (v.send(std::string(1000, 'x'))) {
         }
       }},
      {"malformed-answer",
       [](Visitor& v) {
         v.read_request();
         v.send("HTTP/1.1 200 OK\r\n\r\n");
         while (v.send(std::string(1000, ' '))) {
         }
       }},
      {"overloaded",
       [](Visitor& v) {
         v.read_request();
         v.send("HTTP/1.1 500 x\r\n\r\n");
         while (v.send(std::string(1000, ' '))) {
         }
       }},
  };
  for (const auto& [kind, scene] : cases) {
    ScriptedServer server({scene});
    const auto start = Clock::now();
    Limits limits = quick();
    limits.idle_seconds = kind == std::string("timed-out") ? 0.2 : 10;
    const auto reply = ask(server, "openai", {}, limits);
    EXPECT_EQ(kind_of(reply), kind) << (reply ? reply->text : reply.error().message);
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 5);
  }
}

TEST(HttpProvider, AStreamThatTricklesEndsAtTheDeadline) {
  ScriptedServer server({[](Visitor& v) {
    v.read_request();
    v.send(kHead);
    while (v.send(": still here\n")) v.pause(0.01);
  }});
  Call call;
  call.patience.deadline = Clock::now() + std::chrono::milliseconds(300);
  EXPECT_EQ(kind_of(ask(server, "openai", call)), "timed-out");
}

TEST(HttpProvider, CancelledFromAnotherThread) {
  const ScriptedServer::Scene scenes[] = {
      [](Visitor& v) {
        v.read_request();
        v.pause(5);
      },
      [](Visitor& v) {
        v.read_request();
        v.send(kHead);
        while (v.send(event("x"))) v.pause(0.005);
      },
      [](Visitor& v) {
        v.read_request();
        v.send(kHead);
        while (v.send(": busy\n")) {
        }
      },
  };
  for (const ScriptedServer::Scene& scene : scenes) {
    ScriptedServer server({scene});
    std::atomic<bool> cancel = false;
    Call call;
    call.patience.cancel = &cancel;
    Clock::time_point cancelled;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      cancelled = Clock::now();
      cancel = true;
    });
    Limits limits = quick();
    limits.reply_bytes = uint64_t{1} << 40;
    const auto reply = ask(server, "openai", call, limits);
    const auto ended = Clock::now();
    other.join();
    EXPECT_EQ(kind_of(reply), "cancelled") << (reply ? "" : reply.error().message);
    EXPECT_LT(std::chrono::duration<double>(ended - cancelled).count(), 1);
  }
}

TEST(HttpProvider, NobodyThere) {
  const ScopedVariable key("KW_LLM_KEY", nullptr);
  const auto ask_at = [](const std::string& address) {
    return open_provider("openai:m@" + address, quick())->provider->ask(hello(), {});
  };
  const auto refused = ask_at(fmt::format("http://127.0.0.1:{}", closed_port()));
  EXPECT_EQ(kind_of(refused), "unreachable");
  EXPECT_TRUE(refused.error().retriable);
  EXPECT_EQ(kind_of(ask_at("http://no-such-host.invalid")), "unreachable");
}

TEST(OpenProvider, Specs) {
  const ScopedVariable a("OPENAI_API_KEY", nullptr), b("ANTHROPIC_API_KEY", nullptr),
      c("KW_LLM_KEY", nullptr), d("KW_LLM_KEY_FILE", nullptr);
  const auto kind = [](const char* spec) {
    const auto opened = open_provider(spec, {});
    return opened ? std::string("open") : std::string(name_of(opened.error().kind));
  };
  EXPECT_EQ(kind("none"), "open");
  EXPECT_EQ(kind("openai:llama3:8b@http://localhost:11434/v1"), "open");
  EXPECT_EQ(kind("anthropic:m@http://localhost:1"), "open");
  EXPECT_EQ(kind("openai:m"), "wrong-key");
  EXPECT_EQ(kind("anthropic:m"), "wrong-key");
  for (const char* bad : {"", "openai", "openai:", "openai:@http://h", "openai:m@http://u:p@h",
                          "openai:m@http://h?key=x", "openia:m", "none:x", "replay:", "replay:/no/such"}) {
    EXPECT_EQ(kind(bad), "misconfigured") << bad;
  }
  EXPECT_NE(format_error(open_provider("openia:m", {}).error()).find("did you mean 'openai'"),
            std::string::npos);
  // A vendor's key stays with the vendor.
  const ScopedVariable vendor("OPENAI_API_KEY", kSecret);
  EXPECT_EQ(kind("openai:m"), "open");
  EXPECT_TRUE(open_provider("openai:m@http://localhost:1", {})->key.empty());
  EXPECT_TRUE(open_provider("openai:m@http://api.openai.com", {})->key.empty());
  EXPECT_EQ(kind("anthropic:m"), "wrong-key");
}

TEST(Keys, FromVariableOrFile) {
  const ScopedVariable a("OPENAI_API_KEY", "sk-from-variable"), c("KW_LLM_KEY", nullptr),
      d("KW_LLM_KEY_FILE", nullptr);
  EXPECT_EQ(Key::from_environment("OPENAI_API_KEY")->secret(), "sk-from-variable");
  const TempDir folder = *TempDir::create();
  ASSERT_TRUE(write_file(folder / "key", "  sk-from-file\n"));
  const ScopedVariable file("KW_LLM_KEY_FILE", (folder / "key").c_str());
  EXPECT_EQ(Key::from_environment("OPENAI_API_KEY")->secret(), "sk-from-file");
  EXPECT_EQ(Key::from_environment("OPENAI_API_KEY")->redacted("sk-from-file sk-from-variable"),
            "[key] [key]");
  EXPECT_EQ(Key::unused().redacted("sk-from-file sk-from-variable"), "[key] [key]");
  for (const char* bad : {"", "\n", "short", "two words here", "with\"quote-in-it", "line\nline-line"}) {
    ASSERT_TRUE(write_file(folder / "key", bad));
    const auto key = Key::from_environment("");
    ASSERT_FALSE(key) << bad;
    if (bad[0] != '\0' && bad[0] != '\n') {
      EXPECT_EQ(format_error(key.error()).find(bad), std::string::npos);
    }
  }
  const ScopedVariable none("KW_LLM_KEY_FILE", "/no/such/file");
  EXPECT_EQ(Key::from_environment("").error().kind, FailureKind::kMisconfigured);
}

}  // namespace
}  // namespace kw::llm
