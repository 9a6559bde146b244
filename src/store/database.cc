#include "store/database.h"

#include <sqlite3.h>

#include <cmath>

namespace kw::store {
namespace {

constexpr int kMostBytes = 64 << 20;  // of one value: what is larger is an object

int bind(sqlite3_stmt* statement, int at, const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return sqlite3_bind_int64(statement, at, *number);
  if (const auto* real = std::get_if<double>(&value))
    return std::isnan(*real) ? sqlite3_bind_null(statement, at) : sqlite3_bind_double(statement, at, *real);
  if (const auto* text = std::get_if<std::string>(&value))
    return sqlite3_bind_text64(statement, at, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return sqlite3_bind_null(statement, at);
}

Value column(sqlite3_stmt* statement, int at) {
  switch (sqlite3_column_type(statement, at)) {
    case SQLITE_INTEGER: return sqlite3_column_int64(statement, at);
    case SQLITE_FLOAT: return sqlite3_column_double(statement, at);
    case SQLITE_NULL: return nullptr;
    default: {
      const void* bytes = sqlite3_column_blob(statement, at);
      const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, at));
      return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
    }
  }
}

struct Meaning {
  ErrorCode code;
  const char* remedy;
};

Meaning meaning_of(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return {ErrorCode::kLimit, "another process holds it: wait for it, or end it"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorCode::kInvalid,
              "it is damaged, or no database: move it away together with its -wal and -shm files; `sqlite3 "
              "store.db .recover` may save what "
              "is in it"};
    case SQLITE_FULL:
      return {ErrorCode::kIo, "the disk is full: make room, or name another folder with KW_STORE"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return {ErrorCode::kIo,
              "the folder and what is in it must be yours to write: or name another with KW_STORE"};
    case SQLITE_TOOBIG: return {ErrorCode::kLimit, "put what is large into an object"};
    case SQLITE_CONSTRAINT:
      return {ErrorCode::kInvalid, "the row names a run or node that is not there, or is there already"};
    default:
      return {ErrorCode::kIo,
              "look whether the disk is healthy, local, and has room; KW_STORE names another folder"};
  }
}

}  // namespace

void Database::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }
void Database::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Error Database::error(int code, std::string_view what) const {
  const Meaning meaning = meaning_of(code);
  const std::string reason = db_ != nullptr ? sqlite3_errmsg(db_.get()) : sqlite3_errstr(code);
  return {meaning.code, fmt::format("{}: cannot {}: {}", path_, what, reason), {}, {}, {meaning.remedy}};
}

Result<Database> Database::open(const std::string& path, int patience_ms) {
  Database out;
  out.path_ = path;
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  out.db_.reset(db);
  if (code != SQLITE_OK) return fail(out.error(code, "open it"));
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, patience_ms);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kMostBytes);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  // What the file's schema says is not trusted; a commit is on the disk when it returns.
  KW_TRY_VOID(
      out.script("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON; PRAGMA "
                 "synchronous = FULL;"));
  return out;
}

Result<sqlite3_stmt*> Database::prepared(std::string_view sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return found->second.get();
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  std::unique_ptr<sqlite3_stmt, Finalize> owned(statement);
  if (code != SQLITE_OK) return fail(error(code, "read it"));
  return (statements_[std::string(sql)] = std::move(owned)).get();
}

Result<std::vector<Values>> Database::run(std::string_view sql, const Values& bound) {
  KW_TRY(sqlite3_stmt* const statement, prepared(sql));
  struct Reset {
    sqlite3_stmt* statement;
    ~Reset() {
      sqlite3_reset(statement);
      sqlite3_clear_bindings(statement);
    }
  } const reset{statement};
  for (size_t i = 0; i < bound.size(); ++i)
    if (const int code = bind(statement, static_cast<int>(i) + 1, bound[i]); code != SQLITE_OK)
      return fail(error(code, "take a value"));
  std::vector<Values> rows;
  int code = sqlite3_step(statement);
  for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
    Values row;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) row.push_back(column(statement, i));
    rows.push_back(std::move(row));
  }
  if (code != SQLITE_DONE)
    return fail(error(code, sqlite3_stmt_readonly(statement) != 0 ? "read it" : "write to it"));
  return rows;
}

Status Database::script(const std::string& sql) {
  const int code = sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(error(code, "set it up"));
  return {};
}

Status Database::transaction(Access access, const std::function<Status()>& body) {
  // IMMEDIATE: who has read and then wants to write would be refused at once when somebody else wrote in
  // between.
  KW_TRY_VOID(run(access == Access::kWrite ? "BEGIN IMMEDIATE" : "BEGIN"));
  struct Rollback {
    Database* database;
    ~Rollback() {
      if (database != nullptr && sqlite3_get_autocommit(database->db_.get()) == 0)
        (void)database->run("ROLLBACK");
    }
  } rollback{this};
  KW_TRY_VOID(body());
  KW_TRY_VOID(run("COMMIT"));
  rollback.database = nullptr;
  return {};
}

int64_t Database::last_id() const { return sqlite3_last_insert_rowid(db_.get()); }

}  // namespace kw::store
