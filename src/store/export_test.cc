#include "store/export.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/hash.h"

namespace kw::store {
namespace {

struct ExportTest : testing::Test {
  TempDir folder = *TempDir::create("kw-store");
  Store store = *Store::open(folder.path());
  int64_t run =
      store.create_run({.kind = "search", .problem = "p", .options = "{}", .seed = ~uint64_t{0}})->id;
};

TEST_F(ExportTest, HasEveryRowAndEveryObject) {
  const std::string candidate = *store.put("kernel"), verdict = *store.put("{}"), prompt = *store.put("ask"),
                    reply = *store.put("answer");
  ASSERT_TRUE(store.add({.nodes = {{run, 0, std::nullopt, candidate, "cuda", "judged", "\xff not UTF-8"},
                                   {run, 1, 0, "", "cuda", "planned", ""}},
                         .verdicts = {{run, 0, verdict, "values", true, 2e-6}},
                         .metrics = {{run, 0, "x", INFINITY, "B", "emulator", "exact"},
                                     {run, 0, "y", NAN, "B", "emulator", "exact"}},
                         .advice = {{run, 0, "tool", "text", 1.5, "a.cu:1"}},
                         .exchanges = {{run, 0, prompt, reply, "replay", 1, 2, 0.5, 1}},
                         .events = {{run, 0, "proposed", "{\"step\":0}"}}}));
  const auto exported = export_run(store, run);
  ASSERT_TRUE(exported);
  EXPECT_TRUE(exported->missing.empty());
  std::set<std::string> names;
  for (const auto& file : exported->files) {
    names.insert(file.name);
    if (file.name != "run.json") {
      EXPECT_EQ("objects/" + hash_hex(file.content), file.name);
    }
  }
  EXPECT_EQ(names, (std::set<std::string>{"run.json", "objects/" + candidate, "objects/" + verdict,
                                          "objects/" + prompt, "objects/" + reply}));
  const auto json = nlohmann::json::parse(exported->files[0].content);
  EXPECT_EQ(json["kernelwright_run"], 1);
  EXPECT_EQ(json["run"]["seed"], ~uint64_t{0});
  EXPECT_EQ(json["nodes"].size(), 2u);
  EXPECT_TRUE(json["nodes"][0]["parent"].is_null());
  EXPECT_EQ(json["nodes"][1]["parent"], 0);
  EXPECT_EQ(json["verdicts"][0]["correct"], true);
  EXPECT_EQ(json["metrics"][0]["value"], "inf");
  EXPECT_TRUE(json["metrics"][1]["value"].is_null());
  EXPECT_EQ(json["advice"][0]["place"], "a.cu:1");
  EXPECT_EQ(json["exchanges"][0]["reply"], reply);
  EXPECT_EQ(json["events"][0]["json"], "{\"step\":0}");
}

TEST_F(ExportTest, NamesWhatIsMissing) {
  const std::string good = *store.put("good"), damaged = *store.put("damaged");
  const std::string absent = hash_hex("absent");
  ASSERT_TRUE(write_file(folder / ("objects/" + damaged), "changed"));
  ASSERT_TRUE(store.add({.nodes = {{run, 0, std::nullopt, good},
                                   {run, 1, 0, damaged},
                                   {run, 2, 0, absent},
                                   {run, 3, 0, "../store.db"}}}));
  const auto exported = export_run(store, run);
  ASSERT_TRUE(exported);
  EXPECT_EQ(exported->files.size(), 2u);
  const std::set<std::string> missing(exported->missing.begin(), exported->missing.end());
  EXPECT_EQ(missing, (std::set<std::string>{damaged, absent, "../store.db"}));
  EXPECT_EQ(nlohmann::json::parse(exported->files[0].content)["missing"].size(), 3u);
}

TEST_F(ExportTest, NoSuchRun) { EXPECT_EQ(export_run(store, 99).error().code, ErrorCode::kNotFound); }

}  // namespace
}  // namespace kw::store
