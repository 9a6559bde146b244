#include "cli/stop_request.h"

#include <signal.h>

#include <array>

namespace kw::cli {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

// A handler can reach nothing else.
std::atomic<bool> signalled{false};
std::atomic<int> by{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void note(int number) {
  by = number;
  signalled = true;
}

}  // namespace

StopRequest::StopRequest(bool wanted) : wanted_(wanted) {
  if (!wanted_) return;
  for (const int number : kSignals) {
    struct sigaction before{}, ours{};
    // One that the parent has us ignore (nohup) stays ignored.
    if (sigaction(number, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    ours.sa_handler = note;
    ours.sa_flags = SA_RESETHAND;  // without SA_RESTART: who waits for standard input is woken
    sigaction(number, &ours, nullptr);
  }
}

StopRequest::~StopRequest() {
  if (!wanted_) return;
  for (const int number : kSignals) {
    struct sigaction now{};
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == note) signal(number, SIG_DFL);
  }
}

const std::atomic<bool>* StopRequest::flag() const { return wanted_ ? &signalled : nullptr; }

bool StopRequest::requested() const { return wanted_ && signalled; }

void StopRequest::pass_on() const {
  if (!requested()) return;
  signal(by, SIG_DFL);
  raise(by);
}

}  // namespace kw::cli
