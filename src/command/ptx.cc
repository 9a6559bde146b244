#include "base/file.h"
#include "command/command.h"
#include "ptx/parser.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"

namespace kw::command {
namespace {

Result<ptx::Module> load(const Invocation& invocation) {
  const std::string path = invocation.text("file");
  KW_TRY(auto text, read_file(path, 64ull << 20));
  return ptx::parse(std::move(text), path);
}

Result<int> check(const Invocation& invocation, const Output& output) {
  KW_TRY(auto module, load(invocation));
  auto errors = ptx::verify(module);
  if (!errors.empty()) {
    for (size_t i = 0; i + 1 < errors.size(); ++i) output.note(format_error(errors[i]));
    return fail(errors.back());
  }
  output.out(fmt::format("{}: valid PTX {}.{} for {}; {} function{}\n", invocation.text("file"), module.version_major,
                         module.version_minor, module.target, module.functions.size(),
                         module.functions.size() == 1 ? "" : "s"));
  return 0;
}

Result<int> print(const Invocation& invocation, const Output& output) {
  KW_TRY(auto module, load(invocation));
  output.out(ptx::print(module));
  return 0;
}

}  // namespace

std::vector<Command> ptx_commands() {
  const Argument file{"file", ArgumentKind::kPath, true, true, "", "a PTX file", {}};
  return {{{"ptx", "check"}, "parse and verify PTX against its own version and target", "", {file}, check},
          {{"ptx", "print"}, "parse PTX and print it back, one statement a line", "", {file}, print}};
}

}  // namespace kw::command
