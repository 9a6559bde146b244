// The secret that a provider is asked with. It comes from the environment or a file, goes into one request
// header, and nowhere else: whatever leaves this module in a message, a log or a transcript passes
// redacted().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llm/failure.h"

namespace kw::llm {

class Key {
 public:
  Key() = default;
  // Errors (kWrongKey) when it is shorter than 8 bytes or has bytes that no key has: blanks, quotes, control
  // characters. `source` names where it came from.
  static Answer<Key> make(std::string secret, const std::string& source);
  // KW_LLM_KEY_FILE, KW_LLM_KEY or, when `official` is not empty, the variable of that name; the first that
  // is set. An empty key when none is.
  static Answer<Key> from_environment(const std::string& official);
  // An empty key, for providers that need none.
  static Key unused();

  bool empty() const { return secret_.empty(); }
  const std::string& secret() const { return secret_; }
  // `text` with [key] wherever the key stands in it, or another key that this process's environment holds: a
  // program that is asked inherits them, and may print them.
  std::string redacted(std::string_view text) const;
  void redact(Failure& failure) const;
  size_t longest() const;   // bytes of what redacted() takes out

 private:
  std::string secret_;
  std::vector<std::string> hidden_;  // what redacted() takes out
};

}  // namespace kw::llm
