// The store: every run, replayable. One folder with store.db (SQLite, write-ahead log) and objects/HASH
// (base/objects.h), shared by as many processes as like to: who writes waits for the others.
// docs/formats/store.md describes the tables.
//
// Each call is one transaction, on the disk when it returns: a kill at any moment loses what was not
// acknowledged, and no more. Errors say what is wrong with which file and what to do: damaged or foreign
// (kInvalid), made by a newer program (kUnsupported), held by another process for half a minute (kLimit), a
// full, read-only or failing disk (kIo), no such run or object (kNotFound).
//
// Not thread-safe: open one for each thread. Not to be used on both sides of a fork.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/database.h"
#include "store/rows.h"

namespace kw::store {

// $KW_STORE, or $XDG_DATA_HOME/kernelwright, or ~/.local/share/kernelwright. kNotFound when none of these is
// set.
Result<std::string> store_folder();

class Store {
 public:
  // Made when it is not there.
  static Result<Store> open(const std::string& folder);

  // A run of this process. Of `run` kind, problem, options and seed count; the row as it is stored comes
  // back.
  Result<RunRow> create_run(RunRow run);
  Result<std::vector<RunRow>> runs();
  Result<RunRow> run(int64_t id);
  // This process is alive, and the run still its own; more often than every kHeartbeat is not needed.
  Status beat(int64_t run);
  Status set_state(int64_t run, RunState state);
  // Makes this process the owner of a run that is not running, or whose owner is dead. kInvalid when it
  // lives.
  Status claim(int64_t run);

  // All of them, or none.
  Status add(const Rows& rows);
  // All of a run, in order; without the memory.
  Result<Rows> rows(int64_t run);
  Result<std::vector<MemoryRow>> memory();

  // Objects, by hash; on the disk before a row may name them.
  Result<std::string> put(std::string_view bytes);
  Result<std::string> object(const std::string& hash) const;

  const std::string& folder() const { return folder_; }

 private:
  Store(std::string folder, Database database) : folder_(std::move(folder)), database_(std::move(database)) {}
  std::string folder_;
  Database database_;
};

inline constexpr int64_t kHeartbeatMs = 10'000;

// Whether the process that owns a running run is there: on this machine by its pid and start, on another by a
// heartbeat not older than six of them.
bool owner_lives(const RunRow& run);

}  // namespace kw::store
