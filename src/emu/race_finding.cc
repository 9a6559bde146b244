#include "emu/race_finding.h"

#include "emu/object_name.h"

namespace kw::emu {

bool is_write(Access how) {
  return how == Access::kWrite || how == Access::kMatrixWrite || how == Access::kAtomic || how == Access::kAsyncWrite;
}

const char* verb(Access how, bool past) {
  switch (how) {
    case Access::kAtomic: return past ? "updated atomically" : "updates atomically";
    case Access::kWrite:
    case Access::kMatrixWrite: return past ? "wrote" : "writes";
    case Access::kAsyncWrite: return past ? "wrote by cp.async" : "writes by cp.async";
    case Access::kRead:
    case Access::kMatrixRead:
    case Access::kAsyncRead: break;
  }
  return past ? "read" : "reads";
}

Finding race_at(const Warp& warp, ptx::Space space, uint64_t address, unsigned bytes, std::string& where) {
  Finding finding;
  finding.kind = Finding::Kind::kRace;
  finding.space = space;
  finding.address = address;
  finding.bytes = bytes;
  where = name_object(warp, finding);
  return finding;
}

}  // namespace kw::emu
