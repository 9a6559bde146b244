// Which bytes of global memory a step of a plan reads, writes and updates: what a step that has no order with it is
// checked against. Memory: proportional to the pages touched. Thread-safe while it is filled.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace kw::emu {

class Footprint {
 public:
  enum Use : uint8_t { kRead = 1, kWrite = 2, kUpdate = 4 };   // kUpdate: atomic or strong
  void add(uint64_t begin, uint64_t end, Use use);

  // The first byte of [begin, end) where `use` by a step without order is a race, and what this one did there.
  struct Clash { uint64_t address = 0; Use use = kRead; };
  std::optional<Clash> clash(uint64_t begin, uint64_t end, Use use) const;

  // griddepcontrol.launch_dependents: a launch with programmatic order may begin before this one has ended.
  void let_dependents_start() { lets_dependents_start_.store(true, std::memory_order_relaxed); }
  bool lets_dependents_start() const { return lets_dependents_start_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kPageBytes = 4096;
  using Page = std::array<std::atomic<uint8_t>, kPageBytes>;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::atomic<bool> lets_dependents_start_{false};
};

// "reads", "writes", "updates atomically"
const char* verb_of(Footprint::Use use);

// A step that has run, and has no order with the one that is running.
struct Concurrent {
  const Footprint* footprint = nullptr;
  std::string name;                  // for messages
  // Order begins where a block executes griddepcontrol.wait, if the other step lets its dependents start early.
  bool until_wait = false;
};

}  // namespace kw::emu
