#include "command/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.h"

namespace kw::command {
namespace {

void append(std::vector<Command>& table, std::vector<Command> family) {
  for (Command& command : family) table.push_back(std::move(command));
}

std::vector<Command> make_table() {
  std::vector<Command> table;
  table.push_back(judge_command());
  table.push_back(profile_command());
  table.push_back(optimize_command());
  append(table, problem_commands());
  table.push_back(problem_evaluate_command());
  table.push_back(problem_import_command());
  table.push_back(problem_torch_command());
  append(table, plan_commands());
  append(table, device_commands());
  append(table, bundle_commands());
  append(table, run_commands());
  table.push_back(asm_command());
  append(table, ptx_commands());
  table.push_back(nvcc_command());
  append(table, emu_commands());
  append(table, code_commands());
  table.push_back(llm_ask_command());
  table.push_back(doctor_command());
  return table;
}

template <typename T>
bool parses(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

tl::unexpected<Error> refuse(const Command& command, std::string message, std::string remedy) {
  Error error{ErrorCode::kInvalid, std::move(message), {}, {}, {std::move(remedy)}};
  error.notes.push_back(fmt::format("`kw {} --help` says more", fmt::join(command.path, " ")));
  return fail(std::move(error));
}

}  // namespace

bool Invocation::has(std::string_view name) const { return values.count(std::string(name)) > 0; }
bool Invocation::flag(std::string_view name) const { return has(name); }

std::string Invocation::text(std::string_view name) const {
  const auto found = values.find(std::string(name));
  return found == values.end() ? "" : found->second;
}

uint64_t Invocation::integer(std::string_view name, uint64_t otherwise) const {
  const std::string value = text(name);
  uint64_t out = otherwise;
  std::from_chars(value.data(), value.data() + value.size(), out);
  return out;
}

double Invocation::real(std::string_view name, double otherwise) const {
  const std::string value = text(name);
  double out = otherwise;
  std::from_chars(value.data(), value.data() + value.size(), out);
  return out;
}

std::span<const Command> commands() {
  static const std::vector<Command> table = make_table();
  return table;
}

std::vector<std::string> Invocation::texts(std::string_view name) const {
  const auto found = lists.find(std::string(name));
  return found == lists.end() ? std::vector<std::string>() : found->second;
}

Result<Invocation> bind(const Command& command, std::map<std::string, std::string> values, std::vector<std::string> rest,
                        std::map<std::string, std::vector<std::string>> lists) {
  Invocation out;
  const auto unknown = [&](const std::string& name, bool repeated) {
    return std::none_of(command.arguments.begin(), command.arguments.end(),
                        [&](const Argument& a) { return a.name == name && a.repeated == repeated; });
  };
  const auto refuse_unknown = [&](const std::string& name) { return refuse(command, fmt::format("no argument is called '{}'", name), "leave it out"); };
  for (const auto& [name, value] : values)
    if (unknown(name, false)) return refuse_unknown(name);
  for (const auto& [name, list] : lists)
    if (unknown(name, true)) return refuse_unknown(name);
  for (const Argument& argument : command.arguments) {
    if (argument.repeated) {
      std::vector<std::string>& list = lists[argument.name];
      if (argument.required && list.empty()) return refuse(command, fmt::format("{} is missing", argument.name), argument.help);
      if (argument.kind == ArgumentKind::kPath && std::any_of(list.begin(), list.end(), [](const std::string& path) { return path.empty(); }))
        return refuse(command, fmt::format("{} is empty: a path is needed", argument.name), argument.help);
      out.lists[argument.name] = std::move(list);
      continue;
    }
    if (argument.kind == ArgumentKind::kRest) {
      if (argument.required && rest.empty()) return refuse(command, fmt::format("{} is missing", argument.name), argument.help);
      out.rest = std::move(rest);
      continue;
    }
    auto found = values.find(argument.name);
    if (found == values.end()) {
      if (argument.required) return refuse(command, fmt::format("{} is missing", argument.name), argument.help);
      if (!argument.default_text.empty()) out.values[argument.name] = argument.default_text;
      continue;
    }
    const std::string& value = found->second;
    switch (argument.kind) {
      case ArgumentKind::kInteger:
        if (!parses<uint64_t>(value)) {
          return refuse(command, fmt::format("--{} takes a whole number, not '{}'", argument.name, value), argument.help);
        }
        break;
      case ArgumentKind::kReal: {
        double number = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(number) || number <= 0) {
          return refuse(command, fmt::format("--{} takes a number above zero, not '{}'", argument.name, value), argument.help);
        }
        break;
      }
      case ArgumentKind::kPath:
        if (value.empty()) return refuse(command, fmt::format("{} is empty: a path is needed", argument.name), argument.help);
        break;
      case ArgumentKind::kFlag: case ArgumentKind::kText: case ArgumentKind::kRest: break;
    }
    if (!argument.choices.empty() && std::find(argument.choices.begin(), argument.choices.end(), value) == argument.choices.end()) {
      return refuse(command, fmt::format("--{} cannot be '{}'", argument.name, value),
                    fmt::format("it is one of {}", fmt::join(argument.choices, ", ")));
    }
    out.values[argument.name] = value;
  }
  return out;
}

}  // namespace kw::command
