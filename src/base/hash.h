// Content hashes for cache keys and content-addressed files: XXH3, 128 bits, as 32 lower-case hex digits (the
// canonical big-endian form). Fast and stable across machines; not cryptographic. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kw {

std::string hash_hex(std::string_view bytes);
// Whether `text` looks like one, so that nothing else reaches a path.
bool is_hash(std::string_view text);

uint64_t hash_64(std::string_view bytes, uint64_t seed = 0);

// Hashes a sequence of fields. Each field's length goes in too, so ("ab", "c") and ("a", "bc") differ.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  Hasher& add(std::string_view field);
  Hasher& add(uint64_t number);
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw
