// The device's side of a device process.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <optional>
#include <thread>

#include "device/device_process.h"
#include "device/frame.h"
#include "device/report_json.h"

namespace kw::device {
namespace {

constexpr uint64_t kMostBody = uint64_t{1} << 40;

class Server {
 public:
  explicit Server(Device& device) : device_(device) {}

  // A body of the answer may take the request's memory.
  Result<Frame> answer(Frame& request) {
    const std::string what = request.head.value("do", "");
    Frame reply;
    if (what == "capabilities") {
      const Capabilities can = device_.capabilities();
      reply.head = {{"name", can.name}, {"times", can.times}, {"findings", can.findings}, {"dram_bytes_per_s", can.dram_bytes_per_s}};
      return reply;
    }
    if (what == "conditions") {
      reply.head = json_of(device_.conditions());
      return reply;
    }
    if (what == "idle_power") {
      reply.head = json_of(device_.idle_power(request.head.value("seconds", 0.0)));
      return reply;
    }
    const uint64_t id = request.head.value("plan", uint64_t{0});
    if (what == "load") {
      const std::string_view text(reinterpret_cast<const char*>(request.body.data()), request.body.size());
      KW_TRY(plan::Plan plan, plan::parse(text, "the plan"));
      LoadOptions options;
      options.layout_seed = request.head.value("layout_seed", uint64_t{0});
      options.track_initialised = request.head.value("track_initialised", true);
      KW_TRY(auto loaded, device_.load(std::move(plan), options));
      plans_[id] = std::move(loaded);
      return reply;
    }
    if (what == "unload") {
      plans_.erase(id);
      return reply;
    }
    const auto it = plans_.find(id);
    if (it == plans_.end()) return fail(ErrorCode::kNotFound, "the device process has no plan {}", id);
    LoadedPlan& loaded = *it->second;
    const std::string buffer = request.head.value("buffer", "");
    if (what == "write") {
      KW_TRY_VOID(loaded.write(buffer, request.body));
    } else if (what == "read") {
      const plan::Buffer* known = loaded.plan().find_buffer(buffer);
      reply.body = body_of(known == nullptr ? 0 : known->bytes, std::move(request.body));
      KW_TRY_VOID(loaded.read(buffer, reply.body));
    } else if (what == "first_unwritten") {
      KW_TRY(const auto first, loaded.first_unwritten(buffer));
      if (first) reply.head["byte"] = *first;
    } else if (what == "reset") {
      KW_TRY_VOID(loaded.reset());
    } else if (what == "run") {
      KW_TRY(const RunReport report, loaded.run(run_options_of(request.head)));
      reply.head = json_of(report);
    } else if (what == "call") {
      KW_TRY(const CallReport report, loaded.call(call_options_of(request.head)));
      reply.head = json_of(report);
    } else {
      return fail(ErrorCode::kInvalid, "the device process is asked for '{}'", what);
    }
    return reply;
  }

 private:
  Device& device_;
  std::map<uint64_t, std::unique_ptr<LoadedPlan>> plans_;
};

// A kernel that does not end keeps the main thread; the caller's end must still end this process.
void end_with_the_caller(int socket) {
  pollfd hung_up{socket, POLLRDHUP, 0};
  while (::poll(&hung_up, 1, -1) < 0 && errno == EINTR) continue;
  ::_exit(0);
}

Frame error_frame(const Error& error) {
  Frame frame;
  frame.head["error"] = {{"code", static_cast<int>(error.code)}, {"message", error.message}, {"notes", error.notes}};
  return frame;
}

// A field of another type than it has is the caller's mistake, not this process's end.
Result<Frame> answer_of(Server& server, Frame& request) {
  try {
    return server.answer(request);
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::kInvalid, "the device process does not understand: {}", error.what());
  }
}

}  // namespace

int serve_device(Result<std::unique_ptr<Device>> device, int socket) {
  std::thread(end_with_the_caller, socket).detach();
  std::optional<Server> server;
  if (device) server.emplace(**device);
  FreshVector<uint8_t> storage;
  for (;;) {
    auto request = receive_frame(socket, 0, kMostBody, {}, std::move(storage));
    if (!request) return request.error().code == ErrorCode::kIo ? 0 : 2;
    auto answered = server ? answer_of(*server, *request) : Result<Frame>(fail(device.error()));
    Frame sent = answered ? std::move(*answered) : error_frame(answered.error());
    if (!send_frame(socket, sent.head, sent.body)) return 0;
    storage = std::move(sent.body.capacity() > 0 ? sent.body : request->body);
  }
}

}  // namespace kw::device
