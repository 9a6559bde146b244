#include "agent/optimize.h"

#include <algorithm>
#include <chrono>

#include "agent/tunables.h"

namespace kw::agent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kKind = "optimize";
// The first event of a run: what the start is worth. The search's own follow, one on.
constexpr const char* kRootEvent = "start";

Result<search::Strategy> strategy_named(const std::string& wanted) {
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
  node.candidate = what.proposal.state;
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

class Runner {
 public:
  Runner(SharedStore& store, int64_t run, const Settings& settings, const Evaluate& evaluate, const Watch& watch)
      : store_(store), run_(run), settings_(settings), watch_(watch), evaluate_(evaluate), space_(store, settings.kernel_file, evaluate) {}

  Result<search::Found> run() {
    KW_TRY(const store::Rows rows, store_.with([&](store::Store& store) { return store.rows(run_); }));
    KW_TRY(Recorded recorded, recorded_of(settings_, rows));
    if (!recorded.root) {
      KW_TRY(recorded.root, start());
    }
    search::Options options;
    KW_TRY(options.strategy, strategy_named(settings_.strategy));
    options.seed = settings_.seed;
    options.evaluations = settings_.evaluations;
    options.in_flight = settings_.in_flight;
    search::Hooks hooks;
    hooks.stop = [this] {
      beat();
      return watch_.stop && watch_.stop();
    };
    hooks.record = [this](const search::Event& event) { return record(event); };
    return search::run(space_, *recorded.root, options, {}, recorded.events, hooks);
  }

 private:
  Result<search::Root> start() {
    KW_TRY(const std::string source, store_.with([&](store::Store& store) { return store.object(settings_.kernel); }));
    KW_TRY(const Evaluation evaluation, evaluate_(source));
    search::Evaluated what;
    what.proposal = {settings_.kernel, "the start", 0.5};
    what.outcome = evaluation.outcome;
    KW_TRY_VOID(add(what, evaluation, {run_, 0, kRootEvent, search::event_json({0, what})}));
    return search::Root{settings_.kernel, evaluation.outcome};
  }

  Status record(const search::Event& event) {
    const store::EventRow row{run_, static_cast<int64_t>(event.step) + 1, std::string(search::kind_of(event)), search::event_json(event)};
    const auto* what = std::get_if<search::Evaluated>(&event.what);
    if (what != nullptr) return add(*what, space_.take(what->node), row);
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
  const Evaluate& evaluate_;
  KernelSpace space_;
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
  KW_TRY(const std::vector<Tunable> tunables, find_tunables(source, settings.kernel_file));
  if (tunables.empty()) {
    return fail(Error{ErrorCode::kNotFound, fmt::format("{} has nothing that may be changed", settings.kernel_file), {}, {},
                      {"mark constants with the values that they may take: constexpr int kThreads = 256;  // tune: 64 128 256 512"}});
  }
  return {};
}

Result<int64_t> begin(SharedStore& shared, Settings settings, const std::string& problem_text, const std::string& source) {
  KW_TRY_VOID(can_begin(settings, source));
  return shared.with([&](store::Store& store) -> Result<int64_t> {
    KW_TRY(settings.problem, store.put(problem_text));
    KW_TRY(settings.kernel, store.put(source));
    store::RunRow row;
    row.kind = kKind;
    row.problem = settings.problem_file;
    row.options = settings_json(settings);
    row.seed = settings.seed;
    KW_TRY(row, store.create_run(std::move(row)));
    return row.id;
  });
}

Result<Settings> claim(SharedStore& shared, int64_t run) {
  return shared.with([&](store::Store& store) -> Result<Settings> {
    KW_TRY(const store::RunRow row, store.run(run));
    if (row.kind != kKind) return fail(ErrorCode::kInvalid, "run {} is no optimisation: its kind is '{}'", run, row.kind);
    KW_TRY(Settings settings, settings_from(row.options));
    KW_TRY_VOID(store.claim(run));
    return settings;
  });
}

Result<search::Found> go_on(SharedStore& shared, int64_t run, const Evaluate& evaluate, const Watch& watch) {
  KW_TRY(const Settings settings, shared.with([&](store::Store& store) -> Result<Settings> {
    KW_TRY(const store::RunRow row, store.run(run));
    KW_TRY_VOID(store.set_state(run, store::RunState::kRunning));
    return settings_from(row.options);
  }));
  Result<search::Found> found = Runner(shared, run, settings, evaluate, watch).run();
  const bool whole = found && found->ended != search::Ended::kStopped;
  KW_TRY_VOID(shared.with([&](store::Store& store) { return store.set_state(run, whole ? store::RunState::kFinished : store::RunState::kStopped); }));
  return found;
}

}  // namespace kw::agent
