#include "llm/key.h"

#include <algorithm>
#include <cstdlib>

#include "base/file.h"

namespace kw::llm {
namespace {

constexpr size_t kShortest = 8;  // less would be found in ordinary text
constexpr size_t kLongest = 4096;
constexpr const char* kBlanks = " \t\r\n";
constexpr std::string_view kShown = "[key]";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string without_blanks_around(const std::string& text) {
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string> environment_keys() {
  std::vector<std::string> out;
  for (const char* name : {"KW_LLM_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"})
    out.push_back(environment(name));
  if (const auto text = read_file(environment("KW_LLM_KEY_FILE"), kLongest)) out.push_back(*text);
  for (std::string& secret : out) secret = without_blanks_around(secret);
  std::erase_if(out, [](const std::string& secret) { return secret.size() < kShortest; });
  return out;
}

}  // namespace

Answer<Key> Key::make(std::string secret, const std::string& source) {
  secret = without_blanks_around(secret);
  if (secret.size() < kShortest || secret.size() > kLongest) {
    return fail(FailureKind::kWrongKey,
                fmt::format("{} holds {} bytes, which is no key", source, secret.size()),
                "put the key there, and nothing else");
  }
  for (const char c : secret) {
    // Such a byte could end the header that the key stands in, or be written otherwise in JSON and so escape
    // redaction.
    if (c <= ' ' || c > '~' || c == '"' || c == '\\') {
      return fail(
          FailureKind::kWrongKey,
          fmt::format("{} holds a byte that no key has (a blank, a quote or a control character)", source),
          "put the key there, and nothing else");
    }
  }
  Key key;
  key.hidden_ = environment_keys();
  key.hidden_.push_back(secret);
  key.secret_ = std::move(secret);
  return key;
}

Key Key::unused() {
  Key key;
  key.hidden_ = environment_keys();
  return key;
}

Answer<Key> Key::from_environment(const std::string& official) {
  if (const std::string path = environment("KW_LLM_KEY_FILE"); !path.empty()) {
    auto text = read_file(path, kLongest);
    if (!text) {
      text.error().notes.push_back("KW_LLM_KEY_FILE names the file that holds the key");
      return misconfigured(std::move(text.error()));
    }
    return make(std::move(*text), "the file that KW_LLM_KEY_FILE names");
  }
  for (const std::string& name : {std::string("KW_LLM_KEY"), official}) {
    if (name.empty()) continue;
    if (std::string value = environment(name.c_str()); !value.empty()) return make(std::move(value), name);
  }
  return unused();
}

std::string Key::redacted(std::string_view text) const {
  std::string out(text);
  for (const std::string& secret : hidden_) {
    for (size_t at = out.find(secret); at != std::string::npos; at = out.find(secret, at))
      out.replace(at, secret.size(), kShown);
  }
  return out;
}

size_t Key::longest() const {
  size_t longest = 0;
  for (const std::string& secret : hidden_) longest = std::max(longest, secret.size());
  return longest;
}

void Key::redact(Failure& failure) const {
  failure.message = redacted(failure.message);
  for (std::string& note : failure.notes) note = redacted(note);
}

}  // namespace kw::llm
