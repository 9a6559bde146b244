#include "device/frame.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace kw::device {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kMostHead = uint64_t{64} << 20;
constexpr double kLongestWait_s = 1e8;  // that a clock can count

Status send_all(int socket, const void* data, size_t bytes) {
  const auto* at = static_cast<const uint8_t*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return fail(ErrorCode::kIo, "the device process is gone: {}", std::strerror(errno));
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return {};
}

Status receive_all(int socket, void* data, size_t bytes, Clock::time_point end, bool bounded) {
  auto* at = static_cast<uint8_t*>(data);
  while (bytes > 0) {
    int wait_ms = -1;
    if (bounded) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
      if (left <= 0) return fail(ErrorCode::kLimit, "the device process does not answer");
      wait_ms = static_cast<int>(std::min<int64_t>(left, 1 << 30));
    }
    pollfd waiting{socket, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, wait_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) continue;
    const ssize_t got = ::recv(socket, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(ErrorCode::kIo, "the device process has ended");
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return {};
}

}  // namespace

Status send_frame(int socket, const nlohmann::json& json, std::span<const uint8_t> body) {
  const std::string head = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const uint64_t sizes[2] = {head.size(), body.size()};
  KW_TRY_VOID(send_all(socket, sizes, sizeof sizes));
  KW_TRY_VOID(send_all(socket, head.data(), head.size()));
  return send_all(socket, body.data(), body.size());
}

FreshVector<uint8_t> body_of(uint64_t bytes, FreshVector<uint8_t> storage) {
  if (storage.capacity() < bytes) return FreshVector<uint8_t>(bytes);   // grown, it would keep what it holds
  storage.resize(bytes);
  return storage;
}

Result<Frame> receive_frame(int socket, double deadline_s, uint64_t most_bytes, std::span<uint8_t> into, FreshVector<uint8_t> storage) {
  const bool bounded = deadline_s > 0;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(bounded ? std::min(deadline_s, kLongestWait_s) : 0));
  uint64_t sizes[2];
  KW_TRY_VOID(receive_all(socket, sizes, sizeof sizes, end, bounded));
  if (sizes[0] > kMostHead || sizes[1] > most_bytes) return fail(ErrorCode::kInvalid, "the device process sends a message of {} and {} bytes", sizes[0], sizes[1]);
  std::string head(sizes[0], '\0');
  KW_TRY_VOID(receive_all(socket, head.data(), head.size(), end, bounded));
  Frame frame;
  frame.head = nlohmann::json::parse(head, nullptr, false);
  if (!frame.head.is_object()) return fail(ErrorCode::kInvalid, "the device process sends what is not a message");
  frame.body_bytes = sizes[1];
  const bool elsewhere = sizes[1] == into.size();
  frame.body = body_of(elsewhere ? 0 : sizes[1], std::move(storage));
  if (!elsewhere) into = frame.body;
  KW_TRY_VOID(receive_all(socket, into.data(), into.size(), end, bounded));
  return frame;
}

}  // namespace kw::device
