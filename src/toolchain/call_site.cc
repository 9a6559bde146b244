#include "toolchain/call_site.h"

#include <charconv>
#include <filesystem>

#include "base/file.h"
#include "base/jail.h"

namespace kw::toolchain {
namespace {

constexpr size_t kMaxAddresses = 20000;

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

void CallSites::look_up(const std::set<uint64_t>& addresses) {
  // The program is the candidate's: what reads its line tables runs in the jail too.
  auto tool = find_program("addr2line");
  auto work = TempDir::create("kw-lines");
  if (!tool || !work) return;
  std::string input;
  for (const uint64_t address : addresses) input += fmt::format("{:#x}\n", address);
  JailOptions jail;
  jail.read_only = jail_system_paths();
  jail.read_only.push_back(*tool);
  jail.read_only.push_back(program_);
  jail.work_dir = work->path();
  Command command;
  command.argv = {*tool, "-a", "-i", "-e", program_};
  command.stdin_text = std::move(input);
  command.wall_seconds = 20;
  const auto outcome = run_jailed(command, jail);
  if (!outcome || !outcome->succeeded()) return;

  // addr2line -a -i: "0x1234" starts an address, every further line is "file:line (discriminator 3)".
  const std::string& text = outcome->out;
  Chain* chain = nullptr;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.substr(0, 2) == "0x") {
      uint64_t address = 0;
      std::from_chars(line.data() + 2, line.data() + line.size(), address, 16);
      chain = &chains_[address];
      chain->clear();
    } else if (chain != nullptr) {
      const std::string_view place = line.substr(0, line.find(" (discriminator"));
      const size_t colon = place.rfind(':');
      if (colon == std::string_view::npos) continue;
      Frame frame;
      frame.file = place.substr(0, colon);
      std::from_chars(place.data() + colon + 1, place.data() + place.size(), frame.line);
      chain->push_back(std::move(frame));
    }
  }
}

Span CallSites::place_along(const std::vector<uint64_t>& frames) const {
  bool through_stub = false;
  for (const uint64_t address : frames) {
    const auto it = chains_.find(address);
    if (it == chains_.end()) continue;
    for (const Frame& frame : it->second) {
      if (ends_with(frame.file, ".stub.c")) {   // nvcc's, wherever its work folder was
        through_stub = true;
        continue;
      }
      const std::string file = std::filesystem::path(frame.file).lexically_normal().string();
      if (frame.line == 0 || file.compare(0, folder_.size() + 1, folder_ + "/") != 0) continue;
      if (through_stub) {
        through_stub = false;   // the kernel's definition
        continue;
      }
      Span place;
      place.file = file.substr(folder_.size() + 1);
      place.line = frame.line;
      return place;
    }
  }
  return {};
}

std::vector<Span> CallSites::places_of(const std::vector<std::vector<uint64_t>>& sites) {
  const std::lock_guard lock(mutex_);
  std::set<uint64_t> unknown;
  for (const auto& frames : sites)
    for (const uint64_t address : frames)
      if (chains_.count(address) == 0) unknown.insert(address);
  // What addr2line does not answer stays unknown, and is not asked again.
  if (!unknown.empty() && chains_.size() + unknown.size() <= kMaxAddresses) {
    for (const uint64_t address : unknown) chains_[address];
    look_up(unknown);
  }
  std::vector<Span> places;
  for (const auto& frames : sites) places.push_back(place_along(frames));
  return places;
}

}  // namespace kw::toolchain
