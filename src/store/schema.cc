#include "store/schema.h"

#include <iterator>

namespace kw::store {
namespace {

// "KWST": a database of another program is not taken for ours.
constexpr int64_t kApplication = 0x4B575354;

// Never changed once released; what comes next is a new entry.
constexpr const char* kMigrations[] = {
    // 1
    R"sql(
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
    )sql",
    // 2: what is known across runs; a pid that is used again is told from the owner.
    R"sql(
      CREATE TABLE memory (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT;
      ALTER TABLE runs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
    )sql",
    // 3: a step of a run may try several candidates.
    R"sql(
      CREATE TABLE evaluations (run INTEGER NOT NULL REFERENCES runs(id), candidate TEXT NOT NULL, evaluation TEXT NOT NULL,
                                PRIMARY KEY (run, candidate)) STRICT;
    )sql",
};

Result<int64_t> number(Database& database, std::string_view sql) {
  KW_TRY(const std::vector<Values> rows, database.run(sql));
  const auto* value = rows.empty() || rows[0].empty() ? nullptr : std::get_if<int64_t>(&rows[0][0]);
  if (value == nullptr) return fail(ErrorCode::kInvalid, "{}: '{}' gives no number", database.path(), sql);
  return *value;
}

// 0 for a new one. Errors as migrate().
Result<int64_t> version_of(Database& database) {
  KW_TRY(const int64_t version, number(database, "PRAGMA user_version"));
  KW_TRY(const int64_t application, number(database, "PRAGMA application_id"));
  KW_TRY(const int64_t tables, number(database, "SELECT count(*) FROM sqlite_schema"));
  if (application != kApplication && (application != 0 || version != 0 || tables != 0))
    return fail(Error{ErrorCode::kInvalid,
                      fmt::format("{} is a database of another program", database.path()),
                      {},
                      {},
                      {"name another folder with KW_STORE"}});
  if (version > newest_version())
    return fail(Error{ErrorCode::kUnsupported,
                      fmt::format("{} was written by a newer kw: its version is {}, this program knows {}",
                                  database.path(), version, newest_version()),
                      {},
                      {},
                      {"use that kw, or name another folder with KW_STORE"}});
  if (version < 0) return fail(ErrorCode::kInvalid, "{}: its version is {}", database.path(), version);
  return version;
}

}  // namespace

int64_t newest_version() { return std::size(kMigrations); }

Status migrate(Database& database) {
  KW_TRY(const int64_t version, version_of(database));
  if (version == newest_version()) return {};
  return database.transaction(Database::Access::kWrite, [&]() -> Status {
    for (int64_t next = version; next < newest_version(); ++next)
      KW_TRY_VOID(database.script(kMigrations[next]));
    return database.script(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, newest_version()));
  });
}

}  // namespace kw::store
