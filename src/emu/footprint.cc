#include "emu/footprint.h"

#include <algorithm>

namespace kw::emu {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// The uses that race with one: updates are atomic with respect to each other, reads harm no read.
uint8_t foes(Footprint::Use use) {
  switch (use) {
    case Footprint::kRead: return Footprint::kWrite | Footprint::kUpdate;
    case Footprint::kWrite: return Footprint::kRead | Footprint::kWrite | Footprint::kUpdate;
    case Footprint::kUpdate: return Footprint::kRead | Footprint::kWrite;
  }
  return 0;
}

}  // namespace

const char* verb_of(Footprint::Use use) {
  return use == Footprint::kRead ? "reads" : use == Footprint::kWrite ? "writes" : "updates atomically";
}

void Footprint::add(uint64_t begin, uint64_t end, Use use) {
  while (begin < end) {
    const uint64_t number = begin / kPageBytes, stop = std::min(end, (number + 1) * kPageBytes);
    Page* page = nullptr;
    {
      const std::lock_guard lock(mutex_);
      std::unique_ptr<Page>& slot = pages_[number];
      if (slot == nullptr) slot = std::make_unique<Page>();
      page = slot.get();
    }
    for (; begin < stop; ++begin) {
      std::atomic<uint8_t>& byte = (*page)[begin % kPageBytes];
      if ((byte.load(kRelaxed) & use) == 0) byte.fetch_or(use, kRelaxed);
    }
  }
}

std::optional<Footprint::Clash> Footprint::clash(uint64_t begin, uint64_t end, Use use) const {
  const uint8_t harmful = foes(use);
  while (begin < end) {
    const uint64_t number = begin / kPageBytes, stop = std::min(end, (number + 1) * kPageBytes);
    const Page* page = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (const auto it = pages_.find(number); it != pages_.end()) page = it->second.get();
    }
    for (uint64_t at = begin; page != nullptr && at < stop; ++at) {
      const uint8_t found = (*page)[at % kPageBytes].load(kRelaxed) & harmful;
      if (found != 0) return Clash{at, (found & kWrite) != 0 ? kWrite : (found & kUpdate) != 0 ? kUpdate : kRead};
    }
    begin = stop;
  }
  return std::nullopt;
}

}  // namespace kw::emu
