#include "base/demangle.h"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <memory>

namespace kw {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Each back reference (S_, S1_, T_ …) can repeat everything before it: a short name of n references unfolds to at
// most 3^(n/3) times its length, so few of them are harmless and many are not.
constexpr size_t kMaxName = 2048, kMaxReferences = 20;
constexpr size_t kMaxReadable = 160, kTail = 40;

size_t references(std::string_view name) {
  size_t count = 0;
  for (size_t i = 0; i + 1 < name.size(); ++i) {
    if ((name[i] == 'S' || name[i] == 'T') && (name[i + 1] == '_' || is_digit(name[i + 1]) || std::isupper(static_cast<unsigned char>(name[i + 1])) != 0)) ++count;
  }
  return count;
}

bool is_hidden(std::string_view part) { return part.substr(0, 10) == "_INTERNAL_" || part.substr(0, 12) == "_GLOBAL__N__"; }

// The identifiers of a name, up to its template arguments or parameters: what is left when it cannot be unfolded.
std::string identifiers_of(std::string_view name) {
  std::string out;
  size_t at = name.find_first_of("0123456789");
  while (at < name.size() && is_digit(name[at])) {
    size_t length = 0;
    while (at < name.size() && is_digit(name[at]) && length <= name.size()) length = length * 10 + static_cast<size_t>(name[at++] - '0');
    if (length == 0 || length > name.size() - at) break;
    const std::string_view part = name.substr(at, length);
    at += length;
    if (!is_hidden(part)) out += (out.empty() ? "" : "::") + std::string(part);
  }
  return out;
}

void erase_all(std::string& text, std::string_view what) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) text.erase(at, what.size());
}

// Removes "_INTERNAL_…::" and the like, wherever they qualify.
void erase_hidden(std::string& text) {
  for (const std::string_view prefix : {"_INTERNAL_", "_GLOBAL__N__"}) {
    for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
      const size_t end = text.find("::", at);
      if (end == std::string::npos || (at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '_'))) {
        at += prefix.size();
        continue;
      }
      text.erase(at, end + 2 - at);
    }
  }
}

// "k<(int)64, (bool)1>" -> "k<64, true>".
void shorten_constants(std::string& text) {
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  };
  replace("(bool)1", "true");
  replace("(bool)0", "false");
  for (const std::string_view cast : {"(int)", "(unsigned int)", "(long)", "(unsigned long)"}) erase_all(text, cast);
}

// The part that names, of "type outer(params)::inner<args>(params) const": "inner<args>"; scopes that are
// functions are left out, namespaces and classes stay.
std::string name_only(std::string_view text) {
  int depth = 0;              // of <> and []
  size_t begin = 0, end = text.size();
  bool cut = false;           // inside or behind a parameter list
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '[') {
      ++depth;
    } else if ((c == '>' || c == ']') && depth > 0) {
      --depth;
    } else if (depth == 0 && c == '(') {
      size_t level = 1, close = i + 1;
      while (close < text.size() && level > 0) {
        level += text[close] == '(' ? 1 : text[close] == ')' ? size_t(-1) : 0;
        ++close;
      }
      if (!cut) end = i;
      cut = true;
      i = close - 1;
    } else if (depth == 0 && c == ':' && i + 1 < text.size() && text[i + 1] == ':') {
      if (cut) {              // what was cut was a scope
        begin = i + 2;
        end = text.size();
        cut = false;
      }
      ++i;
    } else if (depth == 0 && c == ' ' && !cut) {
      begin = i + 1;          // behind a return type
    }
  }
  return begin < end ? std::string(text.substr(begin, end - begin)) : std::string(text);
}

std::string full_name(std::string_view mangled) {
  if (mangled.substr(0, 2) != "_Z") return std::string(mangled);
  std::string text;
  if (mangled.size() <= kMaxName && references(mangled) <= kMaxReferences) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), std::free);
    if (status == 0 && plain != nullptr) text = plain.get();
  }
  if (text.empty()) {
    text = identifiers_of(mangled);
    return text.empty() ? std::string(mangled) : text;
  }
  erase_all(text, "(anonymous namespace)::");
  erase_hidden(text);
  shorten_constants(text);
  if (text.find("operator") != std::string::npos) return text;
  return name_only(text);
}

}  // namespace

std::string readable_name(std::string_view mangled) {
  std::string text = full_name(mangled);
  if (text.size() <= kMaxReadable) return text;
  // Not between the bytes of one character: identifiers may hold any.
  const auto continues = [&text](size_t at) { return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; };
  size_t head = kMaxReadable - kTail, tail = text.size() - kTail;
  while (head > 0 && continues(head)) --head;
  while (continues(tail)) ++tail;
  return text.substr(0, head) + "…" + text.substr(tail);
}

}  // namespace kw
