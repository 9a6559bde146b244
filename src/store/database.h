// SQLite, as far as this project needs it: prepared statements with bound values, rows back. Internal to
// store; the only place that knows of SQLite is database.cc. Not thread-safe: a Database for each thread.
//
// Errors tell a database that is damaged or none (kInvalid), locked for too long (kLimit), and a disk that is
// full, read-only or failing (kIo), each with its remedy.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kw::store {

using Value = std::variant<std::nullptr_t, int64_t, double, std::string>;  // NaN goes in as null
using Values = std::vector<Value>;

class Database {
 public:
  // Made when it is not there. Another process that writes is waited for, up to `patience_ms`.
  static Result<Database> open(const std::string& path, int patience_ms = 30'000);

  // One statement; all of its rows. Statements are prepared once and kept.
  Result<std::vector<Values>> run(std::string_view sql, const Values& bound = {});
  // Several statements without values: a schema.
  Status script(const std::string& sql);
  // All of the body or nothing: what it did is taken back when it returns an error, throws, or the process
  // dies. What a body that only reads sees is of one moment, and nobody waits for it.
  enum class Access : uint8_t { kRead, kWrite };
  Status transaction(Access access, const std::function<Status()>& body);

  int64_t last_id() const;  // of the row inserted last
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Error error(int code, std::string_view what) const;
  Result<sqlite3_stmt*> prepared(std::string_view sql);

  std::string path_;
  std::unique_ptr<sqlite3, Close> db_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>> statements_;
};

}  // namespace kw::store
