// While a command runs that stops when asked: the first SIGINT, SIGTERM or SIGHUP sets a flag, for the
// command to end what it started; a second one ends the program at once. One at a time.
#pragma once

#include <atomic>

namespace kw::cli {

class StopRequest {
 public:
  // Does nothing when not `wanted`.
  explicit StopRequest(bool wanted);
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  const std::atomic<bool>* flag() const;
  bool requested() const;
  // When it came: ends the program as the signal would have.
  void pass_on() const;

 private:
  bool wanted_;
};

}  // namespace kw::cli
