#include "store/owner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <sstream>

#include "base/file.h"

namespace kw::store {
namespace {

// A host name is not enough: containers and machines started anew share it.
std::string host() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0) name[0] = '\0';
  const auto boot = read_file("/proc/sys/kernel/random/boot_id", 100);
  std::string out = fmt::format("{}/{}/", name, boot ? boot->substr(0, boot->find('\n')) : "");
  char space[64] = "";
  if (const ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space); n > 0)
    out.append(space, static_cast<size_t>(n));
  return out;
}

// When it started, in ticks since the boot; empty when it is not there, or a zombie. proc(5): state and
// starttime are the third and the 22nd field, and the second, the name in parentheses, may hold anything.
std::string start_of(int64_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid), 1 << 16);
  if (!stat) return "";
  const size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream fields(stat->substr(name_end + 1));
  std::string field;
  for (int at = 3; at <= 22 && fields >> field; ++at)
    if (at == 3 && (field == "Z" || field == "X")) return "";
  return field;
}

std::string owner_of(int64_t pid) { return fmt::format("{} {}", host(), start_of(pid)); }

}  // namespace

std::string this_process() { return owner_of(getpid()); }

std::string_view host_of(std::string_view owner) { return owner.substr(0, owner.rfind(' ')); }

bool process_lives(int64_t pid, const std::string& owner) {
  return pid > 0 && !start_of(pid).empty() && owner_of(pid) == owner;
}

}  // namespace kw::store
