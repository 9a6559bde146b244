#include <gtest/gtest.h>

#include "base/file.h"
#include "store/schema.h"
#include "store/store.h"

namespace kw::store {
namespace {

struct MigrationTest : testing::Test {
  TempDir folder = *TempDir::create("kw-store");
  std::string path = folder / "store.db";
};

// What version 1 wrote, by its own words: its schema stands here as it was released, not as the program has
// it.
constexpr const char* kVersion1 = R"sql(
  CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, problem TEXT NOT NULL, options TEXT NOT NULL,
                     state INTEGER NOT NULL, seed INTEGER NOT NULL, created_ms INTEGER NOT NULL, heartbeat_ms INTEGER NOT NULL,
                     owner_pid INTEGER NOT NULL) STRICT;
  CREATE TABLE nodes (run INTEGER NOT NULL REFERENCES runs(id), "index" INTEGER NOT NULL, parent INTEGER, candidate TEXT NOT NULL,
                      language TEXT NOT NULL, state TEXT NOT NULL, note TEXT NOT NULL, PRIMARY KEY (run, "index")) STRICT;
  CREATE TABLE verdicts (run INTEGER NOT NULL, node INTEGER NOT NULL, verdict TEXT NOT NULL, rung TEXT NOT NULL, correct INTEGER NOT NULL,
                         seconds REAL, FOREIGN KEY (run, node) REFERENCES nodes(run, "index") DEFERRABLE INITIALLY DEFERRED) STRICT;
  CREATE TABLE metrics (run INTEGER NOT NULL, node INTEGER NOT NULL, name TEXT NOT NULL, value REAL, unit TEXT NOT NULL,
                        source TEXT NOT NULL, grade TEXT NOT NULL,
                        FOREIGN KEY (run, node) REFERENCES nodes(run, "index") DEFERRABLE INITIALLY DEFERRED) STRICT;
  CREATE TABLE advice (run INTEGER NOT NULL, node INTEGER NOT NULL, tool TEXT NOT NULL, text TEXT NOT NULL, gain REAL,
                       place TEXT NOT NULL,
                       FOREIGN KEY (run, node) REFERENCES nodes(run, "index") DEFERRABLE INITIALLY DEFERRED) STRICT;
  CREATE TABLE exchanges (run INTEGER NOT NULL REFERENCES runs(id), "index" INTEGER NOT NULL, prompt TEXT NOT NULL, reply TEXT NOT NULL,
                          provider TEXT NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, money REAL, seconds REAL,
                          PRIMARY KEY (run, "index")) STRICT;
  CREATE TABLE events (run INTEGER NOT NULL REFERENCES runs(id), "index" INTEGER NOT NULL, kind TEXT NOT NULL, json TEXT NOT NULL,
                       PRIMARY KEY (run, "index")) STRICT;
  CREATE INDEX verdicts_of ON verdicts (run, node);
  CREATE INDEX metrics_of ON metrics (run, node);
  CREATE INDEX advice_of ON advice (run, node);
  INSERT INTO runs VALUES (3, 'search', 'softmax', '{}', 2, 42, 1000, 2000, 77);
  INSERT INTO nodes VALUES (3, 0, NULL, '0123456789abcdef0123456789abcdef', 'cuda', 'judged', 'the first');
  INSERT INTO verdicts VALUES (3, 0, '0123456789abcdef0123456789abcdef', 'values', 1, 0.5);
  INSERT INTO events VALUES (3, 0, 'evaluated', '{}');
  PRAGMA application_id = 1264014164;
  PRAGMA user_version = 1;
)sql";

TEST_F(MigrationTest, AStoreOfVersion1IsReadAndGoesOn) {
  ASSERT_TRUE(Database::open(path)->script(kVersion1));
  for (int time = 0; time < 2; ++time) {
    auto store = Store::open(folder.path());
    ASSERT_TRUE(store) << format_error(store.error());
    const RunRow run = *store->run(3);
    EXPECT_EQ(run.problem, "softmax");
    EXPECT_EQ(run.seed, 42u);
    EXPECT_EQ(run.state, RunState::kFinished);
    EXPECT_EQ(run.owner, "");
    const Rows rows = *store->rows(3);
    EXPECT_EQ(rows.nodes.at(0).note, "the first");
    EXPECT_EQ(rows.verdicts.at(0).seconds, 0.5);
    EXPECT_EQ(rows.events.size(), 1u);
    EXPECT_TRUE(store->add({.memory = {{"k", "v"}}}));
    EXPECT_EQ(store->create_run({})->id, 4 + time);
  }
}

TEST_F(MigrationTest, OldAndNewStoresHaveTheSameSchema) {
  ASSERT_TRUE(Database::open(path)->script(kVersion1));
  ASSERT_TRUE(Store::open(folder.path()));
  const TempDir other = *TempDir::create("kw-store");
  ASSERT_TRUE(Store::open(other.path()));
  const auto schema = [](const std::string& file) {
    return *Database::open(file)->run("SELECT type, name FROM sqlite_schema ORDER BY name");
  };
  const auto columns = [](const std::string& file) {
    return *Database::open(file)->run("SELECT * FROM pragma_table_info('runs')");
  };
  EXPECT_EQ(schema(path), schema(other / "store.db"));
  EXPECT_EQ(columns(path), columns(other / "store.db"));
}

TEST_F(MigrationTest, ANewerStoreIsRefusedAndLeftAlone) {
  ASSERT_TRUE(Store::open(folder.path()));
  ASSERT_TRUE(Database::open(path)->script(fmt::format("PRAGMA user_version = {}", newest_version() + 5)));
  const std::string before = *read_file(path);
  const auto refused = Store::open(folder.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message.find(fmt::format("its version is {}, this program knows {}",
                                                     newest_version() + 5, newest_version())),
            std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(refused.error().notes.empty());
  EXPECT_EQ(*read_file(path), before);
}

TEST_F(MigrationTest, ADatabaseOfAnotherProgramIsRefusedAndLeftAlone) {
  ASSERT_TRUE(Database::open(path)->script("CREATE TABLE runs (mine TEXT)"));
  const std::string before = *read_file(path);
  const auto refused = Store::open(folder.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(*read_file(path), before);
}

TEST_F(MigrationTest, AMigrationThatFailsChangesNothing) {
  ASSERT_TRUE(Database::open(path)->script(kVersion1));
  ASSERT_TRUE(Database::open(path)->script("CREATE TABLE memory (in_the_way INTEGER)"));
  ASSERT_FALSE(Store::open(folder.path()));
  const auto version = *Database::open(path)->run("PRAGMA user_version");
  EXPECT_EQ(version, (std::vector<Values>{{int64_t{1}}}));
}

}  // namespace
}  // namespace kw::store
