// Code search: what an engineer or a language model asks in words is answered with passages of sources and notes, best first, each with its
// file and lines; and a range of a file can be read. Offline: nothing but the files under the roots is looked at.
//
//   KW_TRY(const codesearch::Index index, codesearch::index(codesearch::own_roots()));
//   for (const codesearch::Passage& passage : index.find("cp.async pipeline with two stages bf16 gemm")) …
//   KW_TRY(const std::string lines, index.read("kernels/gemm_f16.cu", 1, 60));
//
// Ranking is Okapi BM25 with weighted fields (Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields", 2004):
// names of definitions and headings, the path, what the file says first about itself, the passage's text. Words are compared as terms.h
// says; synonyms.h adds what they stand for, at a smaller weight. The same files and question give the same passages in the same order; equals come by path and line.
//
// An Index is a value that holds the files' text; what is const may be called by several threads. In memory it takes 2.5 times
// the bytes of files like CUTLASS's, and at most five times those of any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codesearch/roots.h"
#include "codesearch/sources.h"

namespace kw::codesearch {

inline constexpr size_t kMostTerms = 1'000'000;   // different ones; further ones are not found. CUTLASS has a tenth of that

struct Passage {
  std::string path;
  uint32_t from = 0, to = 0;   // lines of the file, from 1, both of it
  std::string name;            // what it defines, or its headings; may be empty
  std::string text;            // as Sources::read shows the lines
  bool cut = false;            // it goes on behind `to`: the budget was spent
};

// Bounds of an answer.
struct Budget {
  size_t passages = 8;
  size_t characters = 16'000;  // bytes of all texts together
  size_t of_one_file = 2;      // passages
};

class Index {
 public:
  explicit Index(Sources sources);
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;
  ~Index();

  // Best first; none when no word of the question occurs, or it has none but "how", "the" and the like. Words beyond the first 64 are not
  // looked at. The last passage may be cut to the budget.
  std::vector<Passage> find(std::string_view question, const Budget& budget = {}) const;

  // Sources::read.
  Result<std::string> read(std::string_view path, uint32_t from, uint32_t to) const { return sources_.read(path, from, to); }

  const Sources& sources() const { return sources_; }
  size_t passages() const;
  bool whole() const;   // false: there were more than kMostTerms different terms

 private:
  struct Terms;
  Sources sources_;
  std::unique_ptr<const Terms> terms_;
};

// Loads the roots' files and indexes them. Error kNotFound: no root is there.
Result<Index> index(const Roots& roots);

}  // namespace kw::codesearch
