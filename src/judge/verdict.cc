#include "judge/verdict.h"

#include <fmt/format.h>

#include <utility>

namespace kw::judge {

std::string_view name_of(Rung rung) {
  switch (rung) {
    case Rung::kCompile: return "compile";
    case Rung::kRecord: return "record";
    case Rung::kContract: return "contract";
    case Rung::kSmallest: return "smallest";
    case Rung::kShapes: return "shapes";
    case Rung::kValues: return "values";
    case Rung::kSchedules: return "schedules";
    case Rung::kPieces: return "pieces";
    case Rung::kFull: return "full";
    case Rung::kTime: return "time";
  }
  return "";
}

std::vector<std::string> rung_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kRungs; ++i) names.emplace_back(name_of(static_cast<Rung>(i)));
  return names;
}

std::string_view question_of(Rung rung) {
  switch (rung) {
    case Rung::kCompile: return "does it compile for the target?";
    case Rung::kRecord: return "can its host code be recorded as launches?";
    case Rung::kContract: return "do the launches fit the problem and the target?";
    case Rung::kSmallest: return "is the smallest workload right, with every check on?";
    case Rung::kShapes: return "are tails, odd sizes and shapes it did not choose right?";
    case Rung::kValues: return "are zeros, equal, tiny, large, cancelling and outlying values right?";
    case Rung::kSchedules: return "does every legal order of execution give the same bits?";
    case Rung::kPieces: return "are the problem's intermediates right, where it writes them?";
    case Rung::kFull: return "are all workloads, the real ones too, right on a GPU, twice with the same bits?";
    case Rung::kTime: return "how fast is it on real workloads, each timed call checked?";
  }
  return "";
}

bool is_candidates(const std::string& file) { return !file.empty() && file.front() != '/'; }

std::string WorkloadName::axes_text() const {
  std::string list;
  for (const auto& [axis, value] : axes) list += fmt::format("{}{}={}", list.empty() ? "" : ", ", axis, value);
  return list;
}

std::string WorkloadName::text() const {
  const std::string list = axes_text();
  return list.empty() ? name : fmt::format("{} ({})", name, list);
}

namespace {
struct NameOf {
  std::string_view operator()(const CompileError&) const { return "compile-error"; }
  std::string_view operator()(const Unrecordable&) const { return "unrecordable"; }
  std::string_view operator()(const ContractViolation&) const { return "contract-violation"; }
  std::string_view operator()(const Wrong&) const { return "wrong"; }
  std::string_view operator()(const Nondeterministic&) const { return "nondeterministic"; }
  std::string_view operator()(const Unsafe&) const { return "unsafe"; }
  std::string_view operator()(const Timeout&) const { return "timeout"; }
  std::string_view operator()(const NotChecked&) const { return "not-checked"; }
  std::string_view operator()(const Suspect&) const { return "suspect"; }
  std::string_view operator()(const Correct&) const { return "correct"; }
};

template <std::size_t... kIndex>
std::vector<std::string> names_of(std::index_sequence<kIndex...>) {
  return {std::string(NameOf{}(std::variant_alternative_t<kIndex, Outcome>{}))...};
}
}  // namespace

std::string_view name_of(const Outcome& outcome) { return std::visit(NameOf{}, outcome); }

std::vector<std::string> outcome_names() { return names_of(std::make_index_sequence<std::variant_size_v<Outcome>>()); }

int exit_code(const Outcome& outcome) {
  if (std::holds_alternative<Correct>(outcome)) return 0;
  if (std::holds_alternative<NotChecked>(outcome)) return 3;
  return 1;
}

std::vector<std::string> gpu_rung_names() {
  std::vector<std::string> out = rung_names();
  out.erase(out.begin(), out.begin() + static_cast<int>(Rung::kFull));
  return out;
}

std::string_view name_of(RungReport::Status status) {
  switch (status) {
    case RungReport::Status::kPassed: return "passed";
    case RungReport::Status::kFailed: return "failed";
    case RungReport::Status::kNotChecked: return "not checked";
    case RungReport::Status::kNotRun: return "not run";
  }
  return "";
}

}  // namespace kw::judge
