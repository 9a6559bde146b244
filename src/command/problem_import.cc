// kw problem import: problem files from PyTorch modules and KernelBench tasks, several at once.
#include <algorithm>
#include <mutex>
#include <set>

#include "base/file.h"
#include "base/parallel.h"
#include "command/command.h"
#include "command/import.h"

namespace kw::command {
namespace {

class Batch {
 public:
  Batch(const Invocation& invocation, const Output& output)
      : files_(invocation.rest), kind_(invocation.text("kind")), out_(invocation.text("out")), report_(invocation.text("report")),
        admit_(invocation.flag("admit")), output_(output), imports_(files_.size()) {
    const auto asked = static_cast<int>(invocation.integer("jobs"));
    jobs_ = std::clamp(asked > 0 ? asked : available_cores(), 1, std::max(1, static_cast<int>(files_.size())));
    limits_.wall_seconds = invocation.real("seconds", limits_.wall_seconds);
    limits_.admission_seconds = invocation.real("admit-seconds", limits_.admission_seconds);
    limits_.threads = jobs_ > 1 ? 1 : 0;
  }

  Result<int> run() {
    KW_TRY(python_, problem::find_python());
    KW_TRY_VOID(make_folder(out_));
    KW_TRY_VOID(write_report());  // now, not after hours, it is known whether it can be written
    parallel_for(files_.size(), jobs_, [this](uint64_t i) {
      auto import = import_one(files_[i]);
      const std::lock_guard lock(mutex_);
      if (import) imports_[i] = std::move(*import);
      Status done = import ? Status() : Status(fail(import.error()));
      if (done) done = write_report();
      if (failure_ && !done) failure_ = std::move(done);
    });
    KW_TRY_VOID(std::move(failure_));
    const std::vector<Import> all = finished();
    output_.out(import_report(all, false));
    return std::all_of(all.begin(), all.end(), [](const Import& import) { return !import.text.empty(); }) ? 0 : 1;
  }

 private:
  Result<Import> import_one(const std::string& file) {
    KW_TRY(Import import, import_file(python_, kind_, file, limits_));
    if (!import.text.empty() && !is_new(import.name)) {
      import.text.clear();
      import.reason = fmt::format("another of the files is called {} too; import it into another folder", import.name);
    }
    if (import.text.empty()) {
      note(fmt::format("{}: not imported: {}\n", file, import.reason));
      return import;
    }
    const std::string path = fmt::format("{}/{}.problem", out_, import.name);
    KW_TRY_VOID(write_file(path, import.text));
    if (admit_) admit_import(import, limits_);
    note(fmt::format("{}: {}\n", file, path));
    return import;
  }

  bool is_new(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return names_.insert(name).second;
  }

  void note(const std::string& text) {
    const std::lock_guard lock(mutex_);
    output_.note(text);
  }

  // In the order of the files.
  std::vector<Import> finished() const {
    std::vector<Import> done;
    for (const auto& import : imports_)
      if (import) done.push_back(*import);
    return done;
  }

  // Anew after each file: whoever ends the command has the rows of those that were finished.
  Status write_report() const {
    if (report_.empty()) return {};
    const std::vector<Import> done = finished();
    const std::string so_far = done.size() < files_.size() ? fmt::format("{} of {} files so far\n\n", done.size(), files_.size()) : "";
    return write_file(report_, so_far + import_report(done, report_.ends_with(".md")));
  }

  const std::vector<std::string>& files_;
  std::string kind_, out_, report_;
  bool admit_ = false;
  int jobs_ = 1;
  ImportLimits limits_;
  problem::PythonPlace python_;
  const Output& output_;
  std::mutex mutex_;  // guards the rest, and the output
  std::set<std::string> names_;  // of the problems
  std::vector<std::optional<Import>> imports_;  // by file
  Status failure_;
};

Result<int> run(const Invocation& invocation, const Output& output) {
  for (const std::string& file : invocation.rest)
    if (file.starts_with("-")) return fail(ErrorCode::kInvalid, "'{}' comes after a file; options come first", file);
  return Batch(invocation, output).run();
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
           {"report", ArgumentKind::kPath, false, false, "", "also write the table here, anew after each file; Markdown when it ends in .md", {}},
           {"admit", ArgumentKind::kFlag, false, false, "", "also ask of each whether it is sound (kw problem admit)", {}},
           {"jobs", ArgumentKind::kInteger, false, false, "0", "files at once; 0: one per core", {}},
           {"seconds", ArgumentKind::kReal, false, false, "300", "wall time to import one file", {}},
           {"admit-seconds", ArgumentKind::kReal, false, false, "600", "wall time to ask whether one is sound", {}},
           {"files", ArgumentKind::kRest, true, true, "", "Python files, after the options; FILE.py:CLASS for a module", {}}},
          run,
          true};
}

}  // namespace kw::command
