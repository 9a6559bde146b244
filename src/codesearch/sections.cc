#include "codesearch/sections.h"

#include <algorithm>
#include <array>

namespace kw::codesearch {
namespace {

constexpr uint32_t kShortLines = 8;          // of a definition that does not stand alone
constexpr uint32_t kMostTogetherLines = 24;  // of short ones in one section
constexpr uint32_t kLeastPartLines = 25;     // of a long one, but for its last part
constexpr uint32_t kMostSignatureLines = 12;
constexpr size_t kMostNameBytes = 100;

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool word_char(char c) { return letter(c) || (c >= '0' && c <= '9'); }

// Past the bracket that closes the one at `at`, or the end.
size_t past_bracket(std::string_view text, size_t at, char open, char close) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == open) ++depth;
    if (text[at] == close && --depth == 0) return at + 1;
  }
  return at;
}

std::string_view line_text(std::string_view text, const Line& line) { return text.substr(line.begin, line.end - line.begin); }

void add_name(std::string& names, const std::string& name) {
  if (name.empty() || names.size() + name.size() > kMostNameBytes) return;
  if (names != name) names += (names.empty() ? "" : ", ") + name;
}

// Whole definitions, without the 60 lines' bound.
class Definitions {
 public:
  Definitions(std::string_view text, const Scan& scan, Language language) : text_(text), lines_(scan.lines), language_(language) {}

  std::vector<Section> all() {
    for (uint32_t i = 0; i < lines_.size(); ++i) {
      const Line& line = lines_[i];
      if (line.skipped) {
        end();
      } else if (line.blank) {
        const bool ends = line.closes || (language_ == Language::kPython && only_comment_);
        if (open_ && ends) end();
      } else {
        if (language_ == Language::kPython && line.heading && open_ && !only_comment_ && !decorated_) end();
        if (!open_) begin(i);
        only_comment_ = only_comment_ && line.comment;
        decorated_ = text_[line.begin] == '@';
        last_ = i;
        if (line.closes) end();
      }
    }
    end();
    return std::move(out_);
  }

 private:
  void begin(uint32_t i) {
    open_ = true;
    first_ = last_ = i;
    only_comment_ = true;
  }
  void end() {
    if (open_) out_.push_back({first_ + 1, last_ + 1, name()});
    open_ = false;
  }

  std::string name() {
    if (language_ == Language::kMarkdown) return heading();
    if (language_ == Language::kPlain || only_comment_) return "";
    std::string code;
    uint32_t taken = 0;
    for (uint32_t i = first_; i <= last_ && taken < kMostSignatureLines; ++i) {
      if (lines_[i].comment || lines_[i].blank) continue;
      const std::string_view line = line_text(text_, lines_[i]);
      if (language_ == Language::kPython) {
        for (const std::string_view word : {"async def ", "def ", "class "})
          if (line.starts_with(word)) return defined_name(line.substr(word.size()));
        if (line.starts_with("import ") || line.starts_with("from ")) return "";
        if (!line.starts_with('@')) return defined_name(line);
        continue;
      }
      if (code.empty() && line.starts_with("using namespace")) return "";
      code.append(line.substr(0, std::min<size_t>(line.find("//"), 400))).push_back('\n');
      ++taken;
    }
    return defined_name(code);
  }

  std::string heading() {
    const std::string_view line = line_text(text_, lines_[first_]);
    const size_t level = lines_[first_].heading ? line.find_first_not_of("# \t") == std::string_view::npos ? 1 : std::min(line.find_first_not_of('#'), size_t{6}) : 0;
    if (level > 0) {
      titles_.resize(std::min(titles_.size(), level - 1));
      const size_t begin = std::min(line.find_first_not_of("# \t"), line.size());
      titles_.emplace_back(line.substr(begin, 2 * kMostNameBytes));
    }
    std::string joined;
    for (const std::string& title : titles_) joined += (joined.empty() ? "" : " > ") + title;
    return joined;
  }

  const std::string_view text_;
  const std::vector<Line>& lines_;
  const Language language_;
  std::vector<Section> out_;
  bool open_ = false, only_comment_ = true, decorated_ = false;
  uint32_t first_ = 0, last_ = 0;
  std::vector<std::string> titles_;   // of Markdown: the headings that the next section stands under
};

// Parts of a section that is too long, cut where it is nested least, after a blank line if there is one.
void cut(const Section& whole, const std::vector<Line>& lines, std::vector<Section>& out) {
  uint32_t from = whole.from;
  while (whole.to - from + 1 > kMostSectionLines) {
    uint32_t best = from + kMostSectionLines;
    int best_cost = 1 << 30;
    for (uint32_t next = from + kLeastPartLines; next <= from + kMostSectionLines; ++next) {
      const Line& line = lines[next - 1];
      const int cost = 2 * line.depth + (lines[next - 2].blank ? 0 : 1) + (line.blank ? 4 : 0);
      if (cost <= best_cost) {
        best = next;
        best_cost = cost;
      }
    }
    out.push_back({from, best - 1, whole.name});
    from = best;
  }
  out.push_back({from, whole.to, whole.name});
}

}  // namespace

std::string defined_name(std::string_view code) {
  static constexpr std::array<std::string_view, 6> kAttributes = {"__launch_bounds__", "__attribute__", "alignas", "__align__", "decltype", "explicit"};
  static constexpr std::array<std::string_view, 9> kNoNames = {"final", "const", "if", "else", "return", "public", "private", "template", "while"};
  const auto among = [](const auto& list, std::string_view word) { return std::find(list.begin(), list.end(), word) != list.end(); };
  std::string_view last;
  size_t at = std::min(code.find_first_not_of(" \t\n"), code.size());
  if (at < code.size() && code[at] == '#') {
    const size_t define = code.find("define", at);
    if (define == std::string_view::npos || define > at + 8) return "";
    at = define + 6;
    code = code.substr(0, std::min(code.find_first_of("(\n", at), code.size()));
    at = std::min(code.find_first_not_of(" \t", at), code.size());
    size_t end = at;
    while (end < code.size() && word_char(code[end])) ++end;
    return std::string(code.substr(at, end - at));
  }
  while (at < code.size()) {
    const char c = code[at];
    if (word_char(c)) {
      const size_t begin = at;
      while (at < code.size() && word_char(code[at])) ++at;
      const std::string_view word = code.substr(begin, at - begin);
      if (letter(c) && word != "final" && word != "const") last = word;
    } else if (c == '<') {
      at = past_bracket(code, at, '<', '>');
    } else if (c == '[') {
      at = past_bracket(code, at, '[', ']');
    } else if (c == '(') {
      if (!last.empty() && !among(kAttributes, last)) break;
      at = past_bracket(code, at, '(', ')');
    } else if (c == ':' && at + 1 < code.size() && code[at + 1] == ':') {
      at += 2;
    } else if (c == '=' || c == '{' || c == ';' || c == ':') {
      break;
    } else {
      ++at;
    }
  }
  return last.empty() || among(kNoNames, last) || last.size() > kMostNameBytes ? "" : std::string(last);
}

std::vector<Section> sections_of(std::string_view text, const Scan& scan, Language language) {
  std::vector<Section> out;
  const std::vector<Section> definitions = Definitions(text, scan, language).all();
  for (size_t i = 0; i < definitions.size();) {
    Section together = definitions[i++];
    const auto is_short = [](const Section& section) { return section.to - section.from < kShortLines; };
    while (language != Language::kMarkdown && i < definitions.size() && is_short(definitions[i - 1]) && is_short(definitions[i]) && definitions[i].to - together.from < kMostTogetherLines) {
      together.to = definitions[i].to;
      add_name(together.name, definitions[i].name);
      ++i;
    }
    cut(together, scan.lines, out);
  }
  return out;
}

}  // namespace kw::codesearch
