#include "llm/scripted_server_for_test.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace kw::llm {
namespace {

UniqueFd listen_somewhere(uint16_t& port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(fd.get(), 64) != 0)
    std::abort();
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return fd;
}

// Tests know no key, proxy or bundle but their own, wherever they run.
[[maybe_unused]] const bool kCleanEnvironment = [] {
  for (const char* name :
       {"KW_LLM_KEY", "KW_LLM_KEY_FILE", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HTTPS_PROXY", "https_proxy",
        "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"}) {
    unsetenv(name);
  }
  return true;
}();

}  // namespace

std::string Visitor::read_request() {
  std::string out;
  char buffer[16384];
  size_t wanted = std::string::npos;
  while (out.size() < wanted) {
    const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    out.append(buffer, static_cast<size_t>(n));
    const size_t head = out.find("\r\n\r\n");
    if (wanted == std::string::npos && head != std::string::npos) {
      const size_t at = out.find("Content-Length: ");
      wanted = head + 4 + (at < head ? std::strtoul(out.c_str() + at + 16, nullptr, 10) : 0);
    }
  }
  on_request_(out);
  return out;
}

bool Visitor::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void Visitor::wait_until_gone(double most_seconds) {
  for (double waited = 0; waited < most_seconds && !over_; waited += 0.01) {
    pollfd one{fd_, POLLIN, 0};
    char byte = 0;
    if (poll(&one, 1, 10) > 0 && recv(fd_, &byte, 1, 0) <= 0) return;
  }
}

void Visitor::pause(double seconds) {
  for (double waited = 0; waited < seconds && !over_; waited += 0.005)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void Visitor::reset() {
  const linger now{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

ScriptedServer::ScriptedServer(std::vector<Scene> scenes)
    : scenes_(std::move(scenes)), listener_(listen_somewhere(port_)), thread_([this] { serve(); }) {}

ScriptedServer::~ScriptedServer() {
  over_ = true;
  shutdown(listener_.get(), SHUT_RDWR);
  thread_.join();
  for (std::thread& visit : visits_) visit.join();
}

void ScriptedServer::serve() {
  for (size_t number = 0; !over_; ++number) {
    const int fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const timeval patience{5, 0};  // a test that fails must not hang
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    visits_.emplace_back([this, fd, scene = scenes_[std::min(number, scenes_.size() - 1)]] {
      const UniqueFd owned(fd);
      Visitor visitor(fd, over_, [this](std::string request) {
        const std::lock_guard lock(mutex_);
        requests_.push_back(std::move(request));
      });
      scene(visitor);
    });
  }
}

std::vector<std::string> ScriptedServer::requests() {
  const std::lock_guard lock(mutex_);
  return requests_;
}

ScriptedServer::Scene ScriptedServer::says(std::string bytes) {
  return [bytes](Visitor& visitor) {
    visitor.read_request();
    visitor.send(bytes);
  };
}

ScriptedServer::Scene ScriptedServer::answers(int status, std::string body, std::string headers) {
  return says(
      fmt::format("HTTP/1.1 {} x\r\n{}Content-Length: {}\r\n\r\n{}", status, headers, body.size(), body));
}

ScriptedServer::Scene ScriptedServer::streams(std::string events) {
  return says(
      fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
                  "chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                  events.size(), events));
}

uint16_t closed_port() {
  uint16_t port = 0;
  listen_somewhere(port);
  return port;
}

ScopedVariable::ScopedVariable(const char* name, const char* value) : name_(name) {
  if (const char* before = std::getenv(name)) {
    before_ = before;
    was_set_ = true;
  }
  if (value != nullptr)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

ScopedVariable::~ScopedVariable() {
  if (was_set_)
    setenv(name_.c_str(), before_.c_str(), 1);
  else
    unsetenv(name_.c_str());
}

}  // namespace kw::llm
