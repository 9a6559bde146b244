// Runs on kernels whose times are a formula: what is found, what is recorded, and that neither a stop nor a kill changes it.
#include "agent/optimize.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "agent/report.h"
#include "agent/run_for_test.h"
#include "agent/tunables.h"
#include "base/file.h"
#include "base/rng.h"

namespace kw::agent {
namespace {

constexpr char kSource[] =
    "constexpr int kThreads = 64;  // tune: 32 64 128 256 512\n"
    "constexpr int kVector = 1;  // tune: 1 2 4 8\n"
    "constexpr bool kStaged = false;  // tune: false true\n"
    "a kernel\n";

// Best at 256, 4, true: 1 us. 512 threads with 8 elements is wrong.
Result<Evaluation> formula(const std::string& source) {
  const auto tunables = find_tunables(source, "k.cu");
  EXPECT_TRUE(tunables);
  Evaluation out;
  double away = 0;
  std::map<std::string, std::string> chosen;
  for (const Tunable& tunable : *tunables) {
    chosen[tunable.name] = tunable.values[tunable.chosen];
    away += std::abs(static_cast<double>(tunable.chosen) - (tunable.name == "kThreads" ? 3 : tunable.name == "kVector" ? 2 : 1));
  }
  out.verdict = "{\"ladder\": [{\"rung\": \"compile\", \"status\": \"passed\", \"detail\": \"nvcc | 1\"}]}";
  if (chosen["kThreads"] == "512" && chosen["kVector"] == "8") {
    out.name = "wrong";
    out.rung = "shapes";
    out.outcome.learned = "wrong at shapes";
    return out;
  }
  out.name = "correct";
  out.outcome = {.works = true, .seconds = 1e-6 * (1 + away)};
  out.times = {{"large", out.outcome.seconds}};
  out.advice.emplace_back().tool = "coalescing";
  return out;
}

class Optimize : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::create();
    ASSERT_TRUE(folder);
    folder_ = std::make_unique<TempDir>(std::move(*folder));
    settings_.problem_file = "p.problem";
    settings_.kernel_file = "k.cu";
    settings_.seed = 3;
    settings_.evaluations = 24;
  }
  std::unique_ptr<Place> place(const std::string& name) const { return std::make_unique<Place>(*folder_ / name); }
  // The whole run, told by its events and the report.
  struct Told {
    std::vector<store::EventRow> events;
    std::string report;
  };
  static Told told(Place& at, int64_t run) {
    Told out{at.store.rows(run)->events, *report(at.shared, run)};
    std::sort(out.events.begin(), out.events.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
    return out;
  }
  Told whole(const std::string& name) {
    const auto at = place(name);
    const auto run = begin(at->shared, settings_, "the problem", kSource);
    EXPECT_TRUE(run) << format_error(run.error());
    const auto found = go_on(at->shared, *run, formula);
    EXPECT_TRUE(found) << format_error(found.error());
    return told(*at, *run);
  }
  std::unique_ptr<TempDir> folder_;
  Settings settings_;
};

TEST_F(Optimize, FindsTheBestAndRecordsHow) {
  const auto at = place("store");
  const auto run = begin(at->shared, settings_, "the problem", kSource);
  ASSERT_TRUE(run) << format_error(run.error());
  int seen = 0, begun = 0;
  const auto found = go_on(at->shared, *run, formula, {.stop = {}, .evaluated = [&](const Step& step) {
                                                         EXPECT_EQ(step.what.node, static_cast<search::NodeId>(seen++));
                                                         EXPECT_FALSE(step.evaluation.name.empty());
                                                       },
                                                       .begins = [&](const search::Assignment& what) {
                                                         EXPECT_EQ(what.node, static_cast<search::NodeId>(begun++));
                                                         EXPECT_EQ(begun, seen + 1) << "before it, one at a time";
                                                         EXPECT_FALSE(what.proposal.idea.empty());
                                                       }});
  ASSERT_TRUE(found) << format_error(found.error());
  const auto best = best_of_run(at->shared, *run);
  ASSERT_TRUE(best) << format_error(best.error());
  EXPECT_DOUBLE_EQ(best->gain, 6) << "64, 1, false is five steps away";
  EXPECT_NE(best->source.find("kThreads = 256"), std::string::npos) << best->source;
  EXPECT_NE(best->source.find("kVector = 4"), std::string::npos);
  EXPECT_NE(best->source.find("kStaged = true"), std::string::npos);
  const store::Rows rows = *at->store.rows(*run);
  EXPECT_EQ(rows.nodes.size(), 25u);
  EXPECT_EQ(rows.verdicts.size(), 25u);
  EXPECT_EQ(seen, 25);
  EXPECT_EQ(begun, 25);
  EXPECT_EQ(at->store.run(*run)->state, store::RunState::kFinished);
  const std::string text = *report(at->shared, *run);
  for (const char* part : {"6.00 times as fast, by estimate: no GPU was used", "| large | 6 us | 1 us | 6.00 |", "-constexpr int kThreads = 64;", "+constexpr int kThreads = 256;",
                           "24 of 24 candidates", "| compile | passed | nvcc \\| 1 |"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_F(Optimize, ASpaceThatIsUsedUpEndsTheRun) {
  settings_.evaluations = 1000;
  const Told all = whole("store");
  EXPECT_NE(all.report.find("39 of 1000 candidates"), std::string::npos) << all.report;   // 5 x 4 x 2 and the start is one
  EXPECT_NE(all.report.find("wrong at shapes"), std::string::npos);
}

TEST_F(Optimize, IsAFunctionOfItsSettings) {
  for (const int in_flight : {1, 3}) {
    settings_.in_flight = in_flight;
    const Told once = whole(fmt::format("a{}", in_flight)), again = whole(fmt::format("b{}", in_flight));
    EXPECT_EQ(once.events, again.events);
    EXPECT_EQ(once.report, again.report);
  }
}

TEST_F(Optimize, StoppedAnywhereItComesToTheSameEnd) {
  const Told expected = whole("whole");
  for (int after = 0; after < 26; after += 4) {
    const auto at = place(fmt::format("stopped{}", after));
    const auto run = begin(at->shared, settings_, "the problem", kSource);
    ASSERT_TRUE(run);
    int seen = 0;
    const auto first = go_on(at->shared, *run, formula, {.stop = [&] { return seen > after; }, .evaluated = [&](const Step&) { ++seen; }});
    ASSERT_TRUE(first) << format_error(first.error());
    EXPECT_EQ(at->store.run(*run)->state, first->how == search::Ended::kStopped ? store::RunState::kStopped : store::RunState::kFinished);
    const auto settings = claim(at->shared, *run);
    ASSERT_TRUE(settings) << format_error(settings.error());
    EXPECT_EQ(settings_json(*settings), at->store.run(*run)->options);
    ASSERT_TRUE(go_on(at->shared, *run, formula));
    const Told end = told(*at, *run);
    EXPECT_EQ(end.events, expected.events) << after;
    EXPECT_EQ(end.report, expected.report);
  }
}

// A machine that fails in the midst of it is no verdict on a kernel.
TEST_F(Optimize, AnErrorStopsTheRunWhichThenGoesOn) {
  const Told expected = whole("whole");
  const auto at = place("store");
  const auto run = begin(at->shared, settings_, "the problem", kSource);
  ASSERT_TRUE(run);
  for (int calls = 0; const int limit : {0, 1, 5}) {
    const auto failed = go_on(at->shared, *run, [&](const std::string& source) -> Result<Evaluation> {
      if (++calls > limit) return fail(ErrorCode::kIo, "the disk is full");
      return formula(source);
    });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message, "the disk is full");
    EXPECT_EQ(at->store.run(*run)->state, store::RunState::kStopped);
    EXPECT_TRUE(report(at->shared, *run)) << "as far as it went";
  }
  ASSERT_TRUE(go_on(at->shared, *run, formula));
  EXPECT_EQ(told(*at, *run).events, expected.events);
}

TEST_F(Optimize, KilledAnywhereItComesToTheSameEnd) {
  const Told expected = whole("whole");
  int killed = 0;
  const auto slowly = [](const std::string& source) {
    ::usleep(5000);
    return formula(source);
  };
  Rng rng(11);
  for (int round = 0; round < 6; ++round) {
    const std::string name = fmt::format("killed{}", round);
    const int64_t run = begin_and_leave(*folder_ / name, settings_, "the problem", kSource);
    killed += kill_lives(*folder_ / name, run, 4, rng, 40'000, [&](Place& at) { (void)go_on(at.shared, run, slowly); });
    const auto at = place(name);
    ASSERT_TRUE(claim(at->shared, run));
    const auto found = go_on(at->shared, run, formula);
    ASSERT_TRUE(found) << format_error(found.error());
    const Told end = told(*at, run);
    EXPECT_EQ(end.events, expected.events) << round;
    EXPECT_EQ(end.report, expected.report);
  }
  EXPECT_GT(killed, 12) << "of 24";
}

TEST_F(Optimize, AStartThatIsWrongMayBeMended) {
  const std::string broken = [] {
    std::string source = kSource;
    source.replace(source.find("= 64"), 4, "= 512");
    source.replace(source.find("kVector = 1"), 11, "kVector = 8");
    return source;
  }();
  const auto at = place("store");
  const auto run = begin(at->shared, settings_, "the problem", broken);
  ASSERT_TRUE(run);
  ASSERT_TRUE(go_on(at->shared, *run, formula));
  const auto best = best_of_run(at->shared, *run);
  ASSERT_TRUE(best);
  EXPECT_TRUE(best->works);
  EXPECT_EQ(best->gain, 1) << "of what there is no ratio";
}

// Whatever stands beside what was changed: the report's parts stay apart.
TEST_F(Optimize, AKernelDoesNotEndTheReportsDiff) {
  const auto at = place("store");
  const auto run = begin(at->shared, settings_, "the problem", "`````\n# forged\n" + std::string(kSource));
  ASSERT_TRUE(run);
  ASSERT_TRUE(go_on(at->shared, *run, formula));
  const std::string text = *report(at->shared, *run);
  EXPECT_NE(text.find("\n``````diff\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n``````\n\n## What was tried"), std::string::npos) << text;
}

TEST_F(Optimize, TheBestIsJudgedAgainBesideRivals) {
  const auto at = place("store");
  const auto run = begin(at->shared, settings_, "the problem", kSource);
  ASSERT_TRUE(run);
  ASSERT_TRUE(go_on(at->shared, *run, formula));
  const auto best = best_of_run(at->shared, *run);
  int judged = 0;
  ASSERT_TRUE(judge_best_again(at->shared, *run, [&](const std::string& source) {
    ++judged;
    EXPECT_EQ(source, best->source);
    Evaluation out = *formula(source);
    out.verdict = R"({"ladder": [{"rung": "time", "status": "passed", "detail": "beside eager"}], "outcome": {}})";
    return Result<Evaluation>(out);
  }));
  EXPECT_EQ(judged, 1);
  const std::string text = *report(at->shared, *run);
  EXPECT_NE(text.find("| time | passed | beside eager |"), std::string::npos) << text;
}

TEST_F(Optimize, NothingRightIsSaid) {
  const auto at = place("store");
  const auto run = begin(at->shared, settings_, "the problem", kSource);
  ASSERT_TRUE(run);
  ASSERT_TRUE(go_on(at->shared, *run, [](const std::string&) -> Result<Evaluation> {
    Evaluation out;
    out.name = "wrong";
    out.rung = "smallest";
    return out;
  }));
  EXPECT_FALSE(best_of_run(at->shared, *run)->works);
  EXPECT_NE(report(at->shared, *run)->find("nothing that was tried is right"), std::string::npos);
}

TEST_F(Optimize, AKernelWithoutTunablesIsRefused) {
  const auto at = place("store");
  const auto run = begin(at->shared, settings_, "the problem", "constexpr int kThreads = 64;\n");
  ASSERT_FALSE(run);
  EXPECT_NE(format_error(run.error()).find("// tune:"), std::string::npos);
  EXPECT_TRUE(at->store.runs()->empty());
}

TEST_F(Optimize, AnotherKindOfRunIsNotGoneOnWith) {
  const auto at = place("store");
  store::RunRow row;
  row.kind = "port";
  row.options = "{}";
  const auto other = at->store.create_run(row);
  ASSERT_TRUE(other);
  EXPECT_FALSE(claim(at->shared, other->id));
  EXPECT_FALSE(claim(at->shared, 77));
}

TEST(Settings, AnyTextIsSettingsOrAnError) {
  Settings settings;
  settings.problem_file = "a \"p\"";
  settings.kernel_file = "k";
  settings.problem = settings.kernel = std::string(32, 'a');
  settings.seed = ~uint64_t{0};
  EXPECT_EQ(settings_json(*settings_from(settings_json(settings))), settings_json(settings)) << "without a model";
  settings.model.spec = "openai:m";
  settings.model.tokens = 1000;
  settings.model.money = 0.1;
  settings.model.price_in = settings.model.price_out = 1.0 / 3;
  settings.model.wall_seconds = 60;
  settings.model.code = false;
  const std::string json = settings_json(settings);
  const auto again = settings_from(json);
  ASSERT_TRUE(again) << format_error(again.error());
  EXPECT_EQ(settings_json(*again), json);
  EXPECT_EQ(again->model.tokens, 1000u) << "a run that goes on has the budget that it was begun with";
  EXPECT_EQ(again->model.price_out, 1.0 / 3);
  EXPECT_FALSE(again->model.code);
  Rng rng(2);
  for (int i = 0; i < 3000; ++i) {
    std::string broken = json;
    for (uint64_t n = 1 + rng.below(3); n > 0; --n) broken[rng.below(broken.size())] = static_cast<char>(rng.below(256));
    (void)settings_from(broken);
    (void)settings_from(std::string_view(json).substr(0, rng.below(json.size())));
  }
}

}  // namespace
}  // namespace kw::agent
