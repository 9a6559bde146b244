#include "agent/model_space.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "agent/fence.h"
#include "agent/known_evaluations.h"
#include "agent/line_diff.h"
#include "agent/report_data.h"
#include "base/hash.h"
#include "base/json_fields.h"

namespace kw::agent {
namespace {

constexpr size_t kMostTried = 40, kMostRemembered = 20, kMostWords = 1000;

std::string line_of(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > kMostWords) text = text.substr(0, kMostWords) + " …";
  return text;
}

bool is_idea(const search::Tried& tried) { return !is_hash(tried.proposal.state); }

std::string result_of(const search::Tried& tried, const search::Outcome* before) {
  if (!tried.outcome) return "is being tried";
  const search::Outcome& outcome = *tried.outcome;
  std::string out = outcome.works ? duration_text(outcome.seconds) : "not right";
  if (outcome.works && before != nullptr && before->works && before->seconds > 0) out += fmt::format(", {:.3f} times as fast as before it", before->seconds / outcome.seconds);
  if (!outcome.learned.empty()) out += "; " + line_of(outcome.learned);
  return out;
}

// One line for each change on the way here and from here.
std::string tried_text(const search::Situation& situation) {
  std::vector<std::string> lines;
  for (size_t i = 1; i < situation.path.size(); ++i)
    lines.push_back(fmt::format("on the way here: {}: {}", line_of(situation.path[i].proposal.idea), result_of(situation.path[i], situation.path[i - 1].outcome ? &*situation.path[i - 1].outcome : nullptr)));
  const search::Outcome* here = situation.path.back().outcome ? &*situation.path.back().outcome : nullptr;
  for (const search::Tried& each : situation.children) lines.push_back(fmt::format("from here: {}: {}", line_of(each.proposal.idea), result_of(each, here)));
  for (const search::Proposal& each : situation.waiting) lines.push_back(fmt::format("proposed, and not tried yet: {}", line_of(each.idea)));
  if (lines.size() > kMostTried) lines.erase(lines.begin(), lines.end() - kMostTried);
  std::string out;
  for (const std::string& line : lines) out += "- " + line + "\n";
  return out.empty() ? "" : fenced(out, "text");
}

std::string remembered_text(const search::Situation& situation) {
  std::vector<std::pair<std::string, const search::Experience*>> entries;
  const auto here = [&](const std::string& idea) {
    const auto is = [&](const search::Tried& tried) { return tried.proposal.idea == idea; };
    return std::any_of(situation.path.begin(), situation.path.end(), is) || std::any_of(situation.children.begin(), situation.children.end(), is);
  };
  for (const auto& [idea, experience] : situation.memory)
    if (!here(idea)) entries.emplace_back(idea, &experience);
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.second->tried > b.second->tried; });
  if (entries.size() > kMostRemembered) entries.resize(kMostRemembered);
  std::string out;
  for (const auto& [idea, e] : entries) {
    out += fmt::format("- {}: tried {}, right {}, faster {}", line_of(idea), e->tried, e->worked, e->faster);
    if (e->gain > 0) out += fmt::format(", then by {:.0f} % on average", 100 * (std::exp(e->gain / static_cast<double>(e->faster)) - 1));
    out += "\n";
  }
  return out.empty() ? "" : fenced(out, "text");
}

std::string times_table(const Evaluation& evaluation, bool measured) {
  if (evaluation.times.empty()) return "";
  std::string out = fmt::format("Times of the kernel, {}; the floor is what moving the problem's bytes once, or its operations, take at the machine's peak. Streams reach nine tenths of "
                                "DRAM's peak, so 1.1 times a floor of bytes is as good as done:\n\n", measured ? "measured" : "by estimate");
  out += "| workload | time | floor | time / floor |\n|---|---|---|---|\n";
  for (const WorkloadTime& each : evaluation.times)
    out += fmt::format("| {} | {} | {} | {} |\n", each.workload, duration_text(each.seconds), each.floor_seconds > 0 ? duration_text(each.floor_seconds) : "", each.floor_seconds > 0 ? fmt::format("{:.2f}", each.seconds / each.floor_seconds) : "");
  return out;
}

}  // namespace

std::optional<Feedback> feedback_named(std::string_view name) {
  for (const auto& [each, value] : {std::pair{"advice", Feedback::kAdvice}, {"counters", Feedback::kCounters}, {"none", Feedback::kNone}})
    if (name == each) return value;
  return std::nullopt;
}

std::string ModelSpace::state_of(const Step& step) {
  return nlohmann::json{{"kernel", step.kernel}, {"idea", step.idea.idea}, {"how", step.idea.how}, {"depth", step.depth}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<ModelSpace::Step> ModelSpace::step_from(const std::string& state) {
  const nlohmann::json json = parse_json(state);
  JsonFields fields;
  Step out;
  out.kernel = fields.hash(json, "kernel");
  out.idea.idea = fields.words(json, "idea");
  out.idea.how = fields.words(json, "how");
  out.depth = fields.number<int>(json, "depth", 0);
  KW_TRY_VOID(fields.complaint("the state of a search", "the store"));
  return out;
}

Result<Subject> ModelSpace::subject_of(const std::string& source, int depth) {
  Subject out;
  out.source = source;
  if (source.empty()) return out;
  KW_TRY(const Evaluation evaluation, evaluations_.of(source));
  out.verdict = evaluation.page;
  out.times = times_table(evaluation, terms_.measured);
  if (depth >= terms_.profile_after && terms_.feedback == Feedback::kAdvice) out.profile = evaluation.profile;
  if (depth >= terms_.profile_after && terms_.feedback == Feedback::kCounters) out.profile = evaluation.counters;
  return out;
}

Result<std::vector<search::Proposal>> ModelSpace::propose(const search::Situation& situation) {
  const std::string& kernel = made_of(situation.path.back());
  KW_TRY(const std::string source, source_of(kernel));
  const int depth = static_cast<int>(std::count_if(situation.path.begin(), situation.path.end(), is_idea));
  std::vector<search::Proposal> out;
  if (source.empty()) {
    std::string how;
    for (const search::Tried& each : situation.children) how += fmt::format("An attempt before: {}. ", result_of(each, nullptr));
    if (!how.empty()) how += "Write another kernel, of a simpler structure.";
    out.push_back({state_of({kernel, {"a first kernel", how, 0.5}, depth}), "a first kernel", 0.5});
    return out;
  }
  // Half of the places are the tunables', which cost no tokens; what they do not use is the model's.
  search::Situation half = situation;
  half.count = situation.count / 2;
  KW_TRY(std::vector<search::Proposal> values, tunables_.propose(half));
  KW_TRY(const Subject subject, subject_of(source, depth));
  KW_TRY(const std::vector<Idea> ideas, roles_.plan(subject, tried_text(situation), remembered_text(situation), situation.count - static_cast<int>(values.size())));
  for (const Idea& idea : ideas) out.push_back({state_of({kernel, idea, depth}), line_of(idea.idea), idea.priority});
  out.insert(out.end(), std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
  return out;
}

Result<search::Outcome> ModelSpace::evaluate(const search::Assignment& assignment) {
  if (is_hash(assignment.proposal.state)) return tunables_.evaluate(assignment);
  KW_TRY(const Step step, step_from(assignment.proposal.state));
  KW_TRY(const std::string parent, source_of(step.kernel));
  return refine(step, parent);
}

Result<search::Outcome> ModelSpace::refine(const Step& step, const std::string& parent) {
  KW_TRY(const Subject subject, subject_of(parent, step.depth));
  KW_TRY(Roles::Written written, roles_.code(subject, step.idea));
  std::vector<Repair> attempts;
  std::string fault;   // of the attempt before
  search::Outcome none;
  while (true) {
    if (written.why_not.empty() && written.source == parent) written.why_not = "the kernel was left as it is";
    if (!written.why_not.empty()) {
      none.learned = "no kernel: " + written.why_not;
      return none;
    }
    KW_TRY(Evaluation evaluation, evaluations_.of(written.source));
    search::Outcome& outcome = evaluation.outcome;
    KW_TRY(outcome.made, store_.with([&](store::Store& store) { return store.put(written.source); }));
    if (!attempts.empty()) attempts.back().result = learned_of(evaluation);
    if (outcome.works) {
      if (!attempts.empty()) {
        outcome.learned = fmt::format("right after {} repair{}", attempts.size(), attempts.size() == 1 ? "" : "s");
        const std::lock_guard lock(mutex_);
        mended_.push_back({fault, attempts.back().suggestion});
      }
      if (!parent.empty()) {
        KW_TRY(const Evaluation before, evaluations_.of(parent));
        KW_TRY(const std::string remarks, reviewed(parent, written.source, step.idea, before, evaluation));
        if (!remarks.empty()) outcome.learned += (outcome.learned.empty() ? "" : "; ") + remarks;
      }
      return std::move(outcome);
    }
    outcome.learned = learned_of(evaluation);
    // What is right and has no estimate cannot be mended by looking at its faults.
    if (attempts.size() == static_cast<size_t>(terms_.fixes) || evaluation.rung.empty()) return std::move(outcome);
    fault = fault_of(evaluation);
    const auto known = terms_.mended.find(fault);
    const Subject failing{written.source, evaluation.page, "", ""};
    KW_TRY(std::string suggestion, roles_.diagnose(failing, step.idea, attempts, known == terms_.mended.end() ? "" : known->second));
    if (suggestion.empty()) return std::move(outcome);
    attempts.push_back({suggestion, ""});
    KW_TRY(written, roles_.repair(failing, step.idea, suggestion));
  }
}

Result<std::string> ModelSpace::reviewed(const std::string& parent, const std::string& source, const Idea& idea, const Evaluation& before, const Evaluation& after) {
  const double gain = before.outcome.works ? before.outcome.seconds / after.outcome.seconds : 0;
  if (before.outcome.works && gain <= 1) return "";   // nobody goes on from it for its speed
  const std::string words = gain > 0 ? fmt::format("{:.2f} times as fast {}", gain, terms_.measured ? "as measured" : "by estimate") : "where the one before was not right";
  const Subject subject{source, "", times_table(after, terms_.measured), ""};
  KW_TRY(const Review review, roles_.review(subject, line_diff(parent, source), idea, words));
  std::string out;
  const auto add = [&](const char* what, const std::string& said) {
    if (!said.empty()) out += (out.empty() ? "" : "; ") + (what + line_of(said));
  };
  add("the reviewer suspects: ", review.cheats);
  add("needless, says the reviewer: ", review.needless);
  add("the reviewer remarks: ", review.remarks);
  return out;
}

std::string ModelSpace::learned_of(const Evaluation& evaluation) const {
  return evaluation.outcome.learned.empty() || evaluation.outcome.learned == evaluation.text() ? fault_of(evaluation) : evaluation.text() + ": " + line_of(evaluation.outcome.learned);
}

std::vector<Mended> ModelSpace::mended() const {
  const std::lock_guard lock(mutex_);
  return mended_;
}

std::string fault_of(const Evaluation& evaluation) {
  const std::string out = evaluation.text();
  const nlohmann::json verdict = parse_json(evaluation.verdict);
  const nlohmann::json* diagnostics = verdict.is_object() && verdict.contains("outcome") && verdict["outcome"].is_object() && verdict["outcome"].contains("diagnostics") ? &verdict["outcome"]["diagnostics"] : nullptr;
  JsonFields fields;
  if (diagnostics == nullptr || !diagnostics->is_array() || diagnostics->empty()) return out;
  const std::string message = fields.words(diagnostics->front(), "message");
  std::string general;
  bool quoted = false, number = false;
  for (const char c : message) {
    if (c == '"' || c == '\'') {
      if (!quoted) general += "'…'";
      quoted = !quoted;
      continue;
    }
    if (quoted) continue;
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit || !number) general += digit ? 'N' : c;
    number = digit;
  }
  return out + ": " + line_of(general);
}

}  // namespace kw::agent
