// C, C++ and CUDA: braces outside of comments, literals and preprocessor lines.
#include <algorithm>
#include <string>

#include "codesearch/scan.h"

namespace kw::codesearch {
namespace {

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool word_char(char c) { return letter(c) || (c >= '0' && c <= '9'); }

class CScanner {
 public:
  explicit CScanner(std::string_view text) : text_(text) { out_.lines = lines_of(text); }

  Scan run() {
    for (number_ = 0; number_ < out_.lines.size(); ++number_) line(out_.lines[number_]);
    add_run(out_.runs, static_cast<uint32_t>(text_.size()), in_comment_ ? Kind::kComment : Kind::kCode);
    return std::move(out_);
  }

 private:
  void line(Line& line) {
    at_ = line.begin;
    code_ = false;
    any_comment_ = in_comment_;
    const bool continued = in_directive_;
    if (!in_comment_ && !in_raw_ && !continued) {
      resynchronise(line);
      const size_t first = text_.find_first_not_of(" \t", line.begin);
      if (first < line.end && text_[first] == '#') {
        in_directive_ = true;
        directive(text_.substr(first + 1, line.end - first - 1));
      }
    }
    line.depth = depth();
    const size_t braces_before = namespaces_;
    const bool starts = statement_start_;
    only_braces_ = true;
    while (at_ < line.end) step(line.end);
    if (includes_) add_run(out_.runs, line.end, Kind::kInclude);
    includes_ = false;
    if (in_directive_) {
      const bool on = line.end > line.begin && text_[line.end - 1] == '\\';
      if (!on) in_directive_ = false;
      line.closes = !on && line.depth == 0;
      last_ = line.depth == 0 ? ';' : last_;
    } else {
      line.closes = code_ && depth() == 0 && (last_ == ';' || last_ == '}');
      // A namespace's brace alone, or its opening.
      line.skipped = code_ && line.depth == 0 && depth() == 0 &&
                     ((namespaces_ < braces_before && only_braces_) || (namespaces_ > braces_before && starts && last_ == '{'));
    }
    line.comment = any_comment_ && !code_;
    if (!line.blank && !line.comment && !line.skipped) open_ended_ = last_ == ',' || last_ == '(' || last_ == '>' || last_ == '=' || last_ == ':';
    if (line.blank && line.depth == 0 && !open_ended_ && !in_comment_) line.closes = true;
  }

  // Where braces do not match (macros, both sides of an #if), what looks like the next definition begins outside of all.
  void resynchronise(const Line& line) {
    if (depth() == 0 || line.blank || !letter(text_[line.begin]) || number_ == 0) return;
    const Line& before = out_.lines[number_ - 1];
    if (!before.blank && !before.comment) return;
    const size_t end = std::min<size_t>(line.end, text_.find_first_of(" \t(<:;{", line.begin));
    if (end < line.end && text_[end] == ':' && text_.substr(end, 2) != "::") return;   // a label
    while (depth() > 0 && !braces_.empty()) pop();
    size_t above = number_ - 1;   // the definition's own comment
    while (above > 0 && out_.lines[above].comment) --above;
    out_.lines[above].closes = true;
    statement_start_ = true;
  }

  void directive(std::string_view rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    includes_ = rest.starts_with("include");
    if (includes_) add_run(out_.runs, static_cast<uint32_t>(at_), Kind::kCode);
    if (rest.starts_with("if")) {
      conditions_.push_back(braces_);
      if (conditions_.size() > 64) conditions_.erase(conditions_.begin());
    } else if (rest.starts_with("el")) {
      if (!conditions_.empty()) set_braces(conditions_.back());
    } else if (rest.starts_with("endif")) {
      if (!conditions_.empty()) conditions_.pop_back();
    }
  }

  void step(size_t end) {
    if (in_comment_) {
      const size_t close = text_.substr(0, end).find("*/", at_);
      at_ = close == std::string_view::npos ? end : close + 2;
      if (close != std::string_view::npos) {
        add_run(out_.runs, static_cast<uint32_t>(at_), Kind::kComment);
        in_comment_ = false;
      }
      return;
    }
    if (in_raw_) {
      code_ = true;
      const size_t close = text_.substr(0, end).find(raw_end_, at_);
      at_ = close == std::string_view::npos ? end : close + raw_end_.size();
      if (close != std::string_view::npos) in_raw_ = false;
      last_ = '"';
      return;
    }
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\\') {
      ++at_;
    } else if (c == '/' && at_ + 1 < end && (text_[at_ + 1] == '/' || text_[at_ + 1] == '*')) {
      any_comment_ = true;
      add_run(out_.runs, static_cast<uint32_t>(at_), code_kind());
      if (text_[at_ + 1] == '*') {
        in_comment_ = true;
        at_ += 2;
      } else {
        at_ = end;
        add_run(out_.runs, static_cast<uint32_t>(at_), Kind::kComment);
      }
    } else {
      code_ = true;
      if (letter(c)) word(end);
      else if (c == '"' || c == '\'') literal(c, end);
      else mark(c);
    }
  }

  void word(size_t end) {
    const size_t begin = at_;
    while (at_ < end && word_char(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    only_braces_ = false;
    if (at_ < end && text_[at_] == '"' && word.ends_with('R') && word.size() <= 3) {
      const size_t open = text_.substr(0, std::min(end, at_ + 20)).find('(', at_);
      if (open != std::string_view::npos) {
        raw_end_.assign(1, ')');
        raw_end_.append(text_.substr(at_ + 1, open - at_ - 1)).push_back('"');
        in_raw_ = true;
        at_ = open + 1;
        return;
      }
    }
    if (in_directive_) return;
    if (statement_start_ && word == "namespace") is_namespace_ = true;
    statement_start_ = statement_start_ && (word == "inline" || word == "extern");
    maybe_linkage_ = word == "extern";
    last_ = 'a';
  }

  void literal(char quote, size_t end) {
    only_braces_ = false;
    if (quote == '\'' && at_ > 0 && word_char(text_[at_ - 1])) {   // 1'000
      ++at_;
      return;
    }
    for (++at_; at_ < end && text_[at_] != quote; ++at_)
      if (text_[at_] == '\\') ++at_;
    at_ = std::min(at_ + 1, end);
    if (in_directive_) return;
    if (quote == '"' && maybe_linkage_) is_namespace_ = true;
    statement_start_ = false;
    last_ = quote;
  }

  void mark(char c) {
    ++at_;
    if (in_directive_) return;
    if (c != '}' && c != ';') only_braces_ = only_braces_ && c == '{';
    if (c == '{') {
      if (braces_.size() < 10'000) push(is_namespace_);
      statement_start_ = true;
      is_namespace_ = false;
    } else if (c == '}') {
      if (!braces_.empty()) pop();
      statement_start_ = true;
      is_namespace_ = false;
    } else if (c == ';') {
      statement_start_ = true;
      is_namespace_ = false;
    } else if (is_namespace_ && c == '=') {
      is_namespace_ = false;
    } else if (!is_namespace_) {
      statement_start_ = false;
    }
    maybe_linkage_ = false;
    last_ = c;
  }

  Kind code_kind() const { return includes_ ? Kind::kInclude : Kind::kCode; }
  uint16_t depth() const { return static_cast<uint16_t>(std::min<size_t>(braces_.size() - namespaces_, 1000)); }
  void push(bool is_namespace) {
    braces_.push_back(is_namespace);
    namespaces_ += is_namespace ? 1 : 0;
  }
  void pop() {
    namespaces_ -= braces_.back() ? 1 : 0;
    braces_.pop_back();
  }
  void set_braces(const std::vector<bool>& braces) {
    braces_ = braces;
    namespaces_ = static_cast<size_t>(std::count(braces_.begin(), braces_.end(), true));
    statement_start_ = true;
  }

  const std::string_view text_;
  Scan out_;
  size_t number_ = 0, at_ = 0;
  bool in_comment_ = false, in_raw_ = false, in_directive_ = false, includes_ = false;
  std::string raw_end_;
  bool statement_start_ = true, is_namespace_ = false, maybe_linkage_ = false;
  std::vector<bool> braces_;   // each: of a namespace
  size_t namespaces_ = 0;
  std::vector<std::vector<bool>> conditions_;   // the braces at each #if
  char last_ = ';';                             // of code: its last character, 'a' for any word
  bool open_ended_ = false;                     // the last line of code goes on in the next
  bool code_ = false, any_comment_ = false, only_braces_ = true;   // of this line
};

}  // namespace

Scan scan_c(std::string_view text) { return CScanner(text).run(); }

}  // namespace kw::codesearch
