// HTML under construction, made so that no text can become markup: markup is what stands in this program as a literal, which the
// compiler checks, and all else is escaped. Values; not thread-safe.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace kw::agent {

class Html {
 public:
  // A literal of the program.
  struct Markup {
    consteval Markup(const char* literal) : text(literal) {}   // implicit: "<td>"
    std::string_view text;
  };
  Html& operator<<(Markup markup) {
    out_ += markup.text;
    return *this;
  }
  // Text between tags, or between the quotes of an attribute.
  template <typename Text>
    requires std::same_as<Text, std::string> || std::same_as<Text, std::string_view>
  Html& operator<<(const Text& text) {
    add_text(text);
    return *this;
  }
  Html& operator<<(const Html& other) {
    out_ += other.out_;
    return *this;
  }
  const std::string& str() const { return out_; }

 private:
  void add_text(std::string_view text);
  std::string out_;
};

}  // namespace kw::agent
