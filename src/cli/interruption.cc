#include "cli/interruption.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/leftover.h"

namespace kw::cli {
namespace {

constexpr int kWakeUp = SIGUSR2;   // the command has ended by itself

// Those that end the program; one that the parent has us ignore (nohup) stays ignored.
sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  sigaddset(&set, kWakeUp);
  return set;
}

}  // namespace

Interruption::Interruption(bool wanted, bool stops_when_asked) {
  if (!wanted) return;
  // Before there is a folder, or a signal could come while nobody takes it away. In every thread started from here on;
  // programs start with an empty mask.
  const sigset_t set = watched();
  sigset_t mask_before;
  if (!stops_when_asked) pthread_sigmask(SIG_BLOCK, &set, &mask_before);
  auto folder = TempDir::create("kernelwright");
  if (!folder) {
    if (!stops_when_asked) pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
    return;
  }
  folder->keep();
  folder_ = folder->path();
  if (auto claim = claim_folder(folder_)) claim_ = std::move(*claim);
  sweep_claimed_folders(std::filesystem::path(folder_).parent_path().string(), "kernelwright");
  if (const char* before = std::getenv("TMPDIR"); before != nullptr) {
    had_before_ = true;
    before_ = before;
  }
  setenv("TMPDIR", folder_.c_str(), 1);
  if (!stops_when_asked) watcher_ = std::thread([this] { wait_for_signal(); });
}

Interruption::~Interruption() {
  if (watcher_.joinable()) {
    pthread_kill(watcher_.native_handle(), kWakeUp);
    watcher_.join();
  }
  take_folders_away();
}

void Interruption::take_folders_away() {
  if (folder_.empty()) return;
  remove_claimed_folder(std::exchange(folder_, ""));
  if (had_before_) setenv("TMPDIR", before_.c_str(), 1);
  else unsetenv("TMPDIR");
}

void Interruption::wait_for_signal() {
  const sigset_t set = watched();
  int number = 0;
  while (sigwait(&set, &number) != 0) {
  }
  if (number == kWakeUp) return;
  begun_ = true;
  // What still runs may be making files: again, until there is nothing to take away.
  std::error_code error;
  for (int i = 0; i < 100; ++i) {
    remove_claimed_folder(folder_);
    if (!std::filesystem::exists(folder_, error)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  signal(number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  kill(getpid(), number);   // children die with the threads that started them
  for (;;) pause();
}

}  // namespace kw::cli
