// kw problem import: problem files from PyTorch modules and KernelBench tasks.
#include "base/file.h"
#include "command/command.h"
#include "command/import.h"

namespace kw::command {
namespace {

Result<int> run(const Invocation& invocation, const Output& output) {
  const std::string kind = invocation.text("kind"), out = invocation.text("out"), report = invocation.text("report");
  for (const std::string& file : invocation.rest)
    if (file.starts_with("-")) return fail(ErrorCode::kInvalid, "'{}' comes after a file; options come first", file);
  KW_TRY(const problem::PythonPlace python, problem::find_python());
  ImportLimits limits;
  limits.wall_seconds = invocation.real("seconds", limits.wall_seconds);
  KW_TRY_VOID(make_folder(out));
  std::vector<Import> imports;
  bool good = true;
  for (const std::string& file : invocation.rest) {
    KW_TRY(Import import, import_file(python, kind, file, limits));
    if (import.text.empty()) {
      output.note(fmt::format("{}: not imported: {}\n", file, import.reason));
      good = false;
    } else {
      const std::string path = fmt::format("{}/{}.problem", out, import.name);
      KW_TRY_VOID(write_file(path, import.text));
      if (invocation.flag("admit")) admit_import(import);
      output.note(fmt::format("{}: {}\n", file, path));
    }
    imports.push_back(std::move(import));
  }
  output.out(import_report(imports, false));
  if (!report.empty()) KW_TRY_VOID(write_file(report, import_report(imports, report.ends_with(".md"))));
  return good ? 0 : 1;
}

}  // namespace

Command problem_import_command() {
  return {{"problem", "import"},
          "make problem files from PyTorch modules or KernelBench tasks",
          "  kw problem import kernelbench --out problems level1/*.py\n"
          "  kw problem import module --out problems net.py:Net\n"
          "Each file is run in the jail by a Python that has torch, and the problem is compared with the module in fp64. The\n"
          "table says what was imported, which operators the text cannot say, and how far both answers differ (docs/import.md).",
          {{"kind", ArgumentKind::kText, true, true, "", "what the files are", {"kernelbench", "module"}},
           {"out", ArgumentKind::kPath, false, false, ".", "the folder for NAME.problem", {}},
           {"report", ArgumentKind::kPath, false, false, "", "also write the table here; Markdown when it ends in .md", {}},
           {"admit", ArgumentKind::kFlag, false, false, "", "also ask of each whether it is sound (kw problem admit)", {}},
           {"seconds", ArgumentKind::kReal, false, false, "300", "wall time for one file", {}},
           {"files", ArgumentKind::kRest, true, true, "", "Python files, after the options; FILE.py:CLASS for a module", {}}},
          run,
          true};
}

}  // namespace kw::command
