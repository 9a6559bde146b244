// The one table of what can be asked of Kernelwright: names, arguments, help, and the function that answers.
// A terminal (cli), and later other faces, parse a request into an Invocation, call `run`, and decide nothing.
//
// `run` returns the exit code to give (0 the good answer, 1 a verdict or finding against the subject, 3 not
// checked), or an Error for input that could not be read or a machine that lacks something (exit code 2).
// Commands print through Output only. The table is constant; running two commands at once is fine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::command {

enum class ArgumentKind : uint8_t {
  kFlag,     // present or not
  kText,
  kPath,     // not empty
  kInteger,  // >= 0
  kReal,     // > 0
  kRest,     // everything that follows, unparsed; last
};

struct Argument {
  std::string name;            // "target": --target as an option, TARGET as a positional
  ArgumentKind kind = ArgumentKind::kText;
  bool positional = false;
  bool required = false;
  std::string default_text;
  std::string help;
  std::vector<std::string> choices;
  bool repeated = false;       // may be given several times; a positional takes all that stand there. Only kText and kPath
};

struct Invocation {
  std::map<std::string, std::string> values;  // given or default; a flag is "1"
  std::map<std::string, std::vector<std::string>> lists;   // of arguments that are repeated, in order
  std::vector<std::string> rest;
  bool flag(std::string_view name) const;
  std::string text(std::string_view name) const;      // empty when absent
  std::vector<std::string> texts(std::string_view name) const;   // of a repeated one; empty when absent
  uint64_t integer(std::string_view name, uint64_t otherwise = 0) const;
  double real(std::string_view name, double otherwise = 0) const;
  bool has(std::string_view name) const;
};

struct Extent {
  size_t columns = 80, rows = 24;
};

struct Output {
  std::function<void(std::string_view)> out;   // the answer
  std::function<void(std::string_view)> note;  // progress, for people
  bool live = false;                           // notes may be rewritten in place (a terminal that can, and whose user does not forbid it)
  const std::atomic<bool>* stop = nullptr;     // of commands that stop when asked: set when the user interrupts
  std::function<Extent()> extent = {};         // where `live`: of the terminal, now
};

struct Command {
  std::vector<std::string> path;  // {"emu", "run"}
  std::string summary;            // one line
  std::string details;            // what a reader of --help wants to know besides; examples
  std::vector<Argument> arguments;
  Result<int> (*run)(const Invocation&, const Output&);
  bool works_in_temporary_folders = false;  // a face takes them away when the command is interrupted
  bool stops_when_asked = false;            // it looks at Output::stop, and ends what it started itself
};

std::span<const Command> commands();

// Fills defaults and checks kinds, choices and required arguments. Errors name the argument and what it takes.
Result<Invocation> bind(const Command& command, std::map<std::string, std::string> values, std::vector<std::string> rest,
                        std::map<std::string, std::vector<std::string>> lists = {});

// The families of the table, one file each.
Command asm_command();
Command judge_command();
Command profile_command();
Command optimize_command();
std::vector<Command> plan_commands();
std::vector<Command> device_commands();
std::vector<Command> bundle_commands();
std::vector<Command> problem_commands();
Command problem_evaluate_command();
Command problem_import_command();
Command problem_torch_command();
std::vector<Command> emu_commands();
Command llm_ask_command();
std::vector<Command> code_commands();
std::vector<Command> run_commands();
Command nvcc_command();
std::vector<Command> ptx_commands();
Command doctor_command();

}  // namespace kw::command
