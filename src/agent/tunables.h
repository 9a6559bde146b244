// Tunables: constants of a kernel that its author lets a program choose.
//
//   constexpr int kThreads = 256;  // tune: 64 128 256 512
//
// One on a line that is no comment: `constexpr`, a type, a name, its value, and after "// tune:" the values that it may take, the present one among
// them. A value is a number or a name. Which combinations compile, and are right, is the judge's to find out.
// Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::agent {

struct Tunable {
  std::string name;                  // "kThreads"
  uint32_t line = 0;                 // from 1
  size_t begin = 0, length = 0;      // of the value, in bytes of the source
  std::vector<std::string> values;   // as listed; at least two
  size_t chosen = 0;                 // which of them stands there
};

inline constexpr size_t kMostTunables = 32, kMostValues = 64;

// In the order of the text. kInvalid: names file and line, and what a tunable looks like.
Result<std::vector<Tunable>> find_tunables(std::string_view source, const std::string& file);

// The source with another value in its place.
std::string with_value(std::string_view source, const Tunable& tunable, size_t value);

}  // namespace kw::agent
