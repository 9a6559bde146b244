// kw run list, show, report and export, on stores made here.
#include <gtest/gtest.h>

#include <filesystem>

#include "agent/optimize.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/tar.h"
#include "command/command.h"
#include "store/store.h"

namespace kw::command {
namespace {

struct RunCommand : testing::Test {
  TempDir folder = *TempDir::create("kw-run");
  std::string place = folder / "store";
  std::string out, notes;

  int run(const std::vector<std::string>& path, std::map<std::string, std::string> values) {
    out.clear();
    notes.clear();
    values["store"] = place;
    for (const Command& command : commands()) {
      if (command.path != path) continue;
      const auto invocation = bind(command, std::move(values), {});
      EXPECT_TRUE(invocation);
      const auto code = command.run(*invocation, {[&](std::string_view text) { out += text; },
                                                  [&](std::string_view text) { notes += text; }});
      if (!code) notes += format_error(code.error());
      return code ? *code : 2;
    }
    ADD_FAILURE() << "no such command";
    return 4;
  }

  int64_t sample() {
    auto store = *store::Store::open(place);
    const int64_t id = store.create_run({.kind = "search", .problem = "row_softmax", .seed = 42})->id;
    const std::string kernel = *store.put("kernel"), verdict = *store.put("{}");
    EXPECT_TRUE(store.add(
        {.nodes = {{id, 0, std::nullopt, kernel, "cuda", "judged", "the root"},
                   {id, 1, 0, kernel, "cuda", "judged", "tiles"},
                   {id, 2, 0, kernel, "cuda", "judged", "wider\nloads \x1b[2J"},
                   {id, 3, 1, "", "cuda", "planned", ""}},
         .verdicts = {{id, 0, verdict, "time", true, 1.5e-3},
                      {id, 1, verdict, "values", false, {}},
                      {id, 2, verdict, "values", false, {}},
                      {id, 2, verdict, "time", true, 2.5e-6}},
         .exchanges = {{id, 0, *store.put("prompt"), *store.put("reply"), "replay", 100, 20, 0.25, 1}}}));
    return id;
  }
};

TEST_F(RunCommand, ListsRuns) {
  EXPECT_EQ(run({"run", "list"}, {}), 2) << "no store";
  EXPECT_NE(notes.find("there is no store"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(place)) << "looking makes none";
  {
    auto store = *store::Store::open(place);
  }
  EXPECT_EQ(run({"run", "list"}, {}), 0);
  EXPECT_EQ(out, "no runs\n");
  sample();
  {
    auto store = *store::Store::open(place);
    const int64_t id = store.create_run({.kind = "port", .problem = "other"})->id;
    ASSERT_TRUE(store.set_state(id, store::RunState::kFinished));
  }
  EXPECT_EQ(run({"run", "list"}, {}), 0);
  EXPECT_NE(out.find("running"), std::string::npos);
  EXPECT_NE(out.find("row_softmax"), std::string::npos);
  EXPECT_NE(out.find("finished"), std::string::npos);
}

TEST_F(RunCommand, ShowsTheTree) {
  const int64_t id = sample();
  EXPECT_EQ(run({"run", "show"}, {{"run", std::to_string(id)}}), 0);
  EXPECT_NE(out.find("run 1: search of row_softmax; running, begun "), std::string::npos) << out;
  EXPECT_NE(out.find("exchanges with models: 1; 100 tokens in, 20 out, 0.25 USD\n"), std::string::npos)
      << out;
  for (const char* line :
       {"\n0      correct", "\n  1    fails at values", "\n    3  planned", "\n  2    correct"})
    EXPECT_NE(out.find(line), std::string::npos) << line << "\n" << out;
  EXPECT_LT(out.find("    3  planned"), out.find("  2    correct")) << "below its parent";
  EXPECT_NE(out.find("1.5 ms"), std::string::npos);
  EXPECT_NE(out.find("2.5 us"), std::string::npos);
  EXPECT_EQ(out.find('\x1b'), std::string::npos) << "notes move no cursor";
  EXPECT_EQ(run({"run", "show"}, {{"run", "99"}}), 2);
}

TEST_F(RunCommand, ATreeThatIsNoneIsShownAllTheSame) {
  auto store = *store::Store::open(place);
  const int64_t id = store.create_run({})->id;
  ASSERT_TRUE(store.add(
      {.nodes = {{id, 0, 1}, {id, 1, 0}, {id, 2, 2}, {id, 3, 77}, {id, 4, -1}, {id, -1, -1}, {id, 5, -1}}}));
  EXPECT_EQ(run({"run", "show"}, {{"run", std::to_string(id)}}), 0);
  for (const char* node : {"\n0", "\n  1", "\n2", "\n3", "\n-1", "\n  4", "\n  5"})
    EXPECT_NE(out.find(node), std::string::npos) << node << out;
}

TEST_F(RunCommand, ExportsToAFolderAndToAnArchive) {
  const std::string id = std::to_string(sample());
  ASSERT_EQ(run({"run", "export"}, {{"run", id}, {"out", folder / "run"}}), 0) << notes;
  ASSERT_EQ(run({"run", "export"}, {{"run", id}, {"out", folder / "run.tar"}}), 0) << notes;
  const std::string bytes = *read_file(folder / "run.tar");
  const auto members = read_tar(bytes, "run.tar");
  ASSERT_TRUE(members);
  EXPECT_EQ(members->size(), 5u);
  for (const TarMember& member : *members)
    EXPECT_EQ(*read_file(folder / ("run/" + member.name)), member.content);
  EXPECT_EQ(*read_file(folder / ("run/objects/" + hash_hex("kernel"))), "kernel");
}

TEST_F(RunCommand, ExportSaysWhatIsMissing) {
  const std::string id = std::to_string(sample());
  std::filesystem::remove(place + "/objects/" + hash_hex("kernel"));
  EXPECT_EQ(run({"run", "export"}, {{"run", id}, {"out", folder / "run.tar"}}), 1);
  EXPECT_NE(notes.find(hash_hex("kernel")), std::string::npos);
}

TEST_F(RunCommand, ReportsOfASearchAreWrittenAgain) {
  const std::string other = std::to_string(sample());
  std::string id;
  {
    auto store = *store::Store::open(place);
    agent::SharedStore shared(store);
    agent::Settings settings;
    settings.problem_file = settings.kernel_file = "p";
    id = std::to_string(*agent::begin(shared, settings, "a problem", "constexpr int kThreads = 64;  // tune: 64 128\n"));
  }
  EXPECT_EQ(run({"run", "report"}, {{"run", id}}), 0) << notes;
  EXPECT_NE(out.find("# p: nothing was tried yet"), std::string::npos) << out;
  EXPECT_NE(out.find("0 of 16 candidates evaluated so far"), std::string::npos) << "it goes on";
  const std::string text = out;
  EXPECT_EQ(run({"run", "report"}, {{"run", id}, {"out", folder / "r.md"}}), 0) << notes;
  EXPECT_EQ(out, "");
  EXPECT_EQ(*read_file(folder / "r.md"), text);
  EXPECT_EQ(run({"run", "report"}, {{"run", id}, {"out", folder / "r.HTML"}}), 0) << notes;
  EXPECT_TRUE(read_file(folder / "r.HTML")->starts_with("<!doctype html>"));
  EXPECT_EQ(run({"run", "report"}, {{"run", other}}), 2);
  EXPECT_NE(notes.find("no optimisation"), std::string::npos) << notes;
  EXPECT_EQ(run({"run", "report"}, {{"run", "99"}}), 2);
}

}  // namespace
}  // namespace kw::command
