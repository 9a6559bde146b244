// JSON of ours read again. The first thing that is missing or not what it should be is remembered, and what is read in its
// place is harmless; who has read everything asks for complaint(). For sources, not for headers: it takes seconds to compile.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace kw {

// Discarded when it is no JSON, or deeper than any of ours: JSON is compared and printed by recursion.
nlohmann::json parse_json(std::string_view text);
nlohmann::json json_real(double number);   // exactly; what is no number or infinite too, as JsonFields::real reads it

class JsonFields {
 public:
  using Json = nlohmann::json;   // not ordered_json, which looks for every key among all before it

  void complain(std::string_view what) {
    if (wrong_.empty()) wrong_ = what;
  }
  // None when all was as it should be; `what` is the document: "the verdict".
  Status complaint(std::string_view what, const std::string& file) const;

  const Json& member(const Json& json, const char* name);
  const Json& list(const Json& json, const char* name);       // empty when it is none
  std::string words(const Json& json, const char* name);      // may be empty
  std::string text(const Json& json, const char* name);       // not empty, without zero bytes: a path or a name
  std::string hash(const Json& json, const char* name);
  std::vector<std::string> texts(const Json& json, const char* name);
  double real(const Json& json, const char* name);            // "nan", "inf" and "-inf" too
  bool flag(const Json& json, const char* name);
  template <typename T>
  T number(const Json& json, const char* name, T otherwise) {
    const Json& value = member(json, name);
    if constexpr (std::is_integral_v<T>) {   // none of ours is negative
      const uint64_t most = std::numeric_limits<T>::max();
      if (value.is_number_unsigned() && value.get<uint64_t>() <= most) return static_cast<T>(value.get<uint64_t>());
    } else if (value.is_number()) {
      return value.get<T>();
    }
    complain(name);
    return otherwise;
  }

 private:
  std::string wrong_;
};

}  // namespace kw
