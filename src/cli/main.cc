// kw: the command table on a terminal. Parses, calls, prints; decides nothing.
// Exit codes: what the command says (0, 1, 3); 2 for input that could not be used; 4 for a bug of ours.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "base/check.h"
#include "cli/interruption.h"
#include "cli/stop_request.h"
#include "command/command.h"

namespace {

using kw::command::Argument;
using kw::command::ArgumentKind;
using kw::command::Command;

// Where CLI11 puts what it parsed for one command.
struct Parsed {
  std::map<std::string, std::string> values;
  std::map<std::string, bool> flags;
  std::map<std::string, std::vector<std::string>> lists;
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
    } else if (argument.repeated) {
      // An option takes one value each time: what follows it may be a positional.
      app.add_option((argument.positional ? "" : "--") + argument.name, parsed.lists[argument.name], help)->type_name("")->allow_extra_args(argument.positional);
    } else if (argument.positional) {
      app.add_option(argument.name, parsed.values[argument.name], help)->type_name("");
    } else {
      app.add_option("--" + argument.name, parsed.values[argument.name], help)->type_name("");
    }
  }
}

// A descriptor that is closed would be given to the next file opened, and answers be written into that file. Taken by one
// that cannot be used, it stays as good as closed.
void occupy_closed_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) static_cast<void>(open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

// NO_COLOR (no-color.org) is taken for the wish to have lines without any escape sequence.
bool can_rewrite_stderr() {
  const char *terminal = std::getenv("TERM"), *plain = std::getenv("NO_COLOR");
  return isatty(STDERR_FILENO) == 1 && terminal != nullptr && *terminal != '\0' && std::strcmp(terminal, "dumb") != 0 && (plain == nullptr || *plain == '\0');
}

kw::command::Extent extent_of_stderr() {
  kw::command::Extent out;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return out;
  if (size.ws_col > 0) out.columns = size.ws_col;
  if (size.ws_row > 0) out.rows = size.ws_row;
  return out;
}

int unwritten = 0;   // errno of the first write to stdout that failed

void say(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && unwritten == 0) unwritten = errno;
}

// The exit code: nothing counts as answered that did not get out, be it a disk that is full or a reader that has gone.
int finish(int code) {
  if (std::fflush(stdout) != 0 && unwritten == 0) unwritten = errno;
  if (unwritten == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "error: the answer cannot be written to stdout: %s\n", std::strerror(unwritten));
  return 2;
}

int report(const kw::Error& error) {
  std::fputs(kw::format_error(error).c_str(), stderr);
  return 2;
}

int run(const Command& command, Parsed& parsed) {
  std::map<std::string, std::string> values;
  for (const Argument& argument : command.arguments) {
    const std::string option = (argument.positional ? "" : "--") + argument.name;
    if (argument.repeated || argument.kind == ArgumentKind::kRest || parsed.app->count(option) == 0) continue;
    values[argument.name] = argument.kind == ArgumentKind::kFlag ? "1" : parsed.values[argument.name];
  }
  auto invocation = kw::command::bind(command, std::move(values), parsed.app->remaining(), parsed.lists);
  if (!invocation) return report(invocation.error());
  kw::command::Output output;
  kw::cli::Interruption interruption(command.works_in_temporary_folders, command.stops_when_asked);
  // What is said after an interruption speaks of folders that have just been taken away.
  output.out = [&](std::string_view text) {
    if (!interruption.begun()) say(text);
  };
  output.note = [&](std::string_view text) {
    if (interruption.begun()) return;
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  output.live = can_rewrite_stderr();
  output.extent = extent_of_stderr;
  const kw::cli::StopRequest stop(command.stops_when_asked);
  output.stop = stop.flag();
  auto code = command.run(*invocation, output);
  if (stop.requested()) {
    std::fflush(stdout);
    interruption.take_folders_away();
    stop.pass_on();
  }
  if (code) return *code;
  return interruption.begun() ? 2 : report(code.error());
}

}  // namespace

int main(int argc, char** argv) try {
  occupy_closed_descriptors();
  signal(SIGPIPE, SIG_IGN);   // a reader that has gone is a failed write
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
    say(app.help());
    return finish(2);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream answer;
    const int code = app.exit(error, answer, std::cerr);
    say(answer.str());
    return finish(code == 0 ? 0 : 2);
  }
  const auto table = kw::command::commands();
  for (size_t i = 0; i < table.size(); ++i) {
    if (parsed[i]->app->parsed()) return finish(run(table[i], *parsed[i]));
  }
  say(app.help());
  return finish(2);
} catch (const kw::InternalError& error) {
  std::fprintf(stderr, "kw: a bug in kw itself: %s\n", error.what());
  return 4;
} catch (const std::exception& error) {
  std::fprintf(stderr, "kw: %s\n", error.what());
  return 4;
}
