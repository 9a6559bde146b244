// Random PTX instructions without control flow, on a fixed set of registers.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/rng.h"

namespace kw::oracle {

// Registers of each kind: %s, %r, %d, %h, %f, %fd, %p.
inline constexpr int kS = 6, kR = 8, kD = 6, kH = 5, kF = 7, kFd = 5, kP = 5;

class RandomOperations {
 public:
  explicit RandomOperations(uint64_t seed) : rng_(seed) {}
  // One line, or several that belong together; each in text of a function's body.
  std::string operation();

 protected:
  template <typename T>
  T pick(std::initializer_list<T> list) { return list.begin()[rng_.below(list.size())]; }
  bool chance(unsigned percent) { return rng_.below(100) < percent; }

  std::string reg(const char* prefix, int count) { return fmt::format("{}{}", prefix, rng_.below(static_cast<uint64_t>(count))); }
  std::string s() { return reg("%s", kS); }
  std::string r() { return reg("%r", kR); }
  std::string d() { return reg("%d", kD); }
  std::string h() { return reg("%h", kH); }
  std::string f() { return reg("%f", kF); }
  std::string fd() { return reg("%fd", kFd); }
  std::string p() { return reg("%p", kP); }
  std::string of_width(int width) { return width == 16 ? s() : width == 32 ? r() : d(); }
  std::string source(int width) {
    if (!chance(15)) return of_width(width);
    return fmt::format("{}", static_cast<int64_t>(rng_.below(2000)) - 1000);
  }
  std::string amount() { return chance(40) ? fmt::format("{}", rng_.below(70)) : r(); }

  struct Int { std::string type; int width; bool is_signed; };
  Int integer_type(bool narrow = true) {
    const int width = narrow ? pick({16, 32, 32, 64}) : pick({32, 32, 64});
    const bool is_signed = chance(50);
    return {fmt::format("{}{}", is_signed ? 's' : 'u', width), width, is_signed};
  }

  Rng rng_;

 private:
  std::string integer_op();
  std::string logic_op();
  std::string float_op();
  std::string convert_op();
  std::string compare_op();
  std::string move_op();
};

}  // namespace kw::oracle
