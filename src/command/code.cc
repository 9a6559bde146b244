#include <charconv>
#include <nlohmann/json.hpp>

#include "base/source_text.h"
#include "codesearch/index.h"
#include "command/command.h"

namespace kw::command {
namespace {

using codesearch::Passage;

constexpr uint32_t kLinesShown = 6;   // of a passage, to a person

Result<codesearch::Roots> roots_of(const Invocation& invocation) {
  const std::vector<std::string> places = invocation.texts("in");
  return places.empty() ? codesearch::own_roots() : codesearch::roots_of(places);
}

// What was searched and what was not, so that nothing is taken for absent that was not looked at.
std::vector<std::string> notes_of(const codesearch::Roots& roots, const codesearch::Index& index) {
  std::vector<std::string> notes = roots.notes;
  const codesearch::LeftOut& out = index.sources().left_out();
  if (!out.cut.empty()) notes.push_back(fmt::format("There is more than is searched: {}.", out.cut));
  if (out.large + out.unreadable > 0)
    notes.push_back(fmt::format("Left out: {} files of more than {} bytes, {} files or folders that could not be read.", out.large, codesearch::kMostFileBytes, out.unreadable));
  if (!index.whole()) notes.push_back(fmt::format("There are more than {} different words: some are not found.", codesearch::kMostTerms));
  return notes;
}

std::string as_json(const std::string& question, const std::vector<Passage>& found, const codesearch::Roots& roots, const codesearch::Index& index,
                    const std::vector<std::string>& notes) {
  using Json = nlohmann::ordered_json;
  Json json = {{"schema", "kernelwright/codesearch/1"}, {"question", printable_text(question)}, {"passages", Json::array()}};
  for (const Passage& passage : found)
    json["passages"].push_back({{"file", printable_text(passage.path)}, {"from", passage.from}, {"to", passage.to}, {"name", passage.name},
                                {"text", passage.text}, {"cut", passage.cut}});
  const codesearch::LeftOut& out = index.sources().left_out();
  Json searched = {{"roots", Json::array()}, {"files", index.sources().files().size()}, {"bytes", index.sources().bytes()}, {"passages", index.passages()},
                   {"other_kinds", out.other_kinds}, {"large", out.large}, {"binary", out.binary}, {"unreadable", out.unreadable}};
  for (const codesearch::Root& root : roots.places) searched["roots"].push_back({{"name", printable_text(root.name)}, {"place", printable_text(root.place)}});
  json["searched"] = std::move(searched);
  json["notes"] = notes;
  return json.dump(2) + "\n";
}

std::string as_text(const std::vector<Passage>& found) {
  std::string text;
  for (const Passage& passage : found) {
    text += fmt::format("{}:{}-{}{}\n", printable_text(passage.path), passage.from, passage.to, passage.name.empty() ? "" : "  " + passage.name);
    const uint32_t last = std::min(passage.to - passage.from + 1, kLinesShown);
    size_t at = 0;
    for (uint32_t line = 0; line < last; ++line) {
      const size_t end = passage.text.find('\n', at);
      text += "    " + passage.text.substr(at, end + 1 - at);
      at = end + 1;
    }
    text += "\n";
  }
  return text;
}

Result<int> search(const Invocation& invocation, const Output& output) {
  std::string question;
  for (const std::string& word : invocation.texts("words")) question += (question.empty() ? "" : " ") + word;
  KW_TRY(const codesearch::Roots roots, roots_of(invocation));
  KW_TRY(const codesearch::Index index, codesearch::index(roots));
  codesearch::Budget budget;
  budget.passages = static_cast<size_t>(std::min<uint64_t>(invocation.integer("count"), 1000));
  budget.characters = static_cast<size_t>(std::min<uint64_t>(invocation.integer("characters"), 16u << 20));
  const std::vector<Passage> found = index.find(question, budget);
  const std::vector<std::string> notes = notes_of(roots, index);
  if (invocation.flag("json")) {
    output.out(as_json(question, found, roots, index, notes));
  } else {
    output.out(as_text(found));
    if (found.empty()) output.note("nothing was found: other words?\n");
    output.note(fmt::format("{} files searched\n", index.sources().files().size()));
    for (const std::string& note : notes) output.note(printable_text(note) + "\n");
  }
  return found.empty() ? 1 : 0;
}

struct Range {
  std::string file;
  uint32_t from = 1, to = UINT32_MAX;
};

// FILE, FILE:LINE or FILE:FROM-TO. A name may have colons of its own.
Result<Range> range_of(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return Range{text};
  Range range{text.substr(0, colon)};
  const char* at = text.data() + colon + 1;
  const char* const end = text.data() + text.size();
  const auto number = [&](uint32_t& value) {
    const auto [stop, error] = std::from_chars(at, end, value);
    at = stop;
    return error == std::errc();
  };
  bool good = number(range.from);
  range.to = range.from;
  if (good && at < end && *at == '-') {
    ++at;
    good = number(range.to);
  }
  if (good && at == end) return range;
  return fail(ErrorCode::kInvalid, "'{}' names no lines: FILE:FROM-TO is needed, such as kernels/gemm_f16.cu:1-60", printable_text(text.substr(0, 300)));
}

Result<int> read(const Invocation& invocation, const Output& output) {
  KW_TRY(Range range, range_of(invocation.text("lines")));
  KW_TRY(const codesearch::Roots roots, roots_of(invocation));
  KW_TRY(const codesearch::Sources sources, codesearch::Sources::load(roots));
  KW_TRY(const std::string lines, sources.read(range.file, range.from, range.to));
  output.out(lines);
  return 0;
}

}  // namespace

std::vector<Command> code_commands() {
  const Argument in{"in", ArgumentKind::kPath, false, false, "",
                    "a folder or file to search, instead of kernels, headers and docs of Kernelwright and the CUTLASS that is found; may be repeated", {}, true};
  return {{{"code", "search"},
           "passages of kernels, headers, CUTLASS and notes that answer a question in words, best first",
           "Examples: kw code search cp.async pipeline with two stages bf16 gemm      kw code search warp reduce --in src --in include --json\n"
           "CUTLASS is searched when KW_CUTLASS or CUTLASS_PATH names it, or it lies where CUDA's headers do. Exit code 1: nothing was found.\n"
           "docs/formats/codesearch.md has the JSON, what is searched and how well.",
           {in,
            {"count", ArgumentKind::kInteger, false, false, "8", "passages at the most", {}},
            {"characters", ArgumentKind::kInteger, false, false, "16000", "bytes of all passages at the most", {}},
            {"json", ArgumentKind::kFlag, false, false, "", "print JSON, with the passages' whole text", {}},
            {"words", ArgumentKind::kText, true, true, "", "the question", {}, true}},
           search},
          {{"code", "read"},
           "lines of a file that `kw code search` searches",
           "Example: kw code read kernels/gemm_f16.cu:1-60\nAt most 400 lines at once. A path is written as the search shows it; no other file can be read.",
           {in, {"lines", ArgumentKind::kText, true, true, "", "FILE:FROM-TO, FILE:LINE or FILE, as the search shows it", {}}},
           read}};
}

}  // namespace kw::command
