// Whole runs against a server that fails in the ways that servers do: a run ends as the undisturbed one, at once or when it is resumed, and no key gets anywhere.
#include <gtest/gtest.h>

#include <filesystem>

#include "agent/report.h"
#include "agent/run_for_test.h"
#include "agent/scripted_model_for_test.h"
#include "base/file.h"
#include "base/json_fields.h"
#include "llm/model.h"
#include "llm/scripted_server_for_test.h"

namespace kw::agent {
namespace {

using llm::ScriptedServer;
using llm::Visitor;

constexpr char kSecret[] = "sk-drill-0123456789abcdef";

// Answers by the model's rule, as a server of that protocol does.
ScriptedServer::Scene by_rule(ScriptedModel& model) {
  return [&model](Visitor& visitor) {
    const std::string request = visitor.read_request();
    const nlohmann::json json = parse_json(request.substr(request.find("\r\n\r\n") + 4));
    if (!json.is_object() || !json.contains("messages")) return;
    llm::Request asked;
    for (const auto& each : json["messages"]) asked.messages.push_back({llm::Role::kUser, each.at("content").get<std::string>(), {}, {}});
    const nlohmann::json body{{"choices", {{{"message", {{"content", model(asked)->text}}}, {"finish_reason", "stop"}}}}, {"usage", {{"prompt_tokens", 100}, {"completion_tokens", 10}}}};
    const std::string text = body.dump();
    visitor.send(fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", text.size(), text));
  };
}

struct Drill {
  const char* name;
  ScriptedServer::Scene scene;
  bool resumed = false;   // the program ends, and says why; else it goes on by itself
  const char* says = "";
};

const std::string kHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const std::string kDelta = "data: {\"choices\":[{\"delta\":{\"content\":\"hello \"},\"finish_reason\":null}]}\n\n";

std::vector<Drill> drills() {
  const auto answers = [](int status, const std::string& body, const std::string& headers = "Content-Type: application/json\r\n") { return ScriptedServer::answers(status, body, headers); };
  const std::string echo = std::string(R"({"error": {"message": "no such key: )") + kSecret + "\"}}";
  return {
      {"wrong key", answers(401, echo), true, "key"},
      {"forbidden", answers(403, echo), true, "key"},
      {"unknown model", answers(404, R"({"error": {"message": "The model m does not exist", "code": "model_not_found"}})"), true, "model"},
      {"no credit", answers(429, R"({"error": {"code": "insufficient_quota", "message": "you exceeded your current quota"}})"), true, "quota"},
      {"too busy", answers(429, "{}", "Retry-After: 0\r\n")},
      {"overloaded", answers(503, "<html>try later</html>", "Content-Type: text/html\r\n")},
      {"broken inside", answers(500, echo)},
      {"connection reset", [](Visitor& v) { v.read_request(); v.reset(); }},
      {"cut stream", ScriptedServer::says(kHead + kDelta)},
      {"cut in the head", ScriptedServer::says("HTTP/1.1 200 O")},
      {"slow", [](Visitor& v) { v.read_request(); v.send(kHead + kDelta); v.wait_until_gone(10); }},
      {"endless", [](Visitor& v) { v.read_request(); v.send(kHead); while (v.send(kDelta)) {} }, true, "more than"},
      {"no protocol", answers(200, "<html>welcome</html>", "Content-Type: text/html\r\n"), true, ""},
      {"malformed", answers(200, R"({"choices": [)"), true, ""},
      {"empty", answers(200, ""), true, ""},
      {"another protocol", ScriptedServer::says("220 smtp.example ESMTP\r\n"), true, ""},
  };
}

class Faults : public testing::Test {
 protected:
  Faults() { settings_.evaluations = 3; }
  static Result<Ending> life(Place& at, int64_t run, const ScriptedServer& server, const std::string& transcript) {
    const llm::ScopedVariable key("KW_LLM_KEY", kSecret);
    llm::ModelOptions options;
    options.limits.total_seconds = 20;
    options.limits.idle_seconds = 1;
    options.limits.reply_bytes = 1 << 20;
    options.retry.first_seconds = 0.01;
    options.transcript = transcript;
    KW_TRY(const auto model, llm::Model::open("openai:m@" + server.address(), options));
    return go_on(at.shared, run, judge_text, {}, {.ask = [&](const llm::Request& request) { return model->ask(request); }, .tools = {}, .price = {}});
  }
  TempDir folder_ = *TempDir::create();
  Settings settings_ = add_settings();
};

TEST_F(Faults, EachEndsAsIfNothingHadBeen) {
  std::vector<std::string> expected;
  const auto run_with = [&](const Drill* drill, size_t at_request, const std::string& name) {
    SCOPED_TRACE(name);
    ScriptedModel rule{.faults = 1, .instead = {}};
    std::vector<ScriptedServer::Scene> scenes(at_request, by_rule(rule));
    if (drill != nullptr) scenes.push_back(drill->scene);
    scenes.push_back(by_rule(rule));
    const ScriptedServer server(scenes);
    Place at(folder_ / name);
    const auto run = begin(at.shared, settings_, kAddProblem, "");
    ASSERT_TRUE(run);
    auto ending = life(at, *run, server, folder_ / name + ".jsonl");
    if (drill != nullptr && drill->resumed) {
      ASSERT_FALSE(ending);
      const std::string said = format_error(ending.error());
      EXPECT_NE(said.find(drill->says), std::string::npos) << said;
      EXPECT_EQ(said.find("0123456789abcdef"), std::string::npos) << said;
      EXPECT_EQ(at.store.run(*run)->state, store::RunState::kStopped);
      ending = life(at, *run, server, folder_ / name + ".jsonl");
    }
    ASSERT_TRUE(ending) << format_error(ending.error());
    EXPECT_EQ(ending->how, search::Ended::kBudget);
    if (drill == nullptr) expected = events_of(at, *run);
    EXPECT_EQ(events_of(at, *run), expected);
  };
  run_with(nullptr, 0, "undisturbed");
  size_t at_request = 0;   // by turns at the first question, and in the midst of a step
  for (const Drill& drill : drills()) run_with(&drill, at_request = 3 - at_request, drill.name);
  // Servers told the key in their errors: it is in no file, be it a transcript, an object or the database.
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    if (!entry.is_regular_file()) continue;
    const auto text = read_file(entry.path().string(), 64 << 20);
    ASSERT_TRUE(text);
    EXPECT_EQ(text->find("0123456789abcdef"), std::string::npos) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 100u) << "there was something to look into";
}

// A refusal is the end of that step, in whatever words, and the run goes on.
TEST_F(Faults, ARefusalEndsAStepOnly) {
  ScriptedModel rule{.faults = 0, .instead = {}};
  const ScriptedServer server({by_rule(rule), by_rule(rule), ScriptedServer::answers(200, R"({"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]})"), by_rule(rule)});
  Place at(folder_ / "refused");
  const auto run = begin(at.shared, settings_, kAddProblem, "");
  ASSERT_TRUE(run);
  const auto ending = life(at, *run, server, "");
  ASSERT_TRUE(ending) << format_error(ending.error());
  EXPECT_EQ(ending->how, search::Ended::kBudget);
  EXPECT_TRUE(best_of_run(at.shared, *run)->works);
}

}  // namespace
}  // namespace kw::agent
