// While a command works in temporary folders: SIGINT, SIGTERM and SIGHUP end the program as always, but first take those
// folders away; of a command that stops when asked (stop_request.h) they do not, and the folders go when it has. All of them lie in one folder of this process, which TMPDIR names meanwhile. What SIGKILL left of earlier
// ones is taken away first.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace kw::cli {

class Interruption {
 public:
  // Does nothing when not `wanted`. Where no folder can be made, TMPDIR stays as it is, and who needs one says so.
  Interruption(bool wanted, bool stops_when_asked);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool begun() const { return begun_; }
  void take_folders_away();   // before the program ends by a signal

 private:
  void wait_for_signal();
  std::string folder_, before_;
  UniqueFd claim_;
  bool had_before_ = false;
  std::atomic<bool> begun_{false};
  std::thread watcher_;               // none where the command stops when asked
};

}  // namespace kw::cli
