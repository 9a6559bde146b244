#include "codesearch/index.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/source_text.h"
#include "codesearch/question.h"
#include "codesearch/scan.h"
#include "codesearch/sections.h"
#include "codesearch/terms.h"

namespace kw::codesearch {
namespace {

// Weights of one occurrence. That comments weigh no more than code, and how little the rest matters, was seen on tests/codesearch and on
// questions about CUTLASS: docs/formats/codesearch.md.
constexpr float kTextWeight = 1, kIncludeWeight = 0.3F, kNameWeight = 4, kPathWeight = 2, kHeadWeight = 0.5F;
// BM25's constants: how soon occurrences stop counting, and how much a long passage is held against it.
constexpr double kSaturation = 2, kLengthShare = 0.75;
constexpr double kLeastLength = 0.5;       // over the mean: a declaration alone is no better an answer for being short
constexpr size_t kMostKnownWords = 250'000;   // whose terms are kept at hand while reading

struct Posting {
  uint32_t passage;
  float weight;
};

struct Place {
  uint32_t file, from, to;
  float length;   // the sum of its terms' weights
};

// To look for a string_view in a map of strings.
struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <typename Value>
using ByWord = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

struct Table {
  std::vector<Place> places;         // by path and line
  std::vector<std::string> names;    // of each
  ByWord<uint32_t> ids;              // of terms
  std::vector<std::vector<Posting>> postings;
  double mean_length = 1;
  bool whole = true;                 // every term is there
};

// What a file says first about itself.
std::string_view head_of(std::string_view text, const Scan& scan) {
  constexpr uint32_t kMostHeadBytes = 1000;
  const auto first = std::find_if(scan.lines.begin(), scan.lines.end(), [](const Line& line) { return !line.skipped && !line.blank; });
  if (first == scan.lines.end() || !first->comment) return {};
  auto last = first;
  while (last + 1 != scan.lines.end() && (last + 1)->comment && (last + 1)->end - first->begin <= kMostHeadBytes) ++last;
  return text.substr(first->begin, last->end - first->begin);
}

// Takes files in, one after the other.
class Reader {
 public:
  explicit Reader(Table& table) : table_(table) {}

  void file(const File& file, uint32_t number) {
    const std::string_view text = file.text;
    const Scan scan = codesearch::scan(text, file.language);
    const std::string_view head = head_of(text, scan);
    size_t run = 0;
    for (Section& section : sections_of(text, scan, file.language)) {
      const uint32_t begin = scan.lines[section.from - 1].begin, end = scan.lines[section.to - 1].end;
      while (run < scan.runs.size() && scan.runs[run].end <= begin) ++run;
      for (size_t i = run; i < scan.runs.size() && scan.runs[i].begin < end; ++i) {
        const uint32_t from = std::max(begin, scan.runs[i].begin), to = std::min(end, scan.runs[i].end);
        const Kind kind = scan.runs[i].kind;
        words(text.substr(from, to - from), kind == Kind::kComment, kind == Kind::kInclude ? kIncludeWeight : kTextWeight);
      }
      if (touched_.empty()) continue;   // a line of dashes
      words(section.name, false, kNameWeight);
      words(file.path, false, kPathWeight);
      words(head, true, kHeadWeight);
      end_passage({number, section.from, section.to, 0}, std::move(section.name));
    }
  }

 private:
  void words(std::string_view text, bool prose, float weight) {
    for (size_t at = 0;;) {
      const std::string_view word = next_word(text, at, prose);
      if (word.empty()) return;
      for (const uint32_t id : ids_of(word)) {
        if (weights_[id] == 0) touched_.push_back(id);
        weights_[id] += weight;
      }
    }
  }

  const std::vector<uint32_t>& ids_of(std::string_view word) {
    if (const auto known = known_.find(word); known != known_.end()) return known->second;
    if (known_.size() > kMostKnownWords) known_.clear();
    std::vector<uint32_t> ids;
    for (std::string& term : terms_of(word)) {
      if (const auto found = table_.ids.find(term); found != table_.ids.end()) {
        ids.push_back(found->second);
      } else if (table_.ids.size() < kMostTerms) {
        ids.push_back(static_cast<uint32_t>(table_.postings.size()));
        table_.ids.emplace(std::move(term), ids.back());
        table_.postings.emplace_back();
        weights_.push_back(0);
      } else {
        table_.whole = false;
      }
    }
    return known_.emplace(word, std::move(ids)).first->second;
  }

  void end_passage(Place place, std::string name) {
    for (const uint32_t id : touched_) {
      table_.postings[id].push_back({static_cast<uint32_t>(table_.places.size()), weights_[id]});
      place.length += weights_[id];
      weights_[id] = 0;
    }
    touched_.clear();
    table_.places.push_back(place);
    table_.names.push_back(std::move(name));
  }

  Table& table_;
  ByWord<std::vector<uint32_t>> known_;   // a word's terms are made once
  std::vector<float> weights_;            // by term, of the passage that is read
  std::vector<uint32_t> touched_;         // those that are not 0
};

// Points by passage, and which have any.
class Points {
 public:
  explicit Points(size_t passages) : at_(passages, 0) {}
  void add(uint32_t passage, double points) {
    if (at_[passage] == 0) touched_.push_back(passage);
    at_[passage] += points;
  }
  void raise_to(uint32_t passage, double points) { add(passage, std::max(0.0, points - at_[passage])); }
  double of(uint32_t passage) const { return at_[passage]; }
  const std::vector<uint32_t>& touched() const { return touched_; }
  void clear() {
    for (const uint32_t passage : touched_) at_[passage] = 0;
    touched_.clear();
  }

 private:
  std::vector<double> at_;
  std::vector<uint32_t> touched_;
};

void add_term(const Table& table, const std::string& term, double weight, Points& points) {
  const auto found = table.ids.find(term);
  if (found == table.ids.end()) return;
  const std::vector<Posting>& postings = table.postings[found->second];
  const double all = static_cast<double>(table.places.size()), with = static_cast<double>(postings.size());
  const double rarity = std::sqrt(std::log(1 + (all - with + 0.5) / (with + 0.5)));   // BM25 has no root: one odd word decided too much
  for (const auto& [passage, occurrences] : postings) {
    const double length = 1 - kLengthShare + kLengthShare * std::max(kLeastLength, table.places[passage].length / table.mean_length);
    points.add(passage, weight * rarity * occurrences * (kSaturation + 1) / (occurrences + kSaturation * length));
  }
}

// The first lines of `text` that have no more than `most` bytes.
uint32_t keep_lines(std::string& text, size_t most) {
  const size_t last = text.rfind('\n', most - 1);
  text.resize(most == 0 || last == std::string::npos ? 0 : last + 1);
  return static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

struct Index::Terms : Table {};

Index::Index(Sources sources) : sources_(std::move(sources)) {
  auto terms = std::make_unique<Terms>();
  Reader reader(*terms);
  for (size_t i = 0; i < sources_.files().size(); ++i) reader.file(sources_.files()[i], static_cast<uint32_t>(i));
  double length = 0;
  for (const Place& place : terms->places) length += place.length;
  if (length > 0) terms->mean_length = length / static_cast<double>(terms->places.size());
  terms_ = std::move(terms);
}

Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;
Index::~Index() = default;

size_t Index::passages() const { return terms_->places.size(); }
bool Index::whole() const { return terms_->whole; }

std::vector<Passage> Index::find(std::string_view question, const Budget& budget) const {
  const Table& table = *terms_;
  Points points(table.places.size()), best(table.places.size()), way_points(table.places.size());
  for (const Concept& wanted : concepts_of(question)) {
    for (const std::vector<std::string>& way : wanted.ways) {
      for (const std::string& term : way) add_term(table, term, wanted.weight / static_cast<double>(way.size()), way_points);
      for (const uint32_t passage : way_points.touched()) best.raise_to(passage, way_points.of(passage));
      way_points.clear();
    }
    for (const uint32_t passage : best.touched()) points.add(passage, best.of(passage));
    best.clear();
  }
  std::vector<uint32_t> order = points.touched();
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return points.of(a) != points.of(b) ? points.of(a) > points.of(b) : a < b; });

  std::vector<Passage> out;
  std::unordered_map<uint32_t, size_t> of_file;
  size_t left = budget.characters;
  for (const uint32_t number : order) {
    if (out.size() >= budget.passages || left == 0) break;
    const Place& place = table.places[number];
    if (++of_file[place.file] > budget.of_one_file) continue;
    const File& file = sources_.files()[place.file];
    Passage passage{file.path, place.from, place.to, printable_text(table.names[number]), shown_lines(file.text, place.from, place.to), false};
    if (passage.text.size() > left) {
      const uint32_t kept = keep_lines(passage.text, left);
      if (kept == 0) break;
      passage.to = passage.from + kept - 1;
      passage.cut = true;
      left = 0;
    } else {
      left -= passage.text.size();
    }
    out.push_back(std::move(passage));
  }
  return out;
}

Result<Index> index(const Roots& roots) {
  KW_TRY(Sources sources, Sources::load(roots));
  return Index(std::move(sources));
}

}  // namespace kw::codesearch
