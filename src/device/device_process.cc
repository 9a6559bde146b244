// The caller's side of a device process.
#include "device/device_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/subprocess.h"
#include "base/unique_fd.h"
#include "device/frame.h"
#include "device/replay.h"
#include "device/report_json.h"

extern char** environ;

namespace kw::device {
namespace {

using Json = nlohmann::json;

constexpr double kGrace_s = 2;   // for a device that keeps deadlines itself

// One life of the other process.
class Process {
 public:
  static Result<std::shared_ptr<Process>> start(const DeviceProcessOptions& options) {
    if (options.argv.empty()) return fail(ErrorCode::kInvalid, "a device process without a program");
    KW_TRY(const std::string program, find_program(options.argv[0]));
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return fail(ErrorCode::kIo, "no socket for a device process");
    auto process = std::shared_ptr<Process>(new Process);
    process->socket_ = UniqueFd(ends[0]);
    const timeval patience{static_cast<time_t>(options.answer_s) + 1, 0};   // when it does not even read
    ::setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const UniqueFd theirs(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);   // what kernels print
    posix_spawn_file_actions_adddup2(&actions, theirs.get(), 3);
    std::vector<char*> argv;
    for (const std::string& word : options.argv) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const int failed = ::posix_spawn(&process->pid_, program.c_str(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
      process->pid_ = -1;
      return fail(ErrorCode::kIo, "{} does not start: {}", program, std::strerror(failed));
    }
    return process;
  }

  ~Process() { end(); }

  bool alive() const { return static_cast<bool>(socket_); }

  // kLimit and kIo end the process: what it holds is lost.
  Result<Frame> ask(const Json& request, double answer_s, std::span<const uint8_t> body = {}, std::span<uint8_t> into = {}) {
    if (!alive()) return fail(ErrorCode::kIo, "the device process has ended");
    auto reply = [&]() -> Result<Frame> {
      KW_TRY_VOID(send_frame(socket_.get(), request, body));
      return receive_frame(socket_.get(), answer_s, into.size(), into);
    }();
    if (!reply) {
      end();
      return reply;
    }
    const auto error = reply->head.find("error");
    if (error == reply->head.end()) return reply;
    Error told{ErrorCode::kIo, "the device process has an error", {}, {}, {}};
    const auto read = read_answer(*error, [&](const Json& json) {
      const int code = json.value("code", static_cast<int>(ErrorCode::kIo));
      if (code >= 0 && code <= static_cast<int>(ErrorCode::kLimit)) told.code = static_cast<ErrorCode>(code);
      told.message = json.value("message", told.message);
      told.notes = json.value("notes", std::vector<std::string>());
      return told;
    });
    return fail(read ? *read : read.error());
  }

  // Also ends kernels that do not.
  void end() {
    socket_.reset();
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
    pid_ = -1;
  }

  std::mutex mutex;   // of whoever asks

 private:
  Process() = default;
  UniqueFd socket_;
  pid_t pid_ = -1;
};

class ProcessPlan final : public LoadedPlan {
 public:
  ProcessPlan(std::shared_ptr<Process> process, uint64_t id, plan::Plan plan, double answer_s)
      : process_(std::move(process)), id_(id), plan_(std::move(plan)), answer_s_(answer_s) {}
  ~ProcessPlan() override {
    const std::lock_guard lock(process_->mutex);
    if (process_->alive()) (void)process_->ask(request("unload"), answer_s_);
  }

  const plan::Plan& plan() const override { return plan_; }

  Status write(std::string_view buffer, std::span<const uint8_t> bytes) override {
    KW_TRY_VOID(find_buffer(plan_, buffer, bytes.size()));
    KW_TRY_VOID(ask(request("write", buffer), bytes));
    return {};
  }

  Status read(std::string_view buffer, std::span<uint8_t> bytes) const override {
    KW_TRY_VOID(find_buffer(plan_, buffer, bytes.size()));
    KW_TRY(const Frame reply, ask(request("read", buffer), {}, bytes));
    if (reply.body_bytes != bytes.size()) return fail(ErrorCode::kInvalid, "the device process sends {} bytes of '{}', not {}", reply.body_bytes, buffer, bytes.size());
    return {};
  }

  Result<std::optional<uint64_t>> first_unwritten(std::string_view buffer) const override {
    KW_TRY(const Frame reply, ask(request("first_unwritten", buffer)));
    const auto byte = reply.head.find("byte");
    if (byte == reply.head.end() || !byte->is_number_unsigned()) return std::nullopt;
    return byte->get<uint64_t>();
  }

  Status reset() override {
    KW_TRY_VOID(ask(request("reset")));
    return {};
  }

  Result<RunReport> run(const RunOptions& options) override {
    Json asked = request("run");
    asked.update(json_of(options));
    KW_TRY(const std::optional<Frame> reply, execute(asked, options.deadline_s));
    if (!reply) {
      RunReport late;   // no step is known to be to blame
      late.wall_s = options.deadline_s + kGrace_s;
      return late;
    }
    KW_TRY(RunReport report, run_report_of(reply->head));
    const StepReport* step = report.first_with_finding();
    if (step != nullptr) end_after(step->findings.front());
    return report;
  }

  Result<CallReport> call(const CallOptions& options) override {
    Json asked = request("call");
    asked.update(json_of(options));
    KW_TRY(const std::optional<Frame> reply, execute(asked, options.deadline_s));
    if (!reply) return CallReport();
    KW_TRY(CallReport report, call_report_of(reply->head));
    if (!report.findings.empty()) end_after(report.findings.front());
    return report;
  }

 private:
  Json request(const char* what, std::string_view buffer = {}) const {
    Json head = {{"do", what}, {"plan", id_}};
    if (!buffer.empty()) head["buffer"] = buffer;
    return head;
  }
  Result<Frame> ask(const Json& head, std::span<const uint8_t> body = {}, std::span<uint8_t> into = {}) const {
    const std::lock_guard lock(process_->mutex);
    return process_->ask(head, answer_s_, body, into);
  }

  // None: it passed its deadline, and the process has ended.
  Result<std::optional<Frame>> execute(const Json& head, double deadline_s) {
    const std::lock_guard lock(process_->mutex);
    const bool was_alive = process_->alive();
    auto reply = process_->ask(head, deadline_s > 0 ? deadline_s + kGrace_s : 0);
    if (reply) return std::optional<Frame>(std::move(*reply));
    if (was_alive && reply.error().code == ErrorCode::kLimit && !process_->alive()) return std::optional<Frame>();
    return tl::unexpected(std::move(reply.error()));
  }
  // A fault of a kernel may leave the process unable to run another; what is left there is not worth keeping.
  void end_after(const emu::Finding& finding) {
    const std::lock_guard lock(process_->mutex);
    if (finding.fatal) process_->end();
  }

  std::shared_ptr<Process> process_;
  uint64_t id_;
  plan::Plan plan_;
  double answer_s_;
};

class DeviceProcess final : public Device {
 public:
  static Result<std::unique_ptr<Device>> start(DeviceProcessOptions options) {
    auto device = std::unique_ptr<DeviceProcess>(new DeviceProcess(std::move(options)));
    KW_TRY(device->process_, Process::start(device->options_));
    KW_TRY(const Frame reply, device->process_->ask({{"do", "capabilities"}}, device->options_.answer_s));
    KW_TRY(device->can_, read_answer(reply.head, [](const Json& json) {
      Capabilities can;
      can.name = json.value("name", "a device process");
      can.times = json.value("times", false);
      can.findings = json.value("findings", false);
      can.dram_bytes_per_s = json.value("dram_bytes_per_s", 0.0);
      return can;
    }));
    return std::unique_ptr<Device>(std::move(device));
  }

  Capabilities capabilities() const override { return can_; }

  Result<std::shared_ptr<Device>> another() const override {
    KW_TRY(auto device, start(options_));
    return std::shared_ptr<Device>(std::move(device));
  }

  Conditions conditions() override {
    const auto reply = ask({{"do", "conditions"}});
    return reply ? read_answer(reply->head, conditions_of).value_or(Conditions()) : Conditions();
  }

  Power idle_power(double seconds) override {
    const auto reply = ask({{"do", "idle_power"}, {"seconds", seconds}});
    return reply ? read_answer(reply->head, power_of).value_or(Power()) : Power();
  }

  Result<std::unique_ptr<LoadedPlan>> load(plan::Plan plan, const LoadOptions& options) override {
    KW_TRY_VOID(plan::check(plan));
    KW_TRY(const std::shared_ptr<Process> process, living());
    const uint64_t id = ++loaded_;
    const Json request = {{"do", "load"}, {"plan", id}, {"layout_seed", options.layout_seed}, {"track_initialised", options.track_initialised}};
    const std::string text = plan::write(plan);
    {
      const std::lock_guard lock(process->mutex);
      KW_TRY_VOID(process->ask(request, options_.answer_s, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
    }
    return std::unique_ptr<LoadedPlan>(std::make_unique<ProcessPlan>(process, id, std::move(plan), options_.answer_s));
  }

 private:
  explicit DeviceProcess(DeviceProcessOptions options) : options_(std::move(options)) {}

  Result<Frame> ask(const Json& request) {
    KW_TRY(const std::shared_ptr<Process> process, living());
    const std::lock_guard lock(process->mutex);
    return process->ask(request, options_.answer_s);
  }

  Result<std::shared_ptr<Process>> living() {
    const std::lock_guard lock(mutex_);
    bool alive = false;
    {
      const std::lock_guard quiet(process_->mutex);
      alive = process_->alive();
    }
    if (!alive) {
      KW_TRY(process_, Process::start(options_));
    }
    return process_;
  }

  DeviceProcessOptions options_;
  Capabilities can_;
  std::mutex mutex_;
  std::shared_ptr<Process> process_;   // the latest
  std::atomic<uint64_t> loaded_ = 0;
};

}  // namespace

Result<std::unique_ptr<Device>> make_device_process(DeviceProcessOptions options) { return DeviceProcess::start(std::move(options)); }

}  // namespace kw::device
