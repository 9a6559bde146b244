// kw: the command table on a terminal. Parses, calls, prints; decides nothing.
// Exit codes: what the command says (0, 1, 3); 2 for input that could not be used; 4 for a bug of ours.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "base/check.h"
#include "command/command.h"

namespace {

using kw::command::Argument;
using kw::command::ArgumentKind;
using kw::command::Command;

// Where CLI11 puts what it parsed for one command.
struct Parsed {
  std::map<std::string, std::string> values;
  std::map<std::string, bool> flags;
  std::vector<std::string> rest;
  CLI::App* app = nullptr;
};

void declare(CLI::App& app, const Command& command, Parsed& parsed) {
  parsed.app = &app;
  app.footer(command.details);
  for (const Argument& argument : command.arguments) {
    std::string help = argument.help;
    if (!argument.default_text.empty()) help += " (" + argument.default_text + ")";
    if (argument.kind == ArgumentKind::kRest) {
      // Everything from the first word that is not an option of ours on belongs to the other program.
      app.prefix_command();
      if (command.arguments.size() == 1) app.set_help_flag();
    } else if (argument.kind == ArgumentKind::kFlag) {
      app.add_flag("--" + argument.name, parsed.flags[argument.name], help);
    } else if (argument.positional) {
      app.add_option(argument.name, parsed.values[argument.name], help)->type_name("");
    } else {
      app.add_option("--" + argument.name, parsed.values[argument.name], help)->type_name("");
    }
  }
}

int report(const kw::Error& error) {
  std::fputs(kw::format_error(error).c_str(), stderr);
  return 2;
}

int run(const Command& command, Parsed& parsed) {
  std::map<std::string, std::string> values;
  for (const Argument& argument : command.arguments) {
    const std::string option = (argument.positional ? "" : "--") + argument.name;
    if (argument.kind == ArgumentKind::kRest || parsed.app->count(option) == 0) continue;
    values[argument.name] = argument.kind == ArgumentKind::kFlag ? "1" : parsed.values[argument.name];
  }
  auto invocation = kw::command::bind(command, std::move(values), parsed.app->remaining());
  if (!invocation) return report(invocation.error());
  kw::command::Output output;
  output.out = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  output.note = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  output.live = isatty(STDERR_FILENO) == 1;
  auto code = command.run(*invocation, output);
  return code ? *code : report(code.error());
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Kernelwright: judge, port and optimise GPU kernels, with or without a GPU"};
  app.set_version_flag("--version", KW_VERSION);
  app.require_subcommand(0, 1);
  std::map<std::string, CLI::App*> groups;
  std::vector<std::unique_ptr<Parsed>> parsed;
  for (const Command& command : kw::command::commands()) {
    CLI::App* parent = &app;
    if (command.path.size() > 1) {
      CLI::App*& group = groups[command.path.front()];
      if (group == nullptr) {
        group = app.add_subcommand(command.path.front(), "");
        group->require_subcommand(1);
      }
      parent = group;
    }
    parsed.push_back(std::make_unique<Parsed>());
    declare(*parent->add_subcommand(command.path.back(), command.summary), command, *parsed.back());
  }
  for (auto& [name, group] : groups) {
    std::string list;
    for (const CLI::App* child : group->get_subcommands({})) list += (list.empty() ? "" : ", ") + child->get_name();
    group->description(list);
  }
  if (argc < 2) {
    std::fputs(app.help().c_str(), stdout);
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  const auto table = kw::command::commands();
  for (size_t i = 0; i < table.size(); ++i) {
    if (parsed[i]->app->parsed()) return run(table[i], *parsed[i]);
  }
  return 2;
} catch (const kw::InternalError& error) {
  std::fprintf(stderr, "kw: a bug in kw itself: %s\n", error.what());
  return 4;
} catch (const std::exception& error) {
  std::fprintf(stderr, "kw: %s\n", error.what());
  return 4;
}
