// KW_CHECK(condition): states what must hold whatever the input. A failure is a bug of ours: it throws
// InternalError, which main, a worker or a request handler reports. User input must never reach one.
#pragma once

#include <stdexcept>
#include <string>

namespace kw {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace kw

#define KW_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::kw::check_failed(#condition, __FILE__, __LINE__))
