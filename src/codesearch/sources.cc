#include "codesearch/sources.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/near_miss.h"
#include "base/source_text.h"

namespace kw::codesearch {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepestFolder = 64;
constexpr size_t kMostEntries = 1'000'000;   // of all folders: a folder of a billion files is not listed to its end

struct Kind {
  std::string_view extension;
  Language language;
};
constexpr std::array<Kind, 27> kKinds = {{{".cu", Language::kC},        {".cuh", Language::kC},       {".h", Language::kC},       {".hpp", Language::kC},
                                          {".hh", Language::kC},        {".hxx", Language::kC},       {".c", Language::kC},       {".cc", Language::kC},
                                          {".cpp", Language::kC},       {".cxx", Language::kC},       {".inl", Language::kC},     {".inc", Language::kC},
                                          {".ipp", Language::kC},       {".hip", Language::kC},       {".cl", Language::kC},      {".py", Language::kPython},
                                          {".pyi", Language::kPython},  {".md", Language::kMarkdown}, {".markdown", Language::kMarkdown},
                                          {".rst", Language::kPlain},   {".txt", Language::kPlain},   {".ptx", Language::kPlain}, {".sass", Language::kPlain},
                                          {".mlir", Language::kPlain},  {".ll", Language::kPlain},    {".problem", Language::kPlain}, {".test", Language::kPlain}}};

const Kind* kind_of(const fs::path& path) {
  if (path.filename() == "CMakeLists.txt") return nullptr;
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const auto found = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.extension == extension; });
  return found == kKinds.end() ? nullptr : &*found;
}

void end_lines_alike(std::string& text) {
  if (text.find('\r') == std::string::npos) return;
  size_t to = 0;
  for (size_t at = 0; at < text.size(); ++at)
    if (text[at] != '\r' || at + 1 == text.size() || text[at + 1] != '\n') text[to++] = text[at];
  text.resize(to);
}

class Walk {
 public:
  Walk(const Roots& roots, std::vector<File>& files, LeftOut& left_out, uint64_t& bytes)
      : roots_(roots), files_(files), left_out_(left_out), bytes_(bytes) {}

  bool root(const Root& root) {
    struct stat info {};
    if (stat(root.place.c_str(), &info) != 0) return false;
    if (S_ISDIR(info.st_mode)) {
      folder(root.place, root.name.empty() || root.name == "/" ? root.name : root.name + "/", info);
    } else {
      const Kind* kind = kind_of(root.place);   // one that was named is taken whatever its kind
      file(root.place, root.name, info, kind == nullptr ? Language::kPlain : kind->language);
    }
    return true;
  }

 private:
  struct Folder {
    fs::path place;
    std::string prefix;
    int depth;
  };

  // Not by recursion. Folders may be taken in any order that depends on names alone, for files are sorted in the end.
  void folder(const fs::path& top, const std::string& top_prefix, const struct stat& top_info) {
    if (!seen_.insert({top_info.st_dev, top_info.st_ino}).second) return;
    std::vector<Folder> todo = {{top, top_prefix, 0}};
    while (!todo.empty() && left_out_.cut.empty()) {
      const Folder here = std::move(todo.back());
      todo.pop_back();
      std::vector<Folder> below;
      for (const std::string& name : names(here.place)) {
        const fs::path path = here.place / name;
        struct stat info {};
        if (lstat(path.c_str(), &info) != 0) {
          ++left_out_.unreadable;
        } else if (S_ISDIR(info.st_mode)) {
          if (!seen_.insert({info.st_dev, info.st_ino}).second) continue;
          if (here.depth < kDeepestFolder) below.push_back({path, here.prefix + name + "/", here.depth + 1});
          else ++left_out_.unreadable;
        } else if (S_ISREG(info.st_mode)) {
          if (const Kind* kind = kind_of(path)) file(path, here.prefix + name, info, kind->language);
          else ++left_out_.other_kinds;
        }
        if (!left_out_.cut.empty()) return;
      }
      todo.insert(todo.end(), std::make_move_iterator(below.rbegin()), std::make_move_iterator(below.rend()));
    }
  }

  std::vector<std::string> names(const fs::path& place) {
    std::vector<std::string> out;
    std::error_code error;
    fs::directory_iterator entry(place, error);
    if (error) ++left_out_.unreadable;
    for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
      if (++entries_ > kMostEntries) {
        left_out_.cut = fmt::format("only the first {} entries of folders were looked at", kMostEntries);
        break;
      }
      std::string name = entry->path().filename().string();
      if (!name.starts_with('.')) out.push_back(std::move(name));
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  void file(const fs::path& place, const std::string& path, const struct stat& info, Language language) {
    if (!seen_.insert({info.st_dev, info.st_ino}).second) return;
    const auto size = static_cast<uint64_t>(std::max<off_t>(info.st_size, 0));
    if (size > kMostFileBytes) {
      ++left_out_.large;
      return;
    }
    if (files_.size() >= roots_.most_files) left_out_.cut = fmt::format("only the first {} files were taken", roots_.most_files);
    if (bytes_ + size > roots_.most_bytes) left_out_.cut = fmt::format("only the first {} files, of {} bytes, were taken", files_.size(), bytes_);
    if (!left_out_.cut.empty()) return;
    auto text = read_file(place.string(), kMostFileBytes);
    if (!text) {
      ++(text.error().code == ErrorCode::kLimit ? left_out_.large : left_out_.unreadable);
    } else if (text->find('\0') != std::string::npos) {
      ++left_out_.binary;
    } else {
      end_lines_alike(*text);
      bytes_ += text->size();
      files_.push_back({path, std::move(*text), language});
    }
  }

  const Roots& roots_;
  std::vector<File>& files_;
  LeftOut& left_out_;
  uint64_t& bytes_;
  size_t entries_ = 0;
  std::set<std::pair<dev_t, ino_t>> seen_;   // what lies under two roots is taken once
};

// Of a line of at most kMostLineBytes, not through the middle of a character.
std::string_view shortened(std::string_view line) {
  if (line.size() <= kMostLineBytes) return line;
  size_t end = kMostLineBytes;
  while (end > kMostLineBytes - 4 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  return line.substr(0, end);
}

}  // namespace

Result<Sources> Sources::load(const Roots& roots) {
  Sources sources;
  Walk walk(roots, sources.files_, sources.left_out_, sources.bytes_);
  bool any = false;
  for (const Root& root : roots.places) any = (sources.left_out_.cut.empty() && walk.root(root)) || any;
  if (!any) {
    Error error{ErrorCode::kNotFound, "there is no folder or file to search", {}, {}, roots.notes};
    return fail(std::move(error));
  }
  std::sort(sources.files_.begin(), sources.files_.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return sources;
}

std::string shown_lines(std::string_view text, uint32_t from, uint32_t to) {
  std::string out;
  size_t at = 0;
  for (uint32_t line = 1; line <= to && at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (line >= from) {
      const std::string_view whole = text.substr(at, end - at), kept = shortened(whole);
      out.append(printable_text(kept)).append(kept.size() < whole.size() ? "…\n" : "\n");
    }
    at = end + 1;
  }
  return out;
}

Result<std::string> Sources::read(std::string_view path, uint32_t from, uint32_t to) const {
  const auto found = std::lower_bound(files_.begin(), files_.end(), path, [](const File& file, std::string_view wanted) { return file.path < wanted; });
  if (found == files_.end() || found->path != path) {
    Error error{ErrorCode::kNotFound, fmt::format("no file that is searched is called '{}'", printable_text(path.substr(0, 300))), {}, {}, {}};
    std::vector<std::string> paths;
    const std::string ending = fmt::format("/{}", path);
    for (const File& file : files_) {
      if (error.notes.empty() && file.path.ends_with(ending)) error.notes.push_back(fmt::format("did you mean {}?", file.path));
      paths.push_back(file.path);
    }
    if (const std::string near = error.notes.empty() ? nearest(path, paths) : ""; !near.empty()) error.notes.push_back(fmt::format("did you mean {}?", near));
    error.notes.emplace_back("a path is written as a search shows it; only files under the folders searched can be read");
    return fail(std::move(error));
  }
  const std::string& text = found->text;
  const auto lines = static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n')) + (text.empty() || text.ends_with('\n') ? 0 : 1);
  if (from < 1 || to < from || from > lines)
    return fail(ErrorCode::kInvalid, "{} has no lines {} to {}: it has {}, counted from 1", found->path, from, to, lines);
  to = std::min(to, lines);
  if (to - from >= kMostLinesRead)
    return fail(ErrorCode::kLimit, "{} lines are too many at once: at most {}, for example {}:{}-{}", to - from + 1, kMostLinesRead, found->path, from,
                from + kMostLinesRead - 1);
  return shown_lines(text, from, to);
}

}  // namespace kw::codesearch
