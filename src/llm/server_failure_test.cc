#include "llm/server_failure.h"

#include <gtest/gtest.h>

namespace kw::llm {
namespace {

Failure failure(int status, const std::string& body) {
  const Server server{"host", "m-1", "OPENAI_API_KEY", *Key::make("sk-secret/123456", "test")};
  return server_failure(status, parse_json(body), body, server);
}

TEST(ServerFailure, Table) {
  const std::tuple<int, const char*, const char*> cases[] = {
      {401, R"({"error":{"message":"Incorrect API key","code":"invalid_api_key"}})", "wrong-key"},
      {401, "", "wrong-key"},
      {403, R"({"error":{"type":"permission_error","message":"no"}})", "wrong-key"},
      {402, R"({"error":{"message":"pay"}})", "no-credit"},
      {400,
       R"({"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}})",
       "no-credit"},
      {429,
       R"({"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}})",
       "no-credit"},
      {429, R"({"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}})",
       "rate-limited"},
      {429, "<html>", "rate-limited"},
      {404, R"({"error":{"message":"The model 'm-1' does not exist","code":"model_not_found"}})",
       "unknown-model"},
      {404, R"({"type":"error","error":{"type":"not_found_error","message":"model: m-1"}})", "unknown-model"},
      {404, R"({"error":"model 'm-1' not found, try pulling it first"})", "unknown-model"},
      {404, "404 page not found", "misconfigured"},
      {404, R"({"detail":"Not Found"})", "misconfigured"},
      {400,
       R"({"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}})",
       "context-too-long"},
      {400,
       R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 250000 tokens > 200000 maximum"}})",
       "context-too-long"},
      {413, "", "context-too-long"},
      {400, R"({"error":{"message":"flagged","code":"content_policy_violation"}})", "refused"},
      {400, R"({"error":{"message":"Unsupported parameter: 'temperature'","param":"temperature"}})",
       "misconfigured"},
      {422, R"({"detail":[{"msg":"x"}]})", "misconfigured"},
      {500, "", "overloaded"},
      {503, "<html>busy</html>", "overloaded"},
      {529, R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})", "overloaded"},
      {408, "", "timed-out"},
      {302, "", "misconfigured"},
      {0, R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})", "overloaded"},
      {0, R"({"error":{"type":"rate_limit_error","message":"slow"}})", "rate-limited"},
      {0, R"({"error":{"message":"Internal"}})", "overloaded"},
      {400,
       R"([{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}])",
       "wrong-key"},
      {400,
       R"({"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}})",
       "context-too-long"},
      {404,
       R"({"object":"error","message":"The model `m-1` does not exist.","type":"NotFoundError","code":404})",
       "unknown-model"},
      {404,
       R"({"error":{"message":"model \"m-1\" not found, try pulling it first","type":"api_error","code":null}})",
       "unknown-model"},
      {418, R"(["not","an","object"])", "misconfigured"},
  };
  for (const auto& [status, body, kind] : cases) {
    const Failure got = failure(status, body);
    EXPECT_EQ(name_of(got.kind), kind) << status << " " << body << " " << got.message;
    EXPECT_FALSE(got.notes.empty()) << body;
    const bool again = got.kind == FailureKind::kRateLimited || got.kind == FailureKind::kOverloaded ||
                       got.kind == FailureKind::kTimedOut;
    EXPECT_EQ(got.retriable, again) << body;
  }
}

TEST(ServerFailure, ShowsWhatTheServerSaidButNotTheKey) {
  EXPECT_NE(failure(422, R"({"detail":[{"msg":"field required"}]})").message.find("field required"),
            std::string::npos);
  EXPECT_EQ(failure(302, "").message, "host sends requests elsewhere (status 302)");
  EXPECT_NE(failure(400, R"({"error":{"message":"bad \u001b[31m thing"}})").message.find("bad ?[31m thing"),
            std::string::npos);
  // Echoed as JSON likes it, and so long that the place where messages are cut lies within the key.
  for (const size_t before : {0, 290, 295}) {
    const std::string message =
        failure(401, "{\"error\":{\"message\":\"" + std::string(before, 'x') + "sk-secret\\/123456\"}}")
            .message;
    EXPECT_EQ(message.find("sk-s"), std::string::npos) << message;
  }
  EXPECT_LT(failure(500, std::string(100000, 'x')).message.size(), 500u);
}

TEST(AskedWait, Table) {
  const std::time_t now = *parse_date("2026-12-01T12:00:00Z");
  EXPECT_EQ(*parse_date("Tue, 01 Dec 2026 12:00:00 GMT"), now);
  const std::pair<std::vector<std::pair<std::string, std::string>>, double> cases[] = {
      {{}, 0},
      {{{"retry-after", "7"}}, 7},
      {{{"retry-after", "Tue, 01 Dec 2026 12:01:30 GMT"}}, 90},
      {{{"retry-after", "Tue, 01 Dec 2026 11:00:00 GMT"}}, 0},
      {{{"retry-after", "soon"}}, 0},
      {{{"retry-after", "-5"}}, 0},
      {{{"retry-after", "1e300"}}, 0},
      {{{"retry-after", "99999999999999999999999999"}}, 86400},
      {{{"retry-after-ms", "1500"}, {"retry-after", "2"}}, 1.5},
      {{{"x-ratelimit-remaining-requests", "0"}, {"x-ratelimit-reset-requests", "1m2s"}}, 62},
      {{{"x-ratelimit-remaining-requests", "5"}, {"x-ratelimit-reset-requests", "1m2s"}}, 0},
      {{{"x-ratelimit-remaining-tokens", "0"}, {"x-ratelimit-reset-tokens", "20ms"}}, 0.02},
      {{{"anthropic-ratelimit-tokens-remaining", "0"},
        {"anthropic-ratelimit-tokens-reset", "2026-12-01T12:00:09Z"}},
       9},
  };
  for (const auto& [headers, seconds] : cases)
    EXPECT_NEAR(asked_wait({429, headers}, now), seconds, 1e-9) << (headers.empty() ? "" : headers[0].second);
}

TEST(AskedWait, NoDateOrDurationDoesHarm) {
  for (const char* text :
       {"", "x", "Tue, 01 Foo 2026 12:00:00 GMT", "2026-13-01T12:00:00Z", "0000-00-00T00:00:00Z",
        "2026-12-01T12:00:00", "1x", "m", "1.2.3", "1s2", "inf", "nan"}) {
    EXPECT_FALSE(parse_date(text)) << text;
    if (std::string_view(text) != "1.2.3") {
      EXPECT_FALSE(parse_duration(text)) << text;
    }
  }
}

}  // namespace
}  // namespace kw::llm
