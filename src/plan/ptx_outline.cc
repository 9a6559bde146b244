#include "plan/ptx_outline.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace kw::plan {
namespace {

// More than any target has; sums stay far from overflow.
constexpr uint64_t kMaxParamBytes = 65536, kMaxSharedBytes = uint64_t{1} << 40;
constexpr size_t kMaxRemembered = size_t{64} << 20;   // bytes of PTX

// Words (names, directives, numbers) and single punctuation characters, comments and strings skipped.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) { advance(); }
  std::string_view peek() const { return token_; }
  bool end() const { return token_.empty(); }
  std::string_view take() {
    const std::string_view token = token_;
    advance();
    return token;
  }
  // After taking '{': moves past the matching '}' without making tokens of what is between, which it returns.
  std::string_view skip_body() {
    int depth = 1;
    // The token after the brace has been made already: back to where it begins.
    position_ = token_.empty() ? text_.size() : static_cast<size_t>(token_.data() - text_.data());
    const size_t begin = position_;
    while (position_ < text_.size() && depth > 0) {
      const char c = text_[position_];
      if (c == '/' || c == '"') {
        if (skip_comment_or_string()) continue;
      } else if (c == '{') {
        ++depth;
      } else if (c == '}') {
        --depth;
      }
      ++position_;
    }
    const std::string_view body = text_.substr(begin, position_ - begin);
    advance();
    return body;
  }

 private:
  static constexpr std::array<bool, 256> kWord = [] {
    std::array<bool, 256> table{};
    for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%.")) table[static_cast<unsigned char>(c)] = true;
    return table;
  }();
  static bool is_word(char c) { return kWord[static_cast<unsigned char>(c)]; }
  bool skip_comment_or_string() {
    if (text_.compare(position_, 2, "//") == 0) {
      position_ = std::min(text_.find('\n', position_), text_.size());
      return true;
    }
    if (text_.compare(position_, 2, "/*") == 0) {
      const size_t close = text_.find("*/", position_ + 2);
      position_ = close == std::string_view::npos ? text_.size() : close + 2;
      return true;
    }
    if (text_[position_] == '"') {
      ++position_;
      while (position_ < text_.size() && text_[position_] != '"') position_ += text_[position_] == '\\' ? 2 : 1;
      position_ = std::min(position_ + 1, text_.size());
      return true;
    }
    return false;
  }
  void advance() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++position_;
        continue;
      }
      if (skip_comment_or_string()) continue;
      const size_t begin = position_;
      if (is_word(c)) {
        while (position_ < text_.size() && is_word(text_[position_])) ++position_;
      } else {
        ++position_;
      }
      token_ = text_.substr(begin, position_ - begin);
      return;
    }
    token_ = {};
  }

  std::string_view text_;
  size_t position_ = 0;
  std::string_view token_;
};

uint64_t number_of(std::string_view token) {
  uint64_t value = 0;
  int base = 10;
  if (token.size() > 2 && token[0] == '0' && (token[1] == 'x' || token[1] == 'X')) token.remove_prefix(2), base = 16;
  std::from_chars(token.data(), token.data() + token.size(), value, base);
  return value;
}

// Bytes of ".u32", ".b8", ".f16x2", …: the first number in the name is the width of one element, and a
// trailing x2 or x4 repeats it. 0: not a type.
uint32_t type_bytes(std::string_view token) {
  if (token.size() < 3 || token[0] != '.') return 0;
  token.remove_prefix(1);
  if (token == "pred") return 1;
  if (token == "texref" || token == "samplerref" || token == "surfref") return 8;
  const std::string_view letters = token.substr(0, token.find_first_of("0123456789"));
  if (letters != "b" && letters != "u" && letters != "s" && letters != "f" && letters != "bf") return 0;
  uint32_t bits = 0;
  const char* end = token.data() + token.size();
  const auto parsed = std::from_chars(token.data() + letters.size(), end, bits);
  if (parsed.ec != std::errc() || bits > 128) return 0;
  const std::string_view packed(parsed.ptr, static_cast<size_t>(end - parsed.ptr));
  if (packed == "x2" || packed == "x4") bits *= packed == "x2" ? 2 : 4;
  return bits / 8;
}

// What follows .param, .global or .const up to the name and its dimensions.
struct Declaration {
  std::string_view name;
  uint64_t bytes = 0;
  uint32_t align = 1;
  bool array = false;
};

// Leaves the token after the declaration (',', ')', '=', ';') in place.
Declaration declaration(Tokens& tokens) {
  Declaration result;
  uint64_t element = 0, vector = 1, stated_align = 0;
  while (!tokens.end()) {
    const std::string_view token = tokens.peek();
    if (token[0] != '.') break;
    tokens.take();
    if (token == ".align") {
      stated_align = number_of(tokens.take());
    } else if (token == ".ptr") {  // .ptr [.space] [.align N]: about what the pointer points to
      while (tokens.peek().size() > 1 && tokens.peek()[0] == '.') {
        if (tokens.take() == ".align") tokens.take();
      }
    } else if (token == ".attribute") {
      while (!tokens.end() && tokens.take() != ")") {
      }
    } else if (token == ".v2" || token == ".v4" || token == ".v8") {
      vector = static_cast<uint64_t>(token[2] - '0');
    } else if (const uint32_t bytes = type_bytes(token)) {
      element = bytes;
    }
  }
  result.name = tokens.take();
  uint64_t count = 1;
  while (tokens.peek() == "[") {
    tokens.take();
    result.array = true;
    uint64_t dimension = 0;
    if (tokens.peek() != "]") dimension = number_of(tokens.take());
    if (tokens.peek() == "]") tokens.take();
    if (__builtin_mul_overflow(count, dimension, &count)) count = 0;
  }
  if (__builtin_mul_overflow(count, element * vector, &result.bytes)) result.bytes = 0;
  const uint64_t align = stated_align != 0 ? stated_align : element * vector;
  result.align = static_cast<uint32_t>(std::clamp<uint64_t>(align, 1, 4096));
  return result;
}

EntryOutline entry(Tokens& tokens) {
  EntryOutline result;
  result.name = tokens.take();
  uint64_t offset = 0;
  if (tokens.peek() == "(") {
    tokens.take();
    while (!tokens.end() && tokens.peek() != ")") {
      if (tokens.take() != ".param") continue;
      const Declaration param = declaration(tokens);
      offset = (offset + param.align - 1) / param.align * param.align;
      // Larger than any kernel's block: not a text to rely on.
      if (offset > kMaxParamBytes || param.bytes > kMaxParamBytes - offset) break;
      result.params.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(param.bytes), param.align, !param.array});
      offset += param.bytes;
    }
    if (tokens.peek() == ")") tokens.take();
  }
  result.param_bytes = static_cast<uint32_t>(offset);
  while (!tokens.end() && tokens.peek() != "{" && tokens.peek() != ";") {
    const std::string_view token = tokens.take();
    if (token.size() < 2 || token[0] != '.') continue;
    std::array<uint32_t, 3> values{1, 1, 1};
    size_t count = 0;
    while (!tokens.end() && tokens.peek()[0] >= '0' && tokens.peek()[0] <= '9') {
      const uint64_t value = std::min<uint64_t>(number_of(tokens.take()), 65536);
      if (count < 3) values[count++] = static_cast<uint32_t>(value);
      if (tokens.peek() != ",") break;
      tokens.take();
    }
    if (count == 0) continue;
    const uint64_t product = uint64_t{values[0]} * values[1] * values[2];
    if (token == ".maxntid" || token == ".reqntid") result.max_threads = static_cast<uint32_t>(std::min<uint64_t>(product, UINT32_MAX));
    if (token == ".maxnreg") result.max_registers = values[0];
    if (token == ".minnctapersm") result.min_blocks = values[0];
    if (token == ".reqnctapercluster") result.cluster = values;
  }
  return result;
}

// .shared variables of the module scope.
struct SharedVariable {
  std::string_view name;
  uint64_t bytes = 0;
};

// Variables that a body declares, and those of the module that it names.
uint64_t shared_bytes(std::string_view body, const std::vector<SharedVariable>& module_scope) {
  uint64_t total = 0;
  const auto add = [&](uint64_t bytes) { total = std::min(total + std::min(bytes, kMaxSharedBytes), kMaxSharedBytes); };
  std::unordered_set<std::string_view> words;
  Tokens tokens(body);
  while (!tokens.end()) {
    const std::string_view token = tokens.take();
    if (token == ".shared") add(declaration(tokens).bytes);
    else if (!module_scope.empty()) words.insert(token);
  }
  for (const SharedVariable& variable : module_scope)
    if (words.count(variable.name) != 0) add(variable.bytes);
  return total;
}

}  // namespace

const EntryOutline* PtxOutline::find_entry(std::string_view name) const {
  const auto it = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.name == name; });
  return it == entries.end() ? nullptr : &*it;
}

const VariableOutline* PtxOutline::find_variable(std::string_view name) const {
  const auto it = std::find_if(variables.begin(), variables.end(), [&](const auto& v) { return v.name == name; });
  return it == variables.end() ? nullptr : &*it;
}

PtxOutline outline(std::string_view ptx) {
  PtxOutline result;
  Tokens tokens(ptx);
  bool is_extern = false;
  std::vector<SharedVariable> shared;
  bool in_entry = false;   // the next body belongs to entries.back()
  while (!tokens.end()) {
    const std::string_view token = tokens.take();
    if (token == ".target") {
      result.target = tokens.take();
    } else if (token == ".extern") {
      is_extern = true;
      continue;
    } else if (token == ".entry") {
      result.entries.push_back(entry(tokens));
      in_entry = tokens.peek() == "{";
    } else if (token == ".shared") {
      const Declaration variable = declaration(tokens);
      if (!is_extern && !variable.name.empty()) shared.push_back({variable.name, variable.bytes});
    } else if (token == ".global" || token == ".const") {
      const Declaration variable = declaration(tokens);
      result.variables.push_back({std::string(variable.name), variable.bytes, token == ".const", is_extern});
    } else if (token == "{") {
      const std::string_view body = tokens.skip_body();
      if (in_entry) result.entries.back().static_shared_bytes = shared_bytes(body, shared);
      in_entry = false;
    } else if (token != ";") {
      continue;
    }
    is_extern = false;
  }
  return result;
}

std::shared_ptr<const PtxOutline> remembered_outline(const std::string& ptx) {
  static std::mutex mutex;
  static auto& known = *new std::unordered_map<std::string, std::shared_ptr<const PtxOutline>>;   // by the text: a hash could be forged
  static size_t bytes = 0;
  {
    const std::lock_guard lock(mutex);
    if (const auto it = known.find(ptx); it != known.end()) return it->second;
  }
  auto made = std::make_shared<const PtxOutline>(outline(ptx));
  const std::lock_guard lock(mutex);
  if (bytes + ptx.size() > kMaxRemembered) {
    known.clear();
    bytes = 0;
  }
  if (ptx.size() <= kMaxRemembered && known.emplace(ptx, made).second) bytes += ptx.size();
  return made;
}

}  // namespace kw::plan
