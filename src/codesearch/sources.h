// The files that code search looks through, read once and held in memory: what is found and what is read are of the same moment, and no
// path that is asked for ever reaches the file system. So `..`, links and devices lead nowhere: a file that was not taken cannot be read.
//
// Taken are text files of the kinds below under the roots, of at most kMostFileBytes; folders and files whose names begin with a dot,
// links inside a root, and folders deeper than 64 are not. Order and content depend on the files alone. A value; const members may be
// called by several threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codesearch/roots.h"

namespace kw::codesearch {

enum class Language : uint8_t { kC, kPython, kMarkdown, kPlain };   // kC: C, C++ and CUDA

inline constexpr uint64_t kMostFileBytes = 1ull << 20;
inline constexpr uint32_t kMostLinesRead = 400;
inline constexpr size_t kMostLineBytes = 500;   // of a line that is shown; the rest is "…"

struct File {
  std::string path;   // as shown: the root's name and the way from there
  std::string text;   // line ends are "\n"
  Language language = Language::kPlain;
};

// What was not taken, counted; `cut` says which bound was reached, and is empty when none was.
struct LeftOut {
  uint64_t other_kinds = 0, large = 0, binary = 0, unreadable = 0;
  std::string cut;
};

class Sources {
 public:
  // Error kNotFound: no root is there.
  static Result<Sources> load(const Roots& roots);

  const std::vector<File>& files() const { return files_; }   // by path
  const LeftOut& left_out() const { return left_out_; }
  uint64_t bytes() const { return bytes_; }

  // Lines `from` to `to` (from 1; `to` may lie beyond the end) as shown: valid UTF-8 without control characters, each with its end.
  // Errors: kNotFound (no such file, with the nearest), kInvalid (no such lines), kLimit (more than kMostLinesRead).
  Result<std::string> read(std::string_view path, uint32_t from, uint32_t to) const;

 private:
  std::vector<File> files_;
  LeftOut left_out_;
  uint64_t bytes_ = 0;
};

// Lines of a text as shown, from `from` to `to`, both there.
std::string shown_lines(std::string_view text, uint32_t from, uint32_t to);

}  // namespace kw::codesearch
