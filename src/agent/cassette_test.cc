// Recorded runs with a language model (tests/agent/cassettes, made by tools/cassette.py), run again: the model's replies in their order, what candidates are
// worth as it was found then. The decisions must be the same, candidate by candidate. Prompts may have changed since: what a model was asked is not compared.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "agent/optimize.h"
#include "agent/report.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json_fields.h"
#include "judge/evaluate.h"
#include "toolchain/toolchain.h"

namespace kw::agent {
namespace {

using Json = nlohmann::json;

struct Cassette {
  std::string name;
  Json json;
  std::string text(const char* member) const { return json.at(member).get<std::string>(); }
};

std::vector<Cassette> cassettes() {
  std::vector<Cassette> out;
  for (const auto& entry : std::filesystem::directory_iterator(KW_SOURCE_DIR "/tests/agent/cassettes"))
    if (entry.path().extension() == ".json") out.push_back({entry.path().stem().string(), parse_json(*read_file(entry.path().string(), 16 << 20))});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

Result<Evaluation> recorded(const Cassette& cassette, const std::string& source) {
  const Json& all = cassette.json.at("evaluations");
  const auto at = all.find(hash_hex(source));
  if (at == all.end()) return fail(ErrorCode::kNotFound, "{}: a candidate that the recorded run did not have:\n{}", cassette.name, source);
  Evaluation out;
  out.outcome.works = at->at("works");
  out.outcome.seconds = at->at("seconds");
  out.outcome.spread = at->at("spread");
  out.outcome.learned = at->at("learned");
  out.name = at->at("name");
  out.rung = at->at("rung");
  for (const Json& time : at->at("times")) out.times.push_back({time.at("workload"), time.at("seconds"), time.at("floor")});
  return out;
}

// The run again, in a store of its own.
struct Again {
  TempDir folder = *TempDir::create();
  store::Store store = *store::Store::open(folder.path());
  SharedStore shared{store};
  int64_t run = 0;
  size_t asked = 0;
  std::string failed;
};

std::unique_ptr<Again> again(const Cassette& cassette) {
  auto out = std::make_unique<Again>();
  Settings settings;
  const Json& options = cassette.json.at("options");
  settings.problem_file = cassette.text("problem");
  settings.kernel_file = options.at("kernel_file");
  settings.target = options.at("target");
  settings.strategy = options.at("strategy");
  settings.seed = options.at("seed");
  settings.evaluations = options.at("evaluations");
  settings.model.spec = "cassette";
  settings.model.fixes = cassette.json.at("fixes");
  settings.model.remembers = false;
  const auto run = begin(out->shared, settings, *read_file(std::string(KW_SOURCE_DIR "/") + settings.problem_file, 1 << 20), cassette.text("start"));
  if (!run) {
    out->failed = format_error(run.error());
    return out;
  }
  out->run = *run;
  const Json& replies = cassette.json.at("replies");
  const auto ask = [&](const llm::Request&) -> llm::Answer<llm::Reply> {
    if (out->asked == replies.size()) return llm::fail(llm::FailureKind::kReplayDiffers, "more is asked than the recorded run asked");
    llm::Reply reply;
    reply.text = replies.at(out->asked++);
    return reply;
  };
  const auto ending = go_on(out->shared, out->run, [&](const std::string& source) { return recorded(cassette, source); }, {}, {.ask = ask, .tools = {}, .price = {}});
  if (!ending) out->failed = format_error(ending.error());
  return out;
}

TEST(Cassettes, TheSameRepliesMakeTheSameDecisions) {
  const auto all = cassettes();
  EXPECT_GE(all.size(), 1u);
  for (const Cassette& cassette : all) {
    SCOPED_TRACE(cassette.name);
    const auto run = again(cassette);
    EXPECT_EQ(run->failed, "");
    EXPECT_EQ(run->asked, cassette.json.at("replies").size());
    Json nodes = Json::array();
    const store::Rows rows = *run->store.rows(run->run);
    for (const store::NodeRow& node : rows.nodes)
      nodes.push_back({{"index", node.index}, {"parent", node.parent ? Json(*node.parent) : Json()}, {"note", node.note}, {"state", node.state}, {"candidate", node.candidate}});
    EXPECT_EQ(nodes, cassette.json.at("nodes"));
  }
}

// The judge's own word on the best that a model wrote, on the emulator.
TEST(Cassettes, TheBestOfARunIsStillRight) {
  if (!toolchain::find_nvcc()) GTEST_SKIP() << "there is no nvcc";
  const std::set<std::string> quick{"cumsum", "layer_norm", "topk"};   // seconds each
  for (const Cassette& cassette : cassettes()) {
    if (!quick.contains(cassette.name)) continue;
    SCOPED_TRACE(cassette.name);
    const auto run = again(cassette);
    const auto best = best_of_run(run->shared, run->run);
    ASSERT_TRUE(best && best->works);
    const std::string path = run->folder / "best.cu";
    ASSERT_TRUE(write_file(path, best->source));
    judge::Options options;
    options.target = cassette.json.at("options").at("target");
    options.seed = 11;
    const auto problem = problem::load_problem(std::string(KW_SOURCE_DIR "/") + cassette.text("problem"));
    ASSERT_TRUE(problem);
    const auto verdict = judge::evaluate(*problem, path, options);
    ASSERT_TRUE(verdict) << format_error(verdict.error());
    EXPECT_EQ(judge::name_of(verdict->outcome), "correct");
  }
}

}  // namespace
}  // namespace kw::agent
