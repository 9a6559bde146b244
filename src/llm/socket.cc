#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/unique_fd.h"
#include "llm/byte_stream.h"

namespace kw::llm {
namespace {

constexpr double kLookSeconds = 0.05;  // how often a cancellation is looked for

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

struct Lookup {
  std::mutex mutex;
  bool ended = false;
  int error = 0;
  addrinfo* found = nullptr;
  ~Lookup() {
    if (found != nullptr) freeaddrinfo(found);
  }
};

tl::unexpected<Failure> impatient(const Patience& patience, const std::string& what) {
  if (patience.cancelled()) return fail(FailureKind::kCancelled, fmt::format("cancelled while {}", what));
  return fail(FailureKind::kTimedOut, fmt::format("the time allowed was over while {}", what),
              "allow more time");
}

// The system's resolver cannot be interrupted, so it runs in a thread that is left behind when nobody waits
// any longer.
Answer<Addresses> resolve(const std::string& host, uint16_t port, double seconds, const Patience& patience) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  const std::string service = std::to_string(port);
  addrinfo* numeric = nullptr;
  if (getaddrinfo(host.c_str(), service.c_str(), &hints, &numeric) == 0)
    return Addresses(numeric, freeaddrinfo);

  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  const auto lookup = std::make_shared<Lookup>();
  const auto look = [lookup, host, service, hints] {
    addrinfo* found = nullptr;
    const int error = getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
    const std::lock_guard lock(lookup->mutex);
    lookup->found = found;
    lookup->error = error;
    lookup->ended = true;
  };
  try {
    std::thread(look).detach();
  } catch (const std::system_error&) {
    return fail(FailureKind::kUnreachable, fmt::format("no thread can be had to look {} up", host),
                "are there too many threads?");
  }
  const Clock::time_point start = Clock::now();
  while (true) {
    {
      const std::lock_guard lock(lookup->mutex);
      if (lookup->ended) {
        if (lookup->error == 0) return Addresses(std::exchange(lookup->found, nullptr), freeaddrinfo);
        Failure failure =
            make_failure(FailureKind::kUnreachable,
                         fmt::format("the host {} is not found: {}", host, gai_strerror(lookup->error)),
                         "look at the address and at the network");
        failure.retriable = lookup->error == EAI_AGAIN;
        return fail(std::move(failure));
      }
    }
    if (patience.over()) return impatient(patience, fmt::format("{} was looked up", host));
    if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) {
      return fail(FailureKind::kUnreachable,
                  fmt::format("the name server did not say within {:.0f} s where {} is", seconds, host),
                  "look at the network");
    }
    wait_for(0.005, patience);
  }
}

class Socket : public ByteStream {
 public:
  Socket(UniqueFd fd, std::string host) : fd_(std::move(fd)), host_(std::move(host)) {}

  Answer<void> send(std::string_view bytes, const Wait& wait) override {
    while (!bytes.empty()) {
      if (wait.patience.over()) return impatient(wait.patience, fmt::format("{} took the request", host_));
      const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n > 0) {
        bytes.remove_prefix(static_cast<size_t>(n));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (auto ready = until_ready(POLLOUT, wait, "takes no more of the request"); !ready) return ready;
      } else if (errno != EINTR) {
        return fail(FailureKind::kCutStream,
                    fmt::format("{} ended the connection before it had the whole request: {}", host_,
                                std::strerror(errno)));
      }
    }
    return {};
  }

  Answer<size_t> receive(char* into, size_t most, const Wait& wait) override {
    while (true) {
      // Looked at each time: one that sends without an end never has to be waited for.
      if (wait.patience.over()) return impatient(wait.patience, fmt::format("{} was answering", host_));
      const ssize_t n = ::recv(fd_.get(), into, most, 0);
      if (n >= 0) return static_cast<size_t>(n);
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (auto ready = until_ready(POLLIN, wait, "sent nothing"); !ready)
          return fail(std::move(ready.error()));
      } else if (errno != EINTR) {
        return fail(FailureKind::kCutStream,
                    fmt::format("the connection to {} broke: {}", host_, std::strerror(errno)));
      }
    }
  }

 private:
  Answer<void> until_ready(short what, const Wait& wait, std::string_view doing) {
    const Clock::time_point start = Clock::now();
    while (true) {
      const double idle_left =
          wait.idle_seconds - std::chrono::duration<double>(Clock::now() - start).count();
      const double seconds = std::clamp(std::min(wait.patience.seconds_left(), idle_left), 0.0, kLookSeconds);
      pollfd one{fd_.get(), what, 0};
      if (poll(&one, 1, static_cast<int>(std::ceil(seconds * 1e3))) > 0) return {};
      if (wait.patience.over()) return {};  // the caller looks
      if (idle_left <= 0)
        return fail(FailureKind::kTimedOut, fmt::format("{} {} for {:g} s", host_, doing, wait.idle_seconds),
                    "ask again, or allow more time");
    }
  }

  UniqueFd fd_;
  std::string host_;
};

}  // namespace

Answer<std::unique_ptr<ByteStream>> connect_to(const std::string& host, uint16_t port, double connect_seconds,
                                               const Patience& patience) {
  const Clock::time_point start = Clock::now();
  const auto left = [&] {
    return connect_seconds - std::chrono::duration<double>(Clock::now() - start).count();
  };
  auto addresses = resolve(host, port, connect_seconds, patience);
  if (!addresses) return fail(std::move(addresses.error()));
  std::string reason = "it has no address";
  for (const addrinfo* each = addresses->get(); each != nullptr; each = each->ai_next) {
    UniqueFd fd(socket(each->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) {
      reason = std::strerror(errno);
      continue;
    }
    int error = connect(fd.get(), each->ai_addr, each->ai_addrlen) == 0 ? 0 : errno;
    while (error == EINPROGRESS) {
      pollfd one{fd.get(), POLLOUT, 0};
      if (poll(&one, 1, static_cast<int>(kLookSeconds * 1e3)) > 0) {
        socklen_t size = sizeof error;
        getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
        break;
      }
      if (patience.over()) return impatient(patience, fmt::format("{} was being connected to", host));
      if (left() <= 0) error = ETIMEDOUT;
    }
    if (error == 0) {
      const int on = 1;
      setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return std::make_unique<Socket>(std::move(fd), host);
    }
    reason = std::strerror(error);
  }
  return fail(FailureKind::kUnreachable, fmt::format("cannot connect to {} port {}: {}", host, port, reason),
              "is the server running, and is the address right? Behind a proxy set HTTPS_PROXY");
}

}  // namespace kw::llm
