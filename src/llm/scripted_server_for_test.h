// A server on the loopback that plays a script: one scene per connection, in order; the last one again for
// all further ones. A scene says whatever bytes it likes, so that every way in which a server can fail is one
// of a few lines.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace kw::llm {

class Visitor {
 public:
  Visitor(int fd, const std::atomic<bool>& over, std::function<void(std::string)> on_request)
      : fd_(fd), over_(over), on_request_(std::move(on_request)) {}
  std::string read_request();         // head and body
  bool send(std::string_view bytes);  // false when the client has gone
  void wait_until_gone(double most_seconds = 5);
  void pause(double seconds);
  void reset();  // the connection ends by RST
  int fd() const { return fd_; }

 private:
  int fd_;
  const std::atomic<bool>& over_;
  std::function<void(std::string)> on_request_;
};

class ScriptedServer {
 public:
  using Scene = std::function<void(Visitor&)>;
  explicit ScriptedServer(std::vector<Scene> scenes);
  ~ScriptedServer();

  uint16_t port() const { return port_; }
  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  std::vector<std::string> requests();

  // Reads the request, then sends `bytes` and ends the connection.
  static Scene says(std::string bytes);
  static Scene answers(int status, std::string body,
                       std::string headers = "Content-Type: application/json\r\n");
  static Scene streams(std::string events);

 private:
  void serve();
  std::vector<Scene> scenes_;
  uint16_t port_ = 0;  // before the listener, which sets it
  UniqueFd listener_;
  std::atomic<bool> over_ = false;
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::vector<std::thread> visits_;
  std::thread thread_;
};

// A port of the loopback that nobody listens on.
uint16_t closed_port();

// Sets an environment variable, and puts it back.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value);  // null: unset
  ~ScopedVariable();

 private:
  std::string name_;
  std::string before_;
  bool was_set_ = false;
};

}  // namespace kw::llm
