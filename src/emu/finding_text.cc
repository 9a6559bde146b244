#include "emu/finding_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include "base/demangle.h"
#include "base/source_text.h"

namespace kw::emu {
namespace {

std::vector<SourcePlace> chain_of(const Party& party) {
  std::vector<SourcePlace> chain{{party.source_file, party.source_line, party.source_column}};
  chain.insert(chain.end(), party.inlined_from.begin(), party.inlined_from.end());
  std::erase_if(chain, [](const SourcePlace& place) { return place.file.empty() || place.line == 0; });
  return chain;
}

std::string folder_of(std::string_view file) {
  return std::filesystem::path(file).lexically_normal().parent_path().string();
}

// The chain of a party split at the reader's own innermost place.
struct Places {
  std::vector<SourcePlace> within;   // libraries' lines inside it, innermost first
  SourcePlace here;                  // line 0: nothing is known
  std::vector<SourcePlace> callers;  // own lines that it was inlined into
  bool own = false;
};

Places places_of(const Party& party, const Reader& reader) {
  Places out;
  const std::vector<SourcePlace> chain = chain_of(party);
  if (chain.empty()) return out;
  const std::string folder = reader.is_own ? "" : folder_of(chain.back().file);
  const auto is_own = [&](const SourcePlace& place) {
    if (reader.is_own) return reader.is_own(place.file);
    const std::string at = folder_of(place.file);
    return at == folder || (at.starts_with(folder) && at.size() > folder.size() && (folder.empty() || folder.back() == '/' || at[folder.size()] == '/'));
  };
  const auto first = std::find_if(chain.begin(), chain.end(), is_own);
  out.own = first != chain.end();
  const auto here = out.own ? first : chain.begin();
  out.here = *here;
  out.within.assign(chain.begin(), here);
  for (auto at = here + 1; at != chain.end(); ++at) {
    if (!out.own || is_own(*at)) out.callers.push_back(*at);
  }
  return out;
}

std::string text_of(const SourcePlace& place) { return fmt::format("{}:{}", readable_file(place.file), place.line); }

std::string heading(const Places& places, const Party& party) {
  return places.here.line != 0 ? text_of(places.here) : fmt::format("PTX line {}", party.ptx_line);
}

class Writer {
 public:
  explicit Writer(const Reader& reader) : reader_(reader), inner_(reader.indent + "  ") {}

  void line(std::string_view text) { out_ += wrap(text, reader_.indent, reader_.columns); }
  void inner(std::string_view text) { out_ += wrap(text, inner_, reader_.columns, 2); }

  void party(const char* word, const Party& party, const Places& places, bool shown_before) {
    std::string first = fmt::format("{} {}", word, heading(places, party));
    if (!party.kernel.empty()) first += " in " + readable_name(party.kernel);
    line(first + (shown_before ? ", as above" : ""));
    if (places.own && !shown_before) out_ += excerpt(source(places.here.file), places.here.line, inner_, reader_.columns);
    if (!places.within.empty()) {
      std::string inlined;
      for (size_t i = 0; i < std::min<size_t>(places.within.size(), 3); ++i) inlined += (i == 0 ? "" : ", ") + text_of(places.within[i]);
      inner("inlined from " + inlined);
    }
    for (size_t i = 0; i < std::min<size_t>(places.callers.size(), 3); ++i) {
      const SourcePlace& caller = places.callers[i];
      const std::string code = places.own ? trimmed_line(source(caller.file), caller.line) : "";
      inner(fmt::format("inlined into {}{}{}", text_of(caller), code.empty() ? "" : ": ", code));
    }
    inner(fmt::format("by warp {} lane {} of block ({},{},{}), thread ({},{},{})", party.warp, party.lane, party.block[0], party.block[1],
                      party.block[2], party.thread[0], party.thread[1], party.thread[2]));
    if (!party.instruction.empty()) inner(fmt::format("PTX line {}: {}", party.ptx_line, party.instruction));
  }

  std::string take() { return std::move(out_); }

 private:
  std::string source(const std::string& file) const { return reader_.source ? reader_.source(file) : std::string(); }

  const Reader& reader_;
  std::string inner_, out_;
};

// What tells groups apart of one side; instructions without a place are each their own.
std::string key_of(const Party& party, const Reader& reader) {
  const SourcePlace place = place_of(party, reader);
  return place.line != 0 ? fmt::format("{}:{}", place.file, place.line) : fmt::format("\n{}", party.ptx_line);
}

// Calls by way of which other members of the group reach the same lines.
std::string other_callers(const FindingGroup& group, const Reader& reader) {
  constexpr size_t kShown = 4;
  std::vector<std::string> seen, more;
  const auto add = [&](const Party& party, bool first) {
    for (const SourcePlace& caller : places_of(party, reader).callers) {
      std::string text = text_of(caller);
      if (std::find(seen.begin(), seen.end(), text) != seen.end()) continue;
      if (!first) more.push_back(text);
      seen.push_back(std::move(text));
    }
  };
  for (size_t i = 0; i < group.findings.size(); ++i) {
    add(group.findings[i]->party, i == 0);
    if (group.findings[i]->other) add(*group.findings[i]->other, i == 0);
  }
  if (more.empty()) return "";
  const size_t hidden = more.size() > kShown ? more.size() - kShown : 0;
  more.resize(more.size() - hidden);
  return fmt::format("also inlined into {}{}", fmt::join(more, ", "), hidden == 0 ? "" : fmt::format(" and {} more", hidden));
}

}  // namespace

std::string readable_file(std::string_view file) {
  constexpr std::string_view kInclude = "/include/";
  const size_t at = file.rfind(kInclude);
  if (file.starts_with('/') && at != std::string_view::npos) return std::string(file.substr(at + kInclude.size()));
  return std::string(file);
}

SourcePlace place_of(const Party& party, const Reader& reader) { return places_of(party, reader).here; }

std::vector<FindingGroup> group(const std::vector<Finding>& findings, const Reader& reader) {
  std::vector<FindingGroup> groups;
  std::map<std::tuple<Finding::Kind, std::string, std::string, std::string>, size_t> index;
  for (const Finding& finding : findings) {
    std::string a = key_of(finding.party, reader), b = finding.other ? key_of(*finding.other, reader) : "";
    if (b < a) std::swap(a, b);
    const auto [at, fresh] = index.try_emplace({finding.kind, finding.party.kernel, std::move(a), std::move(b)}, groups.size());
    if (fresh) groups.emplace_back();
    groups[at->second].findings.push_back(&finding);
    groups[at->second].count += finding.count;
  }
  return groups;
}

std::string text_of(const FindingGroup& group, const Reader& reader) {
  const Finding& finding = *group.findings.front();
  Writer writer(reader);
  writer.line(fmt::format("{}: {}", name_of(finding.kind), finding.message));
  std::string object = reader.object ? reader.object(finding) : "";
  if (object.empty() && !finding.object.empty()) object = fmt::format("{} {} {} bytes", finding.object, finding.object_offset < 0 ? '-' : '+', finding.object_offset < 0 ? 0 - static_cast<uint64_t>(finding.object_offset) : static_cast<uint64_t>(finding.object_offset));
  if (!object.empty()) writer.line("object: " + object);
  const Places places = places_of(finding.party, reader);
  writer.party("at", finding.party, places, false);
  if (finding.other) {
    const Places others = places_of(*finding.other, reader);
    const bool same = places.own && others.own && places.here.file == others.here.file && places.here.line == others.here.line;
    writer.party("and", *finding.other, others, same);
  }
  if (const std::string also = other_callers(group, reader); !also.empty()) writer.line(also);
  if (group.findings.size() > 1) {
    writer.line(fmt::format("seen {} times at these lines, by {} different {}", group.count, group.findings.size(),
                            finding.other ? "pairs of instructions" : "instructions"));
  } else if (group.count > 1) {
    writer.line(fmt::format("seen {} times at these places", group.count));
  }
  if (const std::string_view remedy = remedy_of(finding.kind); !remedy.empty()) writer.line(remedy);
  return writer.take();
}

std::string_view remedy_of(Finding::Kind kind) {
  using Kind = Finding::Kind;
  switch (kind) {
    case Kind::kRace: return "Order the two accesses: a __syncthreads() (or the wait of the asynchronous copy) is missing between them.";
    case Kind::kOutOfBounds: return "Guard the access for the last, partial tile, or check the index arithmetic.";
    case Kind::kMisaligned: return "A vector access needs its natural alignment: check the row pitch of odd shapes.";
    case Kind::kUninitialisedRead: return "Write the bytes before they are read; rows past the tail are a common place.";
    case Kind::kBarrierDivergence: return "Every thread of the block must reach the same barrier: move it out of the branch.";
    case Kind::kDeadlock: return "A barrier or flag is waited for that nobody will signal: compare the counts above.";
    case Kind::kTrap: return "The kernel stopped itself: an assert or a trap.";
    case Kind::kWriteToReadOnly: return "Inputs must stay as they are: write to an output or to workspace.";
    case Kind::kInvalidOperand: return "The value is outside what the PTX ISA allows for this instruction.";
    case Kind::kStackOverflow: return "The recursion is too deep.";
    case Kind::kLimit: case Kind::kUnsupported: return "";
  }
  return "";
}

}  // namespace kw::emu
