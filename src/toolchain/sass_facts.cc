#include "toolchain/sass_facts.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace kw::toolchain {
namespace {

template <typename Function>
void each_line(std::string_view text, Function function) {
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    function(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

// The instruction of a line "        /*0070*/   @P0 LDG.E R5, [R12.64] ;": its opcode word, without the guard.
std::optional<std::string_view> opcode_of(std::string_view line) {
  line = trimmed(line);
  if (line.substr(0, 2) != "/*") return std::nullopt;
  const size_t close = line.find("*/");
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view offset = line.substr(2, close - 2);
  if (offset.empty() || !std::all_of(offset.begin(), offset.end(), [](unsigned char c) { return std::isxdigit(c); })) {
    return std::nullopt;
  }
  line = trimmed(line.substr(close + 2));
  if (!line.empty() && line.front() == '{') line = trimmed(line.substr(1));  // dual issue
  if (!line.empty() && line.front() == '@') {
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    line = trimmed(line.substr(space));
  }
  if (line.empty() || !std::isupper(static_cast<unsigned char>(line.front()))) return std::nullopt;
  return line.substr(0, line.find_first_of(" ;"));
}

bool has_part(std::string_view form, std::string_view part) {
  size_t begin = 0;
  while (begin <= form.size()) {
    const size_t end = std::min(form.find('.', begin), form.size());
    if (form.substr(begin, end - begin) == part) return true;
    begin = end + 1;
  }
  return false;
}

uint32_t width_of(std::string_view form) {
  if (has_part(form, "128")) return 16;
  if (has_part(form, "64")) return 8;
  if (has_part(form, "U8") || has_part(form, "S8")) return 1;
  if (has_part(form, "U16") || has_part(form, "S16")) return 2;
  return 4;
}

std::optional<MemoryAccess> access_of(std::string_view base, std::string_view form) {
  struct Row {
    std::string_view base, operation, space;
  };
  static constexpr Row kRows[] = {
      {"LDG", "ld", "global"},    {"STG", "st", "global"},    {"LDS", "ld", "shared"},  {"STS", "st", "shared"},
      {"LDL", "ld", "local"},     {"STL", "st", "local"},     {"LD", "ld", "generic"},  {"ST", "st", "generic"},
      {"LDC", "ld", "const"},     {"ATOM", "atom", "generic"}, {"ATOMG", "atom", "global"}, {"ATOMS", "atom", "shared"},
      {"RED", "red", "global"},   {"REDG", "red", "global"},  {"LDGSTS", "cp.async", "global"},
  };
  for (const Row& row : kRows) {
    if (row.base == base) return MemoryAccess{std::string(row.operation), std::string(row.space), width_of(form), 1};
  }
  if (base == "LDSM" || base == "STSM") {
    const uint32_t matrices = has_part(form, "4") ? 4 : has_part(form, "2") ? 2 : 1;
    return MemoryAccess{base == "LDSM" ? "ldmatrix" : "stmatrix", "shared", 4 * matrices, 1};
  }
  return std::nullopt;
}

bool is_tensor(std::string_view base) {
  for (std::string_view name : {"HMMA", "IMMA", "BMMA", "DMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA", "UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA"}) {
    if (base == name) return true;
  }
  return false;
}

void count(std::string_view form, SassFacts& facts) {
  const std::string_view base = form.substr(0, form.find('.'));
  if (base == "NOP") return;
  ++facts.instructions;
  ++facts.mix[std::string(base)];
  if (is_tensor(base)) ++facts.tensor[std::string(form)];
  if (auto access = access_of(base, form)) facts.accesses.push_back(*access);
  facts.local_loads += base == "LDL";
  facts.local_stores += base == "STL";
}

// `//## File "/a/b.cu", line 12`, also with more after it.
std::optional<std::pair<std::string, uint32_t>> place_named(std::string_view line) {
  constexpr std::string_view kFile = "//## File \"", kLine = "\", line ";
  const size_t begin = line.find(kFile), middle = line.find(kLine);
  if (begin == std::string_view::npos || middle == std::string_view::npos || middle < begin + kFile.size()) return std::nullopt;
  uint32_t number = 0;
  std::from_chars(line.data() + middle + kLine.size(), line.data() + line.size(), number);
  return std::pair{std::string(line.substr(begin + kFile.size(), middle - begin - kFile.size())), number};
}

// "$__internal_1_$__cuda_sm3x_div_rn_noftz_f32_slowpath" → "div_rn_noftz_f32"; empty for other calls.
std::string slow_path_called(std::string_view line) {
  constexpr std::string_view kRoutine = "$__cuda_sm";
  const size_t at = line.find(kRoutine);
  if (at == std::string_view::npos) return "";
  std::string_view name = line.substr(at + kRoutine.size());
  name = name.substr(0, name.find(')'));
  name.remove_prefix(std::min(name.size(), name.find('_') + 1));
  if (name.ends_with("_slowpath")) name.remove_suffix(9);
  return std::string(name);
}

// Registers "R12" in a text, as numbers.
template <typename See>
void each_register(std::string_view text, See see) {
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    const bool begins = text[i] == 'R' && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1])));
    if (!begins || !std::isdigit(static_cast<unsigned char>(text[i + 1]))) continue;
    int number = 0;
    std::from_chars(text.data() + i + 1, text.data() + text.size(), number);
    see(number);
  }
}

// How many global loads are on their way before one is waited for. A branch waits for none of them by itself, but what
// comes after it belongs to another run of straight code.
class Flights {
 public:
  void see(std::string_view base, std::string_view form, std::string_view line) {
    const size_t comma = line.find(',');
    bool needed = base == "BRA" || base == "EXIT" || base == "CALL" || base == "BAR";
    each_register(base == "LDG" && comma != std::string_view::npos ? line.substr(comma) : line, [&](int number) {
      needed = needed || std::count(pending_.begin(), pending_.end(), number) > 0;
    });
    if (needed) land();
    if (base != "LDG" || comma == std::string_view::npos) return;
    ++in_flight_;
    each_register(line.substr(0, comma), [&](int number) {
      for (uint32_t i = 0; i < std::max(1u, width_of(form) / 4); ++i) pending_.push_back(number + static_cast<int>(i));
    });
  }
  void land() {
    groups_ += in_flight_ > 0;
    loads_ += in_flight_;
    in_flight_ = 0;
    pending_.clear();
  }
  double average() const { return groups_ == 0 ? 0 : static_cast<double>(loads_) / static_cast<double>(groups_); }

 private:
  std::vector<int> pending_;
  uint64_t in_flight_ = 0, loads_ = 0, groups_ = 0;
};

// The number before `unit`: "64 registers" → 64.
uint64_t number_before(std::string_view text, std::string_view unit) {
  const size_t at = text.find(unit);
  if (at == std::string_view::npos || at == 0) return 0;
  size_t end = at;
  while (end > 0 && text[end - 1] == ' ') --end;
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1]))) --begin;
  uint64_t value = 0;
  std::from_chars(text.data() + begin, text.data() + end, value);
  return value;
}

std::string_view quoted(std::string_view text) {
  const size_t begin = text.find('\'');
  if (begin == std::string_view::npos) return {};
  const size_t end = text.find('\'', begin + 1);
  return end == std::string_view::npos ? std::string_view{} : text.substr(begin + 1, end - begin - 1);
}

}  // namespace

std::vector<SassFacts> sass_facts(std::string_view disassembly) {
  std::vector<SassFacts> out;
  std::optional<std::pair<std::string, uint32_t>> place;
  Flights flights;
  const auto close = [&] {
    if (out.empty()) return;
    flights.land();
    SassFacts& facts = out.back();
    facts.loads_in_flight = flights.average();
    facts.accesses = joined(std::move(facts.accesses));
    std::stable_sort(facts.local_places.begin(), facts.local_places.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  };
  const auto open = [&](std::string_view kernel) {
    close();
    out.push_back({});
    out.back().kernel = std::string(kernel);
    place.reset();
    flights = {};
  };
  each_line(disassembly, [&](std::string_view line) {
    const std::string_view text = trimmed(line);
    constexpr std::string_view kSection = ".text.", kFunction = "Function : ";
    if (text.substr(0, kSection.size()) == kSection && text.back() == ':') {
      open(text.substr(kSection.size(), text.size() - kSection.size() - 1));
    } else if (text.substr(0, kFunction.size()) == kFunction) {
      open(text.substr(kFunction.size()));
    } else if (auto named = place_named(text)) {
      place = std::move(named);
    } else if (auto form = opcode_of(line); form && !out.empty()) {
      SassFacts& facts = out.back();
      count(*form, facts);
      const std::string_view base = form->substr(0, form->find('.'));
      flights.see(base, *form, text.substr(static_cast<size_t>(form->data() - text.data())));
      if (base == "CALL") {
        if (std::string name = slow_path_called(text); !name.empty()) ++facts.slow_paths[name];
      }
      if ((base != "LDL" && base != "STL") || !place) return;
      const auto known = std::find_if(facts.local_places.begin(), facts.local_places.end(),
                                      [&](const auto& p) { return p.line == place->second && p.file == place->first; });
      if (known != facts.local_places.end()) ++known->count;
      else facts.local_places.push_back({place->first, place->second, 1});
    }
  });
  close();
  return out;
}

std::vector<Resources> ptxas_resources(std::string_view log) {
  std::vector<Resources> out;
  each_line(log, [&](std::string_view line) {
    if (line.find("Compiling entry function") != std::string_view::npos) {
      out.push_back({});
      out.back().kernel = std::string(quoted(line));
    } else if (out.empty()) {
      return;
    } else if (line.find("bytes stack frame") != std::string_view::npos) {
      out.back().stack_bytes = number_before(line, "bytes stack frame");
      out.back().spill_store_bytes = number_before(line, "bytes spill stores");
      out.back().spill_load_bytes = number_before(line, "bytes spill loads");
    } else if (line.find("Used ") != std::string_view::npos) {
      out.back().registers = static_cast<uint32_t>(number_before(line, " registers"));
      out.back().barriers = static_cast<uint32_t>(number_before(line, " barriers"));
      out.back().shared_bytes = number_before(line, " bytes smem");
      constexpr std::string_view kBank = " bytes cmem";
      for (size_t at = line.find(kBank); at != std::string_view::npos; at = line.find(kBank)) {
        out.back().constant_bytes += number_before(line, kBank);
        line.remove_prefix(at + kBank.size());
      }
    }
  });
  return out;
}

}  // namespace kw::toolchain
