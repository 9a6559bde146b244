#include "store/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/file.h"
#include "base/leftover.h"
#include "base/objects.h"
#include "base/unique_fd.h"
#include "store/owner.h"
#include "store/schema.h"
#include "store/tables.h"

namespace kw::store {
namespace {

constexpr int kPatienceMs = 30'000;  // with other processes
constexpr const char* kYours =
    "the folder and what is in it must be yours to write: or name another with KW_STORE";

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

// While it lives, no other process opens the store: a new database is set up once, an old one migrated once.
Result<UniqueFd> alone_in(const std::string& folder) {
  const std::string path = folder + "/store.lock";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd)
    return fail(Error{
        ErrorCode::kIo, fmt::format("cannot open {}: {}", path, std::strerror(errno)), {}, {}, {kYours}});
  const int64_t until = now_ms() + kPatienceMs;
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return fail(ErrorCode::kIo, "cannot lock {}: {}", path, std::strerror(errno));
    if (now_ms() > until)
      return fail(
          Error{ErrorCode::kLimit,
                fmt::format("another process has been opening {} for {} s", folder, kPatienceMs / 1000),
                {},
                {},
                {"end it: one that was stopped (SIGSTOP) holds the store, too"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return fd;
}

tl::unexpected<Error> no_run(int64_t id) {
  return fail(Error{ErrorCode::kNotFound,
                    fmt::format("there is no run {}", id),
                    {},
                    {},
                    {"`kw run list` names those there are"}});
}

}  // namespace

Result<std::string> store_folder() {
  for (const auto& [name, below] : {std::pair{"KW_STORE", ""},
                                    {"XDG_DATA_HOME", "/kernelwright"},
                                    {"HOME", "/.local/share/kernelwright"}})
    if (const char* folder = std::getenv(name); folder != nullptr && *folder != '\0')
      return std::string(folder) + below;
  return fail(ErrorCode::kNotFound, "there is no folder for the store; set KW_STORE or HOME");
}

Result<Store> Store::open(const std::string& folder) {
  if (auto made = make_folder(folder + "/objects"); !made) {
    made.error().notes.push_back(kYours);
    return tl::unexpected(std::move(made).error());
  }
  KW_TRY_VOID(sync_folder(folder));
  KW_TRY(const UniqueFd alone, alone_in(folder));
  sweep_unfinished(folder + "/objects");
  KW_TRY(Database database, Database::open(folder + "/store.db", kPatienceMs));
  KW_TRY_VOID(migrate(database));
  // After that: a database of another program is left as it is.
  KW_TRY(const std::vector<Values> mode, database.run("PRAGMA journal_mode = WAL"));
  if (mode.empty() || mode[0] != Values{std::string("wal")})
    return fail(Error{ErrorCode::kIo,
                      fmt::format("{}/store.db cannot have a write-ahead log here", folder),
                      {},
                      {},
                      {"the folder must be on a local disk: name another with KW_STORE"}});
  return Store(folder, std::move(database));
}

Result<RunRow> Store::create_run(RunRow run) {
  run.state = RunState::kRunning;
  run.created_ms = run.heartbeat_ms = now_ms();
  run.owner_pid = getpid();
  run.owner = this_process();
  KW_TRY_VOID(database_.transaction(Database::Access::kWrite, [&] { return insert(database_, run); }));
  run.id = database_.last_id();
  return run;
}

Result<std::vector<RunRow>> Store::runs() { return select<RunRow>(database_); }

Result<RunRow> Store::run(int64_t id) {
  KW_TRY(std::vector<RunRow> found, select<RunRow>(database_, "WHERE id = ?", {id}));
  if (found.empty()) return no_run(id);
  return std::move(found.front());
}

Status Store::beat(int64_t run) {
  return database_.transaction(Database::Access::kWrite, [&]() -> Status {
    KW_TRY(const std::vector<Values> changed,
           database_.run(
               "UPDATE runs SET heartbeat_ms = ? WHERE id = ? AND owner_pid = ? AND owner = ? RETURNING id",
               {now_ms(), run, int64_t{getpid()}, this_process()}));
    if (!changed.empty()) return {};
    return fail(Error{ErrorCode::kInvalid,
                      fmt::format("run {} is not this process's any more", run),
                      {},
                      {},
                      {"another has taken it over: end this one"}});
  });
}

Status Store::set_state(int64_t run, RunState state) {
  return database_.transaction(Database::Access::kWrite, [&]() -> Status {
    KW_TRY(const std::vector<Values> changed,
           database_.run("UPDATE runs SET state = ?, heartbeat_ms = ? WHERE id = ? RETURNING id",
                         {static_cast<int64_t>(state), now_ms(), run}));
    if (changed.empty()) return no_run(run);
    return {};
  });
}

Status Store::claim(int64_t id) {
  return database_.transaction(Database::Access::kWrite, [&]() -> Status {
    KW_TRY(const RunRow run, this->run(id));
    const bool own = run.owner_pid == getpid() && run.owner == this_process();
    if (run.state == RunState::kRunning && !own && owner_lives(run))
      return fail(Error{ErrorCode::kInvalid,
                        fmt::format("run {} is being run by process {}", id, run.owner_pid),
                        {},
                        {},
                        {"wait for it, or end that process"}});
    KW_TRY_VOID(database_.run(
        "UPDATE runs SET state = ?, heartbeat_ms = ?, owner_pid = ?, owner = ? WHERE id = ?",
        {static_cast<int64_t>(RunState::kRunning), now_ms(), int64_t{getpid()}, this_process(), id}));
    return {};
  });
}

Status Store::add(const Rows& rows) {
  return database_.transaction(Database::Access::kWrite, [&]() -> Status {
    const auto all = [&](const auto& list) -> Status {
      for (const auto& row : list) KW_TRY_VOID(insert(database_, row));
      return {};
    };
    KW_TRY_VOID(all(rows.nodes));
    KW_TRY_VOID(all(rows.verdicts));
    KW_TRY_VOID(all(rows.metrics));
    KW_TRY_VOID(all(rows.advice));
    KW_TRY_VOID(all(rows.exchanges));
    KW_TRY_VOID(all(rows.evaluations));
    KW_TRY_VOID(all(rows.events));
    return all(rows.memory);
  });
}

Result<Rows> Store::rows(int64_t id) {
  Rows out;
  // One transaction, so that what is read belongs together.
  KW_TRY_VOID(database_.transaction(Database::Access::kRead, [&]() -> Status {
    KW_TRY_VOID(run(id));
    const std::string of_run = "WHERE run = ?";
    KW_TRY(out.nodes, select<NodeRow>(database_, of_run, {id}));
    KW_TRY(out.verdicts, select<VerdictRow>(database_, of_run, {id}));
    KW_TRY(out.metrics, select<MetricRow>(database_, of_run, {id}));
    KW_TRY(out.advice, select<AdviceRow>(database_, of_run, {id}));
    KW_TRY(out.exchanges, select<ExchangeRow>(database_, of_run, {id}));
    KW_TRY(out.evaluations, select<EvaluationRow>(database_, of_run, {id}));
    KW_TRY(out.events, select<EventRow>(database_, of_run, {id}));
    return {};
  }));
  return out;
}

Result<std::vector<MemoryRow>> Store::memory() { return select<MemoryRow>(database_); }

Result<std::string> Store::put(std::string_view bytes) { return put_object(folder_, bytes); }

Result<std::string> Store::object(const std::string& hash) const { return kw::object(folder_, hash); }

bool owner_lives(const RunRow& run) {
  if (host_of(run.owner) != host_of(this_process())) return now_ms() - run.heartbeat_ms <= 6 * kHeartbeatMs;
  return process_lives(run.owner_pid, run.owner);
}

}  // namespace kw::store
