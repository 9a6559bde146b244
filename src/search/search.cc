#include "search/search.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <future>
#include <map>
#include <mutex>

#include "base/check.h"
#include "base/rng.h"
#include "search/objective.h"

namespace kw::search {
namespace {

constexpr int kMostInFlight = 256;

// Events of an earlier run. The steps before the first gap are followed; what comes after is asked for by
// what it answers.
class Record {
 public:
  explicit Record(const std::vector<Event>& events) {
    for (const Event& event : events) by_step_[event.step] = &event;  // of two of one step the later counts
    while (by_step_.contains(followed_)) ++followed_;
    for (auto it = by_step_.lower_bound(followed_); it != by_step_.end(); ++it)
      if (const auto* e = std::get_if<Evaluated>(&it->second->what))
        outcomes_[e->proposal.state] = it->second;
  }
  uint64_t followed() const { return followed_; }
  const Event& at(uint64_t step) const { return *by_step_.at(step); }

  const Event* answer(uint64_t step, const Choice& choice, const Tree& tree) const {
    if (step < followed_) return by_step_.at(step);
    if (choice.kind == Choice::Kind::kEvaluate) {
      const auto found = outcomes_.find(tree[choice.parent].waiting[choice.waiting].state);
      return found == outcomes_.end() ? nullptr : found->second;
    }
    const auto found = by_step_.find(step);
    if (found == by_step_.end()) return nullptr;
    const auto* proposed = std::get_if<Proposed>(&found->second->what);
    return proposed != nullptr && proposed->parent == choice.parent ? found->second : nullptr;
  }

 private:
  std::map<uint64_t, const Event*> by_step_;
  std::map<std::string, const Event*> outcomes_;
  uint64_t followed_ = 0;
};

// The choice that an event was the result of, or none when it is not possible in this tree.
std::optional<Choice> choice_of(const Event& event, const Tree& tree) {
  if (const auto* proposed = std::get_if<Proposed>(&event.what)) {
    if (proposed->parent >= tree.size() || tree[proposed->parent].asking) return std::nullopt;
    if (!tree.has_room(proposed->parent) || !tree[proposed->parent].waiting.empty()) return std::nullopt;
    return Choice{Choice::Kind::kAsk, proposed->parent, 0};
  }
  const auto& evaluated = std::get<Evaluated>(event.what);
  if (evaluated.parent >= tree.size() || evaluated.node != tree.size() || !tree.has_room(evaluated.parent))
    return std::nullopt;
  const std::vector<Proposal>& waiting = tree[evaluated.parent].waiting;
  const auto found = std::find(waiting.begin(), waiting.end(), evaluated.proposal);
  if (found == waiting.end()) return std::nullopt;
  return Choice{Choice::Kind::kEvaluate, evaluated.parent, static_cast<size_t>(found - waiting.begin())};
}

class Run {
 public:
  Run(Environment& environment, const Root& root, const Options& options, Memory memory,
      const std::vector<Event>& before, const Hooks& hooks)
      : environment_(environment),
        options_(options),
        hooks_(hooks),
        record_(before),
        found_{Tree(root), std::move(memory)} {
    options_.in_flight = std::clamp(options_.in_flight, 1, kMostInFlight);
    options_.proposals = std::max(options_.proposals, 1);
  }

  Result<Found> operator()() {
    while (true) {
      while (in_flight_.size() >= static_cast<size_t>(options_.in_flight)) KW_TRY_VOID(settle_oldest());
      KW_TRY(const std::optional<Choice> choice, next_choice());
      if (!choice) break;
      launch(*choice);
    }
    while (!in_flight_.empty()) KW_TRY_VOID(settle_oldest());
    found_.best = found_.tree.best();
    return std::move(found_);
  }

 private:
  // None when the search ends here.
  Result<std::optional<Choice>> next_choice() {
    while (true) {
      Choice choice;
      if (step_ < record_.followed()) {
        const auto recorded = choice_of(record_.at(step_), found_.tree);
        choice = recorded.value_or(Choice{Choice::Kind::kWait});
        if (!recorded && in_flight_.empty()) return not_of_this_search();
      } else {
        if (found_.evaluations >= options_.evaluations) return end(Ended::kBudget);
        if (hooks_.stop && hooks_.stop()) return end(Ended::kStopped);
        choice = choose(found_.tree, found_.memory, options_, step_);
      }
      if (choice.kind == Choice::Kind::kExhausted) return end(Ended::kExhausted);
      if (choice.kind != Choice::Kind::kWait) return choice;
      KW_CHECK(!in_flight_.empty());
      KW_TRY_VOID(settle_oldest());
    }
  }

  std::optional<Choice> end(Ended how) {
    found_.ended = how;
    return std::nullopt;
  }

  tl::unexpected<Error> not_of_this_search() const {
    return fail(
        Error{ErrorCode::kInvalid,
              fmt::format("step {} of the recorded search cannot follow from the steps before it", step_),
              {},
              {},
              {"its events are of another search, or some were changed or lost: start a new search"}});
  }

  void launch(const Choice& choice) {
    const Event* answer = record_.answer(step_, choice, found_.tree);
    if (choice.kind == Choice::Kind::kAsk) {
      ++found_.asks;
      Situation situation = situation_at(choice.parent);
      found_.tree.issue(choice);
      if (answer != nullptr) return answered(*answer, *answer);
      start([this, s = std::move(situation)]() -> Result<Event> {
        KW_TRY(std::vector<Proposal> proposals, environment_.propose(s));
        return recorded({s.step, Proposed{s.parent, std::move(proposals)}});
      });
    } else {
      ++found_.evaluations;
      const NodeId node = found_.tree.issue(choice);
      const Assignment a{step_, node, choice.parent, found_.tree[node].proposal};
      if (answer != nullptr)
        return answered(*answer, {a.step, Evaluated{a.node, a.parent, a.proposal,
                                                    std::get<Evaluated>(answer->what).outcome}});
      start([this, a]() -> Result<Event> {
        KW_TRY(Outcome outcome, environment_.evaluate(a));
        return recorded({a.step, Evaluated{a.node, a.parent, a.proposal, std::move(outcome)}});
      });
    }
  }

  // `now` is what the answer says about this step: the same, unless the outcome is that of another step.
  void answered(const Event& answer, const Event& now) {
    ++step_;
    in_flight_.push_back(
        std::async(std::launch::deferred, [this, now, known = now == answer]() -> Result<Event> {
          if (known) return now;
          return recorded(now);
        }));
  }

  template <typename Task>
  void start(Task task) {
    ++step_;
    // Both: where the machine has no thread to give, this one does it when its turn comes.
    const auto how =
        options_.in_flight > 1 ? std::launch::async | std::launch::deferred : std::launch::deferred;
    in_flight_.push_back(std::async(how, std::move(task)));
  }

  Result<Event> recorded(Event event) {
    const std::lock_guard lock(recording_);
    if (hooks_.record) KW_TRY_VOID(hooks_.record(event));
    return event;
  }

  Status settle_oldest() {
    auto oldest = std::move(in_flight_.front());
    in_flight_.pop_front();
    KW_TRY(const Event event, oldest.get());
    if (const auto* proposed = std::get_if<Proposed>(&event.what)) {
      found_.tree.settle(*proposed, static_cast<size_t>(options_.proposals));
      return {};
    }
    const auto& evaluated = std::get<Evaluated>(event.what);
    found_.tree.settle(evaluated);
    learn(evaluated);
    return {};
  }

  void learn(const Evaluated& e) {
    const Outcome& parent = *found_.tree[e.parent].outcome;
    const bool works = usable(e.outcome);
    // Where there was nothing, whatever works is a gain; how much of one cannot be said.
    const bool faster = works && (!usable(parent) ||
                                  (e.outcome.seconds < parent.seconds && !equally_fast(e.outcome, parent)));
    const double gain = faster && usable(parent) ? std::log(parent.seconds) - std::log(e.outcome.seconds) : 0;
    remember(found_.memory, e.proposal.idea,
             faster  ? Trial::kFaster
             : works ? Trial::kSlower
                     : Trial::kFailed,
             gain, e.outcome.learned);
  }

  Situation situation_at(NodeId parent) const {
    Situation out;
    out.step = step_;
    out.parent = parent;
    out.count = options_.proposals;
    out.seed = Rng(options_.seed).fork("ask").at(step_);
    for (NodeId at = parent;; at = found_.tree[at].parent) {
      out.path.push_back(tried(at));
      if (at == kRoot) break;
    }
    std::reverse(out.path.begin(), out.path.end());
    for (const NodeId child : found_.tree[parent].children) out.children.push_back(tried(child));
    out.waiting = found_.tree[parent].waiting;
    out.memory = found_.memory;
    return out;
  }

  Tried tried(NodeId id) const { return {id, found_.tree[id].proposal, found_.tree[id].outcome}; }

  Environment& environment_;
  Options options_;
  const Hooks& hooks_;
  Record record_;
  Found found_;
  uint64_t step_ = 0;
  std::mutex recording_;
  std::deque<std::future<Result<Event>>> in_flight_;  // last: ends before what its tasks use
};

}  // namespace

Result<Found> run(Environment& environment, const Root& root, const Options& options, Memory memory,
                  const std::vector<Event>& before, const Hooks& hooks) {
  return Run(environment, root, options, std::move(memory), before, hooks)();
}

}  // namespace kw::search
