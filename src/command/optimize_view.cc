#include "command/optimize_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/source_text.h"

namespace kw::command {
namespace {

constexpr size_t kMostOfPath = 5, kMostTrying = 3, kWidestBar = 24, kDeepestShown = 8;

size_t evaluated_of(const View& view) { return view.attempts.size() - view.attempts.count(search::kRoot); }

std::string budget_line(const View& view, size_t width) {
  const size_t done = evaluated_of(view), bar = std::min(kWidestBar, width / 3);
  const double share = view.evaluations == 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(view.evaluations));
  const auto full = static_cast<size_t>(share * static_cast<double>(bar));
  const auto right = std::count_if(view.attempts.begin(), view.attempts.end(), [](const auto& each) { return each.first != search::kRoot && each.second.works(); });
  return fmt::format("[{}{}] {} of {} evaluated, {} of them right", std::string(full, '#'), std::string(bar - full, '.'), done, view.evaluations, right);
}

std::string best_line(const View& view, search::NodeId best) {
  const auto at = view.attempts.find(best);
  if (at == view.attempts.end()) return "the start is being judged";
  if (!at->second.works()) return "best so far: none is right";
  const auto gain = agent::gain_of(view.attempts, best);
  return fmt::format("best so far: {}{}{}", gain ? fmt::format("{:.2f}x the start, ", *gain) : "", agent::duration_text(at->second.outcome.seconds),
                     view.grade == profile::Grade::kMeasured ? " measured" : " by estimate");
}

std::string path_line(const View& view, search::NodeId node, size_t depth) {
  const auto gain = agent::gain_of(view.attempts, node);
  return fmt::format("{:>8}  {}{} {}", gain ? fmt::format("{:.2f}x", *gain) : "-", std::string(2 * std::min(depth, kDeepestShown), ' '), node, view.attempts.at(node).idea);
}

// The first and the last of them where there are too many.
void add_path(const View& view, search::NodeId best, std::vector<std::string>& out) {
  const std::vector<search::NodeId> path = agent::path_to(view.attempts, best);
  const size_t hidden = path.size() > kMostOfPath ? path.size() - kMostOfPath + 1 : 0;
  for (size_t i = 0; i < path.size(); ++i) {
    if (hidden > 0 && i == 1) out.push_back(fmt::format("{:>8}  {} more steps", "...", hidden));
    if (i >= 1 && i <= hidden) continue;
    out.push_back(path_line(view, path[i], i));
  }
}

void add_trying(const View& view, std::vector<std::string>& out) {
  if (view.ended) return;
  if (view.trying.empty() && !view.attempts.empty()) out.emplace_back("now: choosing what to try");
  size_t shown = 0;
  for (const auto& [node, trying] : view.trying) {
    if (++shown == kMostTrying && view.trying.size() > kMostTrying) {
      out.push_back(fmt::format("     and {} more", view.trying.size() - kMostTrying + 1));
      return;
    }
    out.push_back(fmt::format("{} {}{} {}", shown == 1 ? "now:" : "    ", node, node == search::kRoot ? "" : fmt::format(" from {}:", trying.parent), trying.idea));
  }
}

}  // namespace

std::vector<std::string> view_lines(const View& view, size_t width) {
  const search::NodeId best = agent::best_of(view.attempts);
  std::vector<std::string> out = {budget_line(view, width), best_line(view, best)};
  add_path(view, best, out);
  add_trying(view, out);
  if (const auto last = view.last ? view.attempts.find(*view.last) : view.attempts.end(); last != view.attempts.end() && last->first != search::kRoot) {
    const auto gain = agent::gain_of(view.attempts, last->first);
    out.push_back(fmt::format("last: {} {}{}: {}", last->first, last->second.verdict, gain ? fmt::format(", {:.2f}x", *gain) : "", last->second.idea));
  }
  if (!view.ended) out.emplace_back("Ctrl-C stops after what is being evaluated");
  for (std::string& line : out) line = one_line(line, width);
  return out;
}

std::string attempt_line(const View& view, search::NodeId node) {
  constexpr size_t kLongest = 200;   // a model may have much to say
  const agent::Attempt& attempt = view.attempts.at(node);
  std::string line = fmt::format("{:>3}/{}  {:<40} {:<20}", node, view.evaluations, one_line(attempt.idea, kLongest), one_line(attempt.verdict, kLongest));
  if (attempt.works()) line += fmt::format(" {:>10}", agent::duration_text(attempt.outcome.seconds));
  const auto gain = agent::gain_of(view.attempts, node), most = agent::gain_of(view.attempts, agent::best_of(view.attempts));
  if (gain && most && node != search::kRoot) line += fmt::format("  {:.2f}x the start, best {:.2f}x", *gain, *most);
  return line + "\n";
}

SearchProgress::SearchProgress(const Output& output, const agent::ReportData& so_far) : output_(output) {
  view_.evaluations = so_far.settings.evaluations;
  view_.grade = so_far.best.grade;
  view_.attempts = so_far.attempts;
}

void SearchProgress::begins(const search::Assignment& what) {
  const std::lock_guard lock(mutex_);
  view_.trying[what.node] = {what.parent, what.proposal.idea};
  if (output_.live) show();
}

void SearchProgress::evaluated(const agent::Step& step) {
  const std::lock_guard lock(mutex_);
  const search::Evaluated& what = step.what;
  view_.trying.erase(what.node);
  view_.attempts[what.node] = {what.parent, what.proposal.state, what.proposal.idea, step.evaluation.text(), what.outcome};
  view_.last = what.node;
  if (output_.live) show();
  else output_.note(attempt_line(view_, what.node));
}

void SearchProgress::ended() {
  const std::lock_guard lock(mutex_);
  view_.ended = true;
  if (output_.live) show();
}

void SearchProgress::show() {
  const Extent extent = output_.extent ? output_.extent() : Extent();
  std::vector<std::string> lines = view_lines(view_, std::max<size_t>(extent.columns, 2) - 1);   // the last column would wrap on some terminals
  lines.resize(std::min(lines.size(), std::max<size_t>(extent.rows, 2) - 1));                    // what has left the screen cannot be rewritten
  std::string text = "\r";
  if (shown_ > 0) text += fmt::format("\033[{}A", shown_);
  for (const std::string& line : lines) text += line + "\033[K\n";
  output_.note(text + "\033[J");
  shown_ = lines.size();
}

}  // namespace kw::command
