// Runs led by a model that answers by a rule: what is asked, what becomes of the answers, what is recorded, and that neither a failure, a stop nor a kill
// changes where a run ends.
#include "agent/model_space.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "agent/learned.h"
#include "agent/report.h"
#include "agent/run_for_test.h"
#include "agent/scripted_model_for_test.h"
#include "base/file.h"
#include "base/rng.h"
#include "llm/model.h"
#include "llm/transcript.h"

namespace kw::agent {
namespace {

class ModelRun : public testing::Test {
 protected:
  ModelRun() {
    settings_.evaluations = 8;
    settings_.strategy = "refine";
  }
  std::unique_ptr<Place> place(const std::string& name) const { return std::make_unique<Place>(folder_ / name); }
  int64_t start(Place& at, const std::string& source = "") {
    const auto run = begin(at.shared, settings_, kAddProblem, source);
    EXPECT_TRUE(run) << format_error(run.error());
    return run ? *run : 0;
  }
  // What a run is, without how long its exchanges took.
  struct Told {
    std::vector<std::string> events;
    std::string report;
    bool operator==(const Told&) const = default;
  };
  static Told told(Place& at, int64_t run) {
    Told out;
    out.events = events_of(at, run);
    out.report = *report(at.shared, run);
    return out;
  }
  Result<Ending> go(Place& at, int64_t run, ScriptedModel& model, const Watch& watch = {}) {
    return go_on(at.shared, run, judge_text, watch, {.ask = [&](const llm::Request& request) { return model(request); }, .tools = {}, .price = {}});
  }
  Told whole(const std::string& name, int faults) {
    const auto at = place(name);
    const int64_t run = start(*at);
    ScriptedModel model{.faults = faults, .instead = {}};
    const auto ending = go(*at, run, model);
    EXPECT_TRUE(ending) << format_error(ending.error());
    return told(*at, run);
  }
  TempDir folder_ = *TempDir::create();
  Settings settings_ = add_settings();
};

TEST_F(ModelRun, FromNothingToAFastKernel) {
  const auto at = place("store");
  const int64_t run = start(*at);
  ScriptedModel model{.faults = 2, .instead = {}};
  const auto ending = go(*at, run, model);
  ASSERT_TRUE(ending) << format_error(ending.error());
  EXPECT_EQ(ending->how, search::Ended::kBudget);
  const auto best = best_of_run(at->shared, run);
  ASSERT_TRUE(best);
  EXPECT_TRUE(best->works);
  EXPECT_NE(best->source.find("faults 0"), std::string::npos) << best->source;
  EXPECT_GE(number_after(best->source, "level "), 3) << best->source;
  const store::Rows rows = *at->store.rows(run);
  EXPECT_EQ(rows.exchanges.size(), static_cast<size_t>(model.asked)) << "each is in the store";
  EXPECT_EQ(rows.exchanges[0].tokens_in, 100);
  EXPECT_EQ(rows.nodes.size(), 9u);
  EXPECT_GT(rows.evaluations.size(), rows.nodes.size()) << "also the kernels that were mended";
  const std::string events = rows.events.back().json;
  EXPECT_NE(told(*at, run).report.find("level "), std::string::npos);
  EXPECT_TRUE(std::any_of(rows.events.begin(), rows.events.end(), [](const auto& e) { return e.json.find("right after 2 repairs") != std::string::npos; }));
}

TEST_F(ModelRun, MoreFaultsThanRepairsIsADeadEndAndNoEndOfTheRun) {
  const auto at = place("store");
  settings_.evaluations = 3;
  const int64_t run = start(*at);
  ScriptedModel model{.faults = 7, .instead = {}};
  const auto ending = go(*at, run, model);
  ASSERT_TRUE(ending) << format_error(ending.error());
  EXPECT_FALSE(best_of_run(at->shared, run)->works);
  const store::Rows rows = *at->store.rows(run);
  const auto repairs = std::count_if(rows.events.begin(), rows.events.end(), [](const auto& e) { return e.json.find("compile-error at compile: identifier '…' is undefined") != std::string::npos; });
  EXPECT_GE(repairs, 1) << rows.events.back().json;
}

// What it is shown: the profile only once the structure has been changed as often as the class of work asks for.
TEST_F(ModelRun, TheProfileIsWithheldAtFirst) {
  for (const auto& [feedback, words] : {std::pair{"advice", "use more bytes in flight"}, {"counters", "counter = 7"}, {"none", "nothing of the kind"}}) {
    settings_.model.feedback = feedback;
    settings_.model.profile_after = 2;
    const auto at = place(feedback);
    const int64_t run = start(*at);
    std::mutex mutex;
    std::map<int, bool> shown;   // by level
    ScriptedModel model{.faults = 0, .instead = [&](const std::string& role, const std::string& question) {
                          const std::lock_guard lock(mutex);
                          if (role != "planner") return std::string();
                          shown[number_after(question, "| level ")] = question.find(words) != std::string::npos;
                          EXPECT_NE(question.find("| large | "), std::string::npos) << "times are shown always";
                          return std::string();
                        }};
    ASSERT_TRUE(go(*at, run, model));
    ASSERT_TRUE(shown.contains(0) && shown.contains(3));
    EXPECT_FALSE(shown[0]) << "the first kernel is the first change";
    EXPECT_EQ(shown[3], std::string(feedback) != "none") << feedback;
  }
}

TEST_F(ModelRun, AnswersThatCannotBeReadAreAskedForAgain) {
  const auto at = place("store");
  const int64_t run = start(*at);
  int again = 0;
  std::string said;
  ScriptedModel model{.faults = 0, .instead = [&](const std::string& role, const std::string& question) -> std::string {
                        if (question.find("could not be used") != std::string::npos) {
                          said = question;
                          return "";
                        }
                        if (role == "planner" && ++again % 2 == 1) return "I would raise the level.";
                        if (role == "coder") return "```json\n{\"revision\": \"00000000\", \"edits\": [{\"action\": \"delete\", \"line\": 1}]}\n```";
                        return "";
                      }};
  const auto ending = go(*at, run, model);
  ASSERT_TRUE(ending) << format_error(ending.error());
  EXPECT_GE(number_after(best_of_run(at->shared, run)->source, "level "), 1);
  EXPECT_NE(said.find("the edits are for revision 00000000"), std::string::npos) << said;
}

TEST_F(ModelRun, NoAnswerThatCanBeReadIsNoKernel) {
  const auto at = place("store");
  settings_.evaluations = 2;
  const int64_t run = start(*at, kernel_text(0, 0));
  ScriptedModel model{.faults = 0, .instead = [&](const std::string& role, const std::string&) { return std::string(role == "coder" ? "I'd rather not." : ""); }};
  settings_.strategy = "greedy";
  ASSERT_TRUE(go(*at, run, model));
  const std::string text = told(*at, run).report;
  EXPECT_NE(text.find("no kernel"), std::string::npos) << text;
}

TEST_F(ModelRun, ARefusalEndsAStepOnly) {
  const auto at = place("store");
  const int64_t run = start(*at);
  ScriptedModel rule;
  int refused = 0;
  const auto ending = go_on(at->shared, run, judge_text, {}, {.ask = [&](const llm::Request& request) -> llm::Answer<llm::Reply> {
                              if (ScriptedModel::role_of(request.messages[1].text) == "coder" && ++refused == 1) return llm::fail(llm::FailureKind::kRefused, "not this");
                              return rule(request);
                            }, .tools = {}, .price = {}});
  ASSERT_TRUE(ending) << format_error(ending.error());
  EXPECT_TRUE(best_of_run(at->shared, run)->works);
  EXPECT_GT(refused, 1);
}

// Whatever fails, whenever: the run is stopped, and goes on to the end that it would have had; no question is asked twice.
TEST_F(ModelRun, AFailureAnywhereLosesTheCallInFlightAlone) {
  const Told expected = whole("whole", 1);
  for (const auto kind : {llm::FailureKind::kWrongKey, llm::FailureKind::kCutStream, llm::FailureKind::kBudgetSpent, llm::FailureKind::kCancelled, llm::FailureKind::kMalformedAnswer}) {
    const auto at = place(std::string(llm::name_of(kind)));
    const int64_t run = start(*at);
    ScriptedModel model{.faults = 1, .instead = {}};
    int failures = 0;
    for (int life = 0; life < 200; ++life) {
      int left = 2;   // answers, then a failure
      const auto ending = go_on(at->shared, run, judge_text, {}, {.ask = [&](const llm::Request& request) -> llm::Answer<llm::Reply> {
                                  if (left-- == 0) return llm::fail(kind, "out of order", "wait");
                                  return model(request);
                                }, .tools = {}, .price = {}});
      const bool clean = kind == llm::FailureKind::kBudgetSpent || kind == llm::FailureKind::kCancelled;
      if (ending && ending->how != search::Ended::kStopped) break;
      ++failures;
      EXPECT_EQ(ending.has_value(), clean);
      EXPECT_TRUE(ending || ending.error().message == "out of order");
      EXPECT_EQ(at->store.run(run)->state, store::RunState::kStopped);
    }
    EXPECT_GT(failures, 5);
    EXPECT_EQ(told(*at, run), expected);
    EXPECT_EQ(at->store.rows(run)->exchanges.size(), static_cast<size_t>(model.asked));
  }
}

TEST_F(ModelRun, KilledAnywhereItComesToTheSameEnd) {
  const Told expected = whole("whole", 1);
  Rng rng(17);
  int killed = 0;
  for (int round = 0; round < 10; ++round) {
    const std::string name = fmt::format("killed{}", round);
    const int64_t run = begin_and_leave(folder_ / name, settings_, kAddProblem, "");
    killed += kill_lives(folder_ / name, run, 20, rng, 60'000, [&](Place& at) {
      ScriptedModel model{.faults = 1, .instead = [](const std::string&, const std::string&) {
                            ::usleep(5000);
                            return std::string();
                          }};
      (void)go(at, run, model);
    });
    const auto at = place(name);
    ASSERT_TRUE(claim(at->shared, run));
    ScriptedModel model{.faults = 1, .instead = {}};
    const auto ending = go(*at, run, model);
    ASSERT_TRUE(ending) << format_error(ending.error());
    EXPECT_EQ(told(*at, run), expected) << round;
  }
  EXPECT_GT(killed, 50);
}

// A transcript gives the run again: the same decisions, without the model, also where several questions are asked at once.
TEST_F(ModelRun, ATranscriptGivesTheSameRun) {
  for (const int in_flight : {1, 3}) {
    settings_.in_flight = in_flight;
    settings_.strategy = "mcts";
    settings_.evaluations = 12;
    const std::string transcript = folder_ / fmt::format("t{}.jsonl", in_flight);
    const auto first = place(fmt::format("first{}", in_flight));
    const int64_t run = start(*first);
    ScriptedModel rule{.faults = 1, .instead = {}};
    auto file = llm::Transcript::open(transcript);
    ASSERT_TRUE(file);
    std::mutex mutex;
    ASSERT_TRUE(go_on(first->shared, run, judge_text, {}, {.ask = [&](const llm::Request& request) {
                        const auto reply = rule(request);
                        const std::lock_guard lock(mutex);
                        EXPECT_TRUE(file->append({llm::to_json(request), *reply, "scripted", 1, 0}, {}));
                        return reply;
                      }, .tools = {}, .price = {}}));
    auto replay = llm::Model::open("replay:" + transcript, {});
    ASSERT_TRUE(replay) << format_error(replay.error());
    const auto second = place(fmt::format("second{}", in_flight));
    const int64_t again = start(*second);
    const auto ending = go_on(second->shared, again, judge_text, {}, {.ask = [&](const llm::Request& request) { return (*replay)->ask(request); }, .tools = {}, .price = {}});
    ASSERT_TRUE(ending) << format_error(ending.error());
    EXPECT_EQ(told(*second, again), told(*first, run));
  }
}

TEST_F(ModelRun, WhatOneRunLearnsTheNextIsTold) {
  settings_.model.remembers = true;
  const auto at = place("store");
  ScriptedModel model{.faults = 1, .instead = {}};
  const int64_t first = start(*at);
  // Gone on with after its end, to have its report again, say, it teaches nothing twice.
  for (int life = 0; life < 3; ++life) ASSERT_TRUE(go(*at, first, model));
  std::string planner, debugger;
  ScriptedModel second{.faults = 1, .instead = [&](const std::string& role, const std::string& question) {
                         if (role == "planner" && planner.empty()) planner = question;
                         if (role == "debugger" && debugger.empty()) debugger = question;
                         return std::string();
                       }};
  ASSERT_TRUE(go(*at, start(*at), second));
  EXPECT_NE(planner.find("- level 2: tried 1, right 1, faster 1, then by 100 % on average"), std::string::npos) << planner;
  EXPECT_NE(debugger.find("Take one away in line 3."), std::string::npos) << debugger;
  settings_.model.remembers = false;
  std::string without;
  ScriptedModel third{.faults = 1, .instead = [&](const std::string& role, const std::string& question) {
                        if (role == "planner" && without.empty()) without = question;
                        return std::string();
                      }};
  ASSERT_TRUE(go(*at, start(*at), third));
  EXPECT_EQ(without.find("tried 1, right 1"), std::string::npos);
}

TEST_F(ModelRun, WhatTheReviewerSaysIsKeptAndDecidesNothing) {
  const auto at = place("store");
  const int64_t run = start(*at);
  ScriptedModel model{.faults = 0, .instead = [](const std::string& role, const std::string&) {
                        return std::string(role == "reviewer" ? "```json\n{\"cheats\": \"skips the tail\", \"needless\": \"line 7\"}\n```" : "");
                      }};
  ASSERT_TRUE(go(*at, run, model));
  EXPECT_GE(number_after(best_of_run(at->shared, run)->source, "level "), 3);
  const store::Rows rows = *at->store.rows(run);
  EXPECT_TRUE(std::any_of(rows.events.begin(), rows.events.end(), [](const auto& e) { return e.json.find("the reviewer suspects: skips the tail; needless, says the reviewer: line 7") != std::string::npos; }));
}

TEST(LearnedJson, AnyTextIsLearnedOrAnError) {
  Learned learned;
  learned.ideas["wider"] = {3, 2, 1, 0.5, {"a"}};
  learned.mended["compile-error at compile: '…'"] = "declare it";
  const std::string json = to_json(learned);
  const auto back = learned_from(json);
  ASSERT_TRUE(back) << format_error(back.error());
  EXPECT_EQ(to_json(*back), json);
  Rng rng(3);
  for (int i = 0; i < 3000; ++i) {
    std::string broken = json;
    broken[rng.below(broken.size())] = static_cast<char>(rng.below(256));
    (void)learned_from(broken);
    (void)evaluation_from(broken);
  }
}

TEST(EvaluationJson, ComesBackWhole) {
  Evaluation evaluation = *judge_text(kernel_text(1, 0));
  evaluation.advice.push_back({"coalescing", "k", "k.cu", 7, "saw", "try", 1.5, true});
  evaluation.outcome.spread = 0.25;
  evaluation.grade = profile::Grade::kMeasured;
  const auto back = evaluation_from(to_json(evaluation));
  ASSERT_TRUE(back) << format_error(back.error());
  EXPECT_EQ(to_json(*back), to_json(evaluation));
  EXPECT_EQ(back->outcome, evaluation.outcome);
  EXPECT_EQ(back->advice.at(0).line, 7u);
  EXPECT_EQ(back->times.at(0).floor_seconds, 1e-6);
}

}  // namespace
}  // namespace kw::agent
