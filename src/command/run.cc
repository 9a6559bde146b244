#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>

#include "agent/report.h"
#include "base/file.h"
#include "base/source_text.h"
#include "base/tar.h"
#include "base/text_table.h"
#include "command/command.h"
#include "command/stored_runs.h"
#include "store/export.h"
#include "store/store.h"

namespace kw::command {

Result<std::string> store_folder_of(const Invocation& invocation) {
  if (invocation.has("store")) return invocation.text("store");
  return store::store_folder();
}

// To look is no reason to make one.
Result<store::Store> open_existing_store(const Invocation& invocation) {
  KW_TRY(const std::string folder, store_folder_of(invocation));
  std::error_code error;
  if (std::filesystem::exists(folder + "/store.db", error)) return store::Store::open(folder);
  return fail(Error{ErrorCode::kNotFound,
                    fmt::format("there is no store in {}", folder),
                    {},
                    {},
                    {"a run makes one; --store DIR, or the variable KW_STORE, names another folder"}});
}

namespace {

std::string utc(int64_t ms) {
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm time{};
  char text[32] = "?";
  if (gmtime_r(&seconds, &time) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &time);
  return text;
}

std::string state_of(const store::RunRow& run) {
  switch (run.state) {
    case store::RunState::kRunning: return store::owner_lives(run) ? "running" : "died";
    case store::RunState::kStopped: return "stopped";
    case store::RunState::kFinished: return "finished";
  }
  return "";
}

Result<int> list(const Invocation& invocation, const Output& output) {
  KW_TRY(store::Store store, open_existing_store(invocation));
  KW_TRY(const std::vector<store::RunRow> runs, store.runs());
  TextTable table({"run", "state", "begun, UTC", "kind", "problem"}, {Align::kRight});
  for (const store::RunRow& run : runs)
    table.add_row({std::to_string(run.id), state_of(run), utc(run.created_ms), one_line(run.kind),
                   one_line(run.problem)});
  output.out(runs.empty() ? "no runs\n" : table.str());
  return 0;
}

// Nodes below their parents. A parent comes before its children; what says otherwise is shown as a root.
class RunTree {
 public:
  explicit RunTree(const store::Rows& rows) : rows_(rows) {
    std::set<int64_t> before;
    for (const store::NodeRow& node : rows.nodes) {
      const bool below = node.parent && before.contains(*node.parent);
      (below ? children_[*node.parent] : roots_).push_back(&node);
      before.insert(node.index);
    }
    for (const store::VerdictRow& verdict : rows.verdicts)
      verdicts_[verdict.node] = &verdict;  // the last one counts
  }

  std::string str() const {
    TextTable table({"node", "verdict", "time", "language", "note"},
                    {Align::kLeft, Align::kLeft, Align::kRight});
    // Not by recursion: a search may be deep.
    std::vector<std::pair<const store::NodeRow*, size_t>> todo;
    const auto push = [&](const std::vector<const store::NodeRow*>& nodes, size_t depth) {
      for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) todo.emplace_back(*it, depth);
    };
    push(roots_, 0);
    while (!todo.empty()) {
      const auto [node, depth] = todo.back();
      todo.pop_back();
      const auto found = verdicts_.find(node->index);
      const store::VerdictRow* verdict = found == verdicts_.end() ? nullptr : found->second;
      const std::string outcome = verdict == nullptr ? node->state
                                  : verdict->correct ? "correct"
                                                     : "fails at " + verdict->rung;
      table.add_row(
          {fmt::format("{}{}", std::string(2 * std::min<size_t>(depth, kDeepestShown), ' '), node->index),
           one_line(outcome), verdict != nullptr && verdict->seconds ? agent::duration_text(*verdict->seconds) : "",
           one_line(node->language), one_line(node->note)});
      if (const auto below = children_.find(node->index); below != children_.end())
        push(below->second, depth + 1);
    }
    return table.str();
  }

 private:
  static constexpr size_t kDeepestShown = 20;
  const store::Rows& rows_;
  std::vector<const store::NodeRow*> roots_;
  std::map<int64_t, std::vector<const store::NodeRow*>> children_;
  std::map<int64_t, const store::VerdictRow*> verdicts_;
};

Result<int> show(const Invocation& invocation, const Output& output) {
  KW_TRY(store::Store store, open_existing_store(invocation));
  const auto id = static_cast<int64_t>(invocation.integer("run"));
  KW_TRY(const store::RunRow run, store.run(id));
  KW_TRY(const store::Rows rows, store.rows(id));
  output.out(fmt::format("run {}: {} of {}; {}, begun {} UTC, seed {}\n", run.id, one_line(run.kind),
                         one_line(run.problem), state_of(run), utc(run.created_ms), run.seed));
  if (!rows.exchanges.empty()) {
    int64_t tokens_in = 0, tokens_out = 0;
    double money = 0;
    for (const store::ExchangeRow& exchange : rows.exchanges) {
      tokens_in += exchange.tokens_in;
      tokens_out += exchange.tokens_out;
      money += exchange.money;
    }
    output.out(fmt::format("exchanges with models: {}; {} tokens in, {} out, {:.2f} USD\n",
                           rows.exchanges.size(), tokens_in, tokens_out, money));
  }
  output.out(rows.nodes.empty() ? "no nodes\n" : RunTree(rows).str());
  return 0;
}

Result<int> report(const Invocation& invocation, const Output& output) {
  const std::string out = invocation.text("out");
  KW_TRY(store::Store store, open_existing_store(invocation));
  agent::SharedStore shared(store);
  KW_TRY(const std::string text, agent::report(shared, static_cast<int64_t>(invocation.integer("run")), agent::form_of(out)));
  if (invocation.has("out")) KW_TRY_VOID(write_file(out, text));
  else output.out(text);
  return 0;
}

Result<int> export_one(const Invocation& invocation, const Output& output) {
  const std::string out = invocation.text("out");
  KW_TRY(store::Store store, open_existing_store(invocation));
  KW_TRY(const store::Exported exported,
         store::export_run(store, static_cast<int64_t>(invocation.integer("run"))));
  if (out.ends_with(".tar")) {
    std::vector<TarMember> members;
    for (const auto& file : exported.files) members.push_back({file.name, file.content});
    KW_TRY(const std::string bytes, write_tar(members));
    KW_TRY_VOID(write_file(out, bytes));
  } else {
    KW_TRY_VOID(make_folder(out + "/objects"));
    // run.json last: a folder that has it is whole.
    for (auto file = exported.files.rbegin(); file != exported.files.rend(); ++file)
      KW_TRY_VOID(write_file(out + "/" + file->name, file->content));
  }
  output.note(fmt::format("{}: {} objects\n", out, exported.files.size() - 1));
  for (const std::string& hash : exported.missing)
    output.note(fmt::format("object {} is missing or damaged, and is not in it\n", one_line(hash)));
  return exported.missing.empty() ? 0 : 1;
}

}  // namespace

std::vector<Command> run_commands() {
  const Argument store{
      "store", ArgumentKind::kPath,
      false,   false,
      "",      "the store's folder (default: $KW_STORE, or kernelwright in the user's data folder)",
      {}};
  const Argument run{
      "run", ArgumentKind::kInteger, true, true, "", "the run's number, as `kw run list` has it", {}};
  return {
      {{"run", "list"},
       "list the runs in the store",
       "A run whose process is gone without having stopped it is said to have died.",
       {store},
       list},
      {{"run", "show"},
       "show a run: its tree of candidates with their verdicts, times and notes",
       "A node's verdict is its last one; where there is none, the state of the node stands in its place.",
       {run, store},
       show},
      {{"run", "report"},
       "write the report of a search for a faster kernel, as `kw optimize` does at its end",
       "From the store, whenever it is wanted; of a search that goes on, as far as it is. The store stays as it is.\n"
       "Example: kw run report 3 --out report.html",
       {run,
        {"out", ArgumentKind::kPath, false, false, "", "the file to write, HTML when its name ends in .html; default: Markdown on stdout", {}},
        store},
       report},
      {{"run", "export"},
       "write a run to a folder or a .tar: run.json and the files that it names",
       "docs/formats/store.md has the format. Exit code 1: some objects are missing or damaged; the rest is "
       "written.",
       {run,
        {"out",
         ArgumentKind::kPath,
         false,
         true,
         "",
         "the folder to write, or the archive when it ends in .tar",
         {}},
        store},
       export_one}};
}

}  // namespace kw::command
