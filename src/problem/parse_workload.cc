// Sections workloads and tolerance of a problem file.
#include <algorithm>

#include "problem/parser.h"

namespace kw::problem {
namespace {

constexpr std::size_t kMostCandidates = 256;

constexpr std::size_t kMostWorkloads = 256;
constexpr Role kRoles[] = {Role::kSmallest, Role::kShape, Role::kEmulator, Role::kReal};

}  // namespace

// ROLE NAME: M=1, N=2, x ~ constant(1) "note"
Status Parser::parse_workload() {
  const Token role = cursor_.peek();
  std::vector<std::string> roles;
  std::optional<Role> chosen;
  for (Role candidate : kRoles) {
    roles.emplace_back(role_name(candidate));
    if (role_name(candidate) == role.text) chosen = candidate;
  }
  if (!chosen)
    return fail(expressions_->unknown(role, "role of a workload (smallest, shape, emulator, real)", roles));
  cursor_.next();
  KW_TRY(const Token name, expect_name("the name of the workload"));
  if (problem_.find_workload(name.text) != nullptr)
    return fail(
        error(name, fmt::format("a workload '{}' is there already; choose another name", name.text)));
  Workload workload;
  workload.name = std::string(name.text);
  workload.role = *chosen;
  workload.span = span(name);
  KW_TRY_VOID(expressions_->expect(":", "after the name of the workload"));
  const auto at_end = [&] {
    const auto form = cursor_.peek().form;
    return form == Token::Form::kNewline || form == Token::Form::kEnd || form == Token::Form::kString;
  };
  while (!at_end()) {
    KW_TRY_VOID(parse_setting(workload));
    if (!cursor_.accept(",")) break;
  }
  if (cursor_.peek().form == Token::Form::kString) workload.note = std::string(cursor_.next().text);
  KW_TRY_VOID(end_line("a workload"));
  // An axis that a constraint fixes (D == 64) need not be repeated.
  for (const Constraint& constraint : problem_.constraints) {
    const auto fixed = constraint.right.constant();
    if (constraint.relation == "==" && fixed) workload.axes.try_emplace(constraint.left.text(), *fixed);
  }
  std::erase_if(workload.axes, [&](const auto& entry) {
    return std::none_of(problem_.axes.begin(), problem_.axes.end(),
                        [&](const Axis& a) { return a.name == entry.first; });
  });
  if (problem_.workloads.size() >= kMostWorkloads)
    return fail(error(name, fmt::format("more than {} workloads", kMostWorkloads)));
  if (errors.empty()) {  // shapes are whole
    if (auto sound = check_workload(problem_, workload); !sound) {
      Error failed = error(name, sound.error().message);
      failed.code = sound.error().code;
      failed.notes = sound.error().notes;
      return fail(std::move(failed));
    }
  }
  problem_.workloads.push_back(std::move(workload));
  return {};
}

Status Parser::parse_setting(Workload& workload) {
  KW_TRY(const Token name, expect_name("a setting, as in M=128 or x ~ constant(1)"));
  if (cursor_.accept("~")) {
    std::vector<std::string> known;
    for (const TensorDecl& input : problem_.inputs) known.push_back(input.name);
    if (problem_.find_input(name.text) == nullptr) return fail(expressions_->unknown(name, "input", known));
    KW_TRY(const Distribution distribution, parse_distribution());
    workload.inputs.emplace_back(std::string(name.text), distribution);
    return {};
  }
  std::vector<std::string> known;
  for (const Axis& axis : problem_.axes) known.push_back(axis.name);
  if (std::find(known.begin(), known.end(), name.text) == known.end())
    return fail(expressions_->unknown(name, "axis", known));
  KW_TRY_VOID(expressions_->expect("=", "after an axis (or '~' after an input)"));
  const Token number = cursor_.next();
  if (number.form != Token::Form::kInteger)
    return fail(error(number, fmt::format("expected an integer, found {}", token_text(number))));
  if (!workload.axes.emplace(std::string(name.text), number.integer).second)
    return fail(error(name, fmt::format("axis '{}' is set twice", name.text)));
  return {};
}

// factor = 4
Status Parser::parse_tolerance() {
  const Token name = cursor_.next();
  if (name.text != "factor") return fail(expressions_->unknown(name, "setting", {"factor"}));
  KW_TRY_VOID(expressions_->expect("=", "after 'factor'"));
  const Token number = cursor_.peek();
  KW_TRY(problem_.tolerance_factor, expressions_->parse_signed_number());
  if (!(problem_.tolerance_factor >= 1 && problem_.tolerance_factor <= 64))
    return fail(error(number, "the factor lies between 1 (no margin over an honest kernel) and 64"));
  return end_line("the factor");
}

// sm_80: "kernels/row_softmax.cu"
Status Parser::parse_candidate() {
  KW_TRY(const Token target, expect_name("a target, as in sm_80: \"kernels/k.cu\""));
  if (!target.text.starts_with("sm_")) return fail(error(target, fmt::format("'{}' is no target; targets are sm_80, sm_90a, …", target.text)));
  KW_TRY_VOID(expressions_->expect(":", "after the target of a candidate"));
  const Token path = cursor_.next();
  if (path.form != Token::Form::kString || path.text.empty())
    return fail(error(path, fmt::format("expected the path of a candidate in quotes, found {}", token_text(path))));
  if (problem_.candidates.size() >= kMostCandidates)
    return fail(error(target, fmt::format("a problem has at most {} candidates", kMostCandidates)));
  problem_.candidates.push_back({std::string(target.text), std::string(path.text), span(path)});
  return end_line("a candidate");
}

}  // namespace kw::problem
