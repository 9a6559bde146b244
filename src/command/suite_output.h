// How commands that work on suites speak: a line per case, the closing line, files for CI. Internal to command (judge.cc).
#pragma once

#include "command/command.h"
#include "judge/suite.h"

namespace kw::command {

// That the file which option `name` gives can be written. Suites take long: what could not be written afterwards is told before.
Status check_place(const Invocation& invocation, const char* name);

// What runs beside a candidate is in its times: --time with more than one --jobs is refused.
Status alone_when_timed(const Invocation& invocation);

judge::SuiteProgress progress_to(const Output& output);

// Prints the closing line, writes --junit and --summary; 0 when all were as expected.
Result<int> finish_suite(const judge::Suite& suite, const Invocation& invocation, const Output& output);

}  // namespace kw::command
