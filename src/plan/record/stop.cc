// Ending a recording with a reason, and finding the candidate's lines on the stack.
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "plan/record/recorder.h"

namespace kw::runtime {
namespace {

// The program's own code, where it was loaded.
struct Image {
  uint64_t base = 0, begin = 0, end = 0;
};

Image find_program() {
  Image image;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& found = *static_cast<Image*>(data);
        found.base = info->dlpi_addr;
        found.begin = UINT64_MAX;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
          found.begin = std::min<uint64_t>(found.begin, info->dlpi_addr + segment.p_vaddr);
          found.end = std::max<uint64_t>(found.end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
        }
        return 1;   // the first is the program itself
      },
      &image);
  return image;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else out += c;
  }
  return out + "\"";
}

std::string& folder() {
  static std::string* path = new std::string;
  return *path;
}

}  // namespace

void set_output_folder(std::string path) { folder() = std::move(path); }
const std::string& output_folder() { return folder(); }

std::vector<uint64_t> call_site() {
  static const Image image = find_program();
  void* frames[48];
  const int count = backtrace(frames, 48);
  std::vector<uint64_t> site;
  for (int i = 0; i < count && site.size() < 12; ++i) {
    const auto address = reinterpret_cast<uint64_t>(frames[i]);
    // A return address is behind the call; one byte back is inside it.
    if (address >= image.begin && address < image.end) site.push_back(address - image.base - 1);
  }
  return site;
}

void stop(const Stop& reason) { stop(reason, call_site()); }

void stop(const Stop& reason, const std::vector<uint64_t>& frames) {
  if (!folder().empty()) {
    std::string text = fmt::format("{{\"kind\": {}, \"call\": {}, \"message\": {}, \"notes\": [", quoted(reason.kind), quoted(reason.call),
                                   quoted(reason.message));
    for (size_t i = 0; i < reason.notes.size(); ++i) text += (i == 0 ? "" : ", ") + quoted(reason.notes[i]);
    text += fmt::format("], \"frames\": [{}]}}\n", fmt::join(frames, ", "));
    if (std::FILE* file = std::fopen((folder() + "/error.json").c_str(), "wb")) {
      std::fwrite(text.data(), 1, text.size(), file);
      std::fclose(file);
    }
  }
  std::fflush(nullptr);
  _exit(3);
}

}  // namespace kw::runtime
