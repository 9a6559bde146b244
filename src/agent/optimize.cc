#include "agent/optimize.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>

#include "agent/known_evaluations.h"
#include "agent/learned.h"
#include "agent/model_space.h"
#include "agent/report.h"
#include "agent/tunables.h"

namespace kw::agent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kKind = "optimize";
// The first event of a run: what the start is worth. The search's own follow, one on.
constexpr const char* kRootEvent = "start";

// One evolving kernel: a single chain.
constexpr std::string_view kRefine = "refine";

Result<search::Strategy> strategy_named(const std::string& wanted) {
  if (wanted == kRefine) return search::Strategy::kBestOfN;
  for (const auto strategy : {search::Strategy::kMcts, search::Strategy::kGreedy, search::Strategy::kBestOfN})
    if (search::name(strategy) == wanted) return strategy;
  return fail(ErrorCode::kInvalid, "'{}' is no strategy of search", wanted);
}

// All that is known of a node, for one transaction.
void add_node(store::Rows& rows, int64_t run, const search::Evaluated& what, const Evaluation& evaluation, const std::string& verdict) {
  store::NodeRow node;
  node.run = run;
  node.index = what.node;
  if (what.node != search::kRoot) node.parent = what.parent;
  node.candidate = what.outcome.made;
  node.language = "CUDA";
  node.state = evaluation.text();
  node.note = what.proposal.idea;
  rows.nodes.push_back(std::move(node));
  const bool works = what.outcome.works;
  rows.verdicts.push_back({run, what.node, verdict, evaluation.rung, works, works ? std::optional(what.outcome.seconds) : std::nullopt});
  for (const WorkloadTime& each : evaluation.times) {
    rows.metrics.push_back({run, what.node, "time of " + each.workload, each.seconds, "s", evaluation.grade == profile::Grade::kMeasured ? "GPU" : "estimate",
                            std::string(profile::name_of(evaluation.grade))});
  }
  for (const profile::Advice& each : evaluation.advice)
    rows.advice.push_back({run, what.node, each.tool, each.saw + "; " + each.try_this, each.gain, each.line == 0 ? "" : fmt::format("{}:{}", each.file, each.line)});
}

// What a run with a model has beside the search: declared before what refers to it.
struct ModelParts {
  Learned before;
  std::unique_ptr<Exchanges> exchanges;
  std::unique_ptr<Roles> roles;
  std::unique_ptr<ModelSpace> space;
};

// The search's environment, with word to whoever watches.
class Announced final : public search::Environment {
 public:
  Announced(search::Environment& inner, const Watch& watch) : inner_(inner), watch_(watch) {}
  Result<std::vector<search::Proposal>> propose(const search::Situation& situation) override { return inner_.propose(situation); }
  Result<search::Outcome> evaluate(const search::Assignment& assignment) override {
    if (watch_.begins) watch_.begins(assignment);
    return inner_.evaluate(assignment);
  }

 private:
  search::Environment& inner_;
  const Watch& watch_;
};

class Runner {
 public:
  Runner(SharedStore& store, int64_t run, const Settings& settings, const Watch& watch, KnownEvaluations& evaluations)
      : store_(store), run_(run), settings_(settings), watch_(watch), evaluations_(evaluations), space_(store, settings.kernel_file, evaluations) {}

  Status use(const ModelAccess& access, const store::Rows& rows) {
    KW_TRY(const std::string text, object(settings_.problem));
    KW_TRY(problem::Problem problem, problem::parse_problem(text, settings_.problem_file));
    if (!settings_.model.memory.empty()) {
      KW_TRY(const std::string memory, object(settings_.model.memory));
      KW_TRY(model_.before, learned_from(memory));
    }
    model_.exchanges = std::make_unique<Exchanges>(store_, run_, settings_.model.spec, access.ask, rows.exchanges, access.price);
    model_.roles = std::make_unique<Roles>(Task{std::move(problem), settings_.target, settings_.model.max_output_tokens}, [this](const llm::Request& r) { return model_.exchanges->ask(r); }, access.tools);
    ModelTerms terms;
    terms.fixes = settings_.model.fixes;
    terms.profile_after = settings_.model.profile_after.value_or(profile_after(model_.roles->workload_class()));
    terms.feedback = feedback_named(settings_.model.feedback).value_or(Feedback::kAdvice);
    terms.measured = settings_.gpu;
    terms.mended = model_.before.mended;
    model_.space = std::make_unique<ModelSpace>(store_, space_, evaluations_, *model_.roles, std::move(terms));
    return {};
  }

  Result<Ending> run(const store::Rows& rows) {
    KW_TRY(Recorded recorded, recorded_of(settings_, rows));
    if (!recorded.root) {
      KW_TRY(recorded.root, start());
    }
    search::Options options;
    KW_TRY(options.strategy, strategy_named(settings_.strategy));
    options.seed = settings_.seed;
    options.evaluations = settings_.evaluations;
    options.in_flight = settings_.in_flight;
    if (settings_.strategy == kRefine) options.constants.chain = std::numeric_limits<uint32_t>::max();
    search::Hooks hooks;
    hooks.stop = [this] {
      beat();
      return watch_.stop && watch_.stop();
    };
    hooks.record = [this](const search::Event& event) { return record(event); };
    Announced space(model_.space ? static_cast<search::Environment&>(*model_.space) : space_, watch_);
    const Result<search::Found> found = search::run(space, *recorded.root, options, model_.before.ideas, recorded.events, hooks);
    if (!found) {
      const auto failed = model_.exchanges ? model_.exchanges->failed() : std::nullopt;
      if (failed && failed->kind == llm::FailureKind::kBudgetSpent) return Ending{search::Ended::kStopped, failed->message};
      if (failed && failed->kind == llm::FailureKind::kCancelled) return Ending{search::Ended::kStopped, ""};
      return tl::unexpected(found.error());
    }
    if (model_.space && !settings_.model.memory.empty() && found->ended != search::Ended::kStopped) {
      KW_TRY_VOID(store_.with([&](store::Store& store) { return remember(store, run_, model_.roles->workload_class(), model_.before, found->memory, model_.space->mended()); }));
    }
    return Ending{found->ended, ""};
  }

 private:
  Result<std::string> object(const std::string& hash) {
    return store_.with([&](store::Store& store) { return store.object(hash); });
  }

  Result<search::Root> start() {
    KW_TRY(const std::string source, object(settings_.kernel));
    search::Evaluated what;
    what.proposal = {settings_.kernel, "the start", 0.5};
    if (watch_.begins) watch_.begins({0, what.node, what.parent, what.proposal});
    Evaluation evaluation;
    evaluation.name = "no kernel";
    if (!source.empty()) {
      KW_TRY(evaluation, evaluations_.of(source));
    }
    what.outcome = evaluation.outcome;
    what.outcome.made = settings_.kernel;
    KW_TRY_VOID(add(what, evaluation, {run_, 0, kRootEvent, search::event_json({0, what})}));
    return search::Root{settings_.kernel, what.outcome};
  }

  Status record(const search::Event& event) {
    const store::EventRow row{run_, static_cast<int64_t>(event.step) + 1, std::string(search::kind_of(event)), search::event_json(event)};
    const auto* what = std::get_if<search::Evaluated>(&event.what);
    if (what != nullptr) {
      Evaluation evaluation;
      evaluation.name = "no kernel";   // of a step that made none
      if (!what->outcome.made.empty()) {
        KW_TRY(evaluation, evaluations_.known(what->outcome.made));
      }
      return add(*what, evaluation, row);
    }
    store::Rows rows;
    rows.events.push_back(row);
    return store_.with([&](store::Store& store) { return store.add(rows); });
  }

  Status add(const search::Evaluated& what, const Evaluation& evaluation, store::EventRow event) {
    const Status status = store_.with([&](store::Store& store) -> Status {
      store::Rows rows;
      KW_TRY(const std::string verdict, store.put(evaluation.verdict));
      add_node(rows, run_, what, evaluation, verdict);
      rows.events.push_back(std::move(event));
      return store.add(rows);
    });
    if (status && watch_.evaluated) watch_.evaluated({what, evaluation});
    return status;
  }

  void beat() {
    const auto now = Clock::now();
    if (now - last_beat_ < std::chrono::milliseconds(store::kHeartbeatMs / 2)) return;
    last_beat_ = now;
    // Missed, it is tried again: the next record says what is wrong.
    (void)store_.with([&](store::Store& store) { return store.beat(run_); });
  }

  SharedStore& store_;
  int64_t run_;
  const Settings& settings_;
  const Watch& watch_;
  KnownEvaluations& evaluations_;
  KernelSpace space_;
  ModelParts model_;
  Clock::time_point last_beat_ = Clock::now();
};

}  // namespace

Result<Recorded> recorded_of(const Settings& settings, const store::Rows& rows) {
  Recorded out;
  for (const store::EventRow& row : rows.events) {
    KW_TRY(search::Event event, search::event_from(row.json));
    if (row.kind != kRootEvent) {
      out.events.push_back(std::move(event));
      continue;
    }
    const auto* what = std::get_if<search::Evaluated>(&event.what);
    if (what == nullptr) return fail(ErrorCode::kInvalid, "the run's first event is not what its start is worth");
    out.root = search::Root{settings.kernel, what->outcome};
  }
  return out;
}

Status can_begin(const Settings& settings, const std::string& source) {
  KW_TRY_VOID(strategy_named(settings.strategy));
  if (!feedback_named(settings.model.feedback)) return fail(ErrorCode::kInvalid, "'{}' is nothing that a model is shown: advice, counters or none", settings.model.feedback);
  KW_TRY(const std::vector<Tunable> tunables, find_tunables(source, settings.kernel_file));
  if (tunables.empty() && settings.model.spec.empty()) {
    return fail(Error{ErrorCode::kNotFound, fmt::format("{} has nothing that may be changed", settings.kernel_file), {}, {},
                      {"mark constants with the values that they may take: constexpr int kThreads = 256;  // tune: 64 128 256 512", "or leave --from out, where a template fits the problem; or name a language model: --llm"}});
  }
  return {};
}

Result<int64_t> begin(SharedStore& shared, Settings settings, const std::string& problem_text, const std::string& source) {
  KW_TRY_VOID(can_begin(settings, source));
  return shared.with([&](store::Store& store) -> Result<int64_t> {
    KW_TRY(settings.problem, store.put(problem_text));
    KW_TRY(settings.kernel, store.put(source));
    if (!settings.model.spec.empty() && settings.model.remembers) {
      KW_TRY(const problem::Problem problem, problem::parse_problem(problem_text, settings.problem_file));
      KW_TRY(const Learned learned, learned_before(store, class_of(problem)));
      KW_TRY(settings.model.memory, store.put(to_json(learned)));
    }
    store::RunRow row;
    row.kind = kKind;
    row.problem = settings.problem_file;
    row.options = settings_json(settings);
    row.seed = settings.seed;
    KW_TRY(row, store.create_run(std::move(row)));
    return row.id;
  });
}

Result<Settings> settings_of(const store::RunRow& run) {
  if (run.kind != kKind) return fail(ErrorCode::kInvalid, "run {} is no optimisation: its kind is '{}'", run.id, run.kind);
  return settings_from(run.options);
}

Result<Settings> claim(SharedStore& shared, int64_t run) {
  return shared.with([&](store::Store& store) -> Result<Settings> {
    KW_TRY(const store::RunRow row, store.run(run));
    KW_TRY(Settings settings, settings_of(row));
    KW_TRY_VOID(store.claim(run));
    return settings;
  });
}

Result<Ending> go_on(SharedStore& shared, int64_t run, const Evaluate& evaluate, const Watch& watch, const ModelAccess& model) {
  KW_TRY(const Settings settings, shared.with([&](store::Store& store) -> Result<Settings> {
    KW_TRY(const store::RunRow row, store.run(run));
    KW_TRY_VOID(store.set_state(run, store::RunState::kRunning));
    return settings_from(row.options);
  }));
  KW_TRY(const store::Rows rows, shared.with([&](store::Store& store) { return store.rows(run); }));
  KnownEvaluations evaluations(shared, run, evaluate, rows.evaluations);
  Runner runner(shared, run, settings, watch, evaluations);
  Result<Ending> ending = [&]() -> Result<Ending> {
    if (!settings.model.spec.empty()) KW_TRY_VOID(runner.use(model, rows));
    return runner.run(rows);
  }();
  const bool whole = ending && ending->how != search::Ended::kStopped;
  KW_TRY_VOID(shared.with([&](store::Store& store) { return store.set_state(run, whole ? store::RunState::kFinished : store::RunState::kStopped); }));
  return ending;
}

Status judge_best_again(SharedStore& shared, int64_t run, const Evaluate& evaluate) {
  KW_TRY(const Best best, best_of_run(shared, run));
  if (!best.works) return {};
  KW_TRY(const Evaluation evaluation, evaluate(best.source));
  return shared.with([&](store::Store& store) -> Status {
    const bool works = evaluation.outcome.works;
    store::VerdictRow row{run, best.node, "", evaluation.rung, works, works ? std::optional(evaluation.outcome.seconds) : std::nullopt};
    KW_TRY(row.verdict, store.put(evaluation.verdict));
    store::Rows rows;
    rows.verdicts.push_back(std::move(row));
    return store.add(rows);
  });
}

}  // namespace kw::agent
