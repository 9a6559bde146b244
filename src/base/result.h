// Result<T>: the value of an operation that may fail for reasons outside this program (input, files,
// other processes), or an Error that says what happened, where, and what to do about it.
// Verdicts about candidates are not errors; bugs of our own are KW_CHECK failures (check.h).
// Values; no shared state.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace kw {

enum class ErrorCode {
  kInvalid,      // input that is not what its format says
  kUnsupported,  // valid input that asks for something not built (names what)
  kNotFound,     // a file, symbol, tool or name that is not there
  kIo,           // the operating system refused
  kLimit,        // a declared bound on time, memory, size or steps was reached
};

// A place in a text: line and column count from 1; length in bytes (0 = unknown).
struct Span {
  std::string file;
  int line = 0;
  int column = 0;
  int length = 0;
};

struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;
  std::optional<Span> span;
  std::string source_line;         // the text of the line at span, for the caret
  std::vector<std::string> notes;  // remedies and further places, one sentence each
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

template <typename... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  Error error;
  error.code = code;
  error.message = fmt::format(format, std::forward<Args>(args)...);
  return tl::unexpected<Error>(std::move(error));
}

inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

// "file:line:column: message", the source line with a caret under the span, then "note: …" lines.
std::string format_error(const Error& error);

// The line numbered `line` (from 1) of `text`, without its end; empty when there is none.
std::string_view line_of(std::string_view text, int line);

}  // namespace kw

// Evaluates `expression` (a Result); on failure returns its error from the enclosing function,
// otherwise binds the value: KW_TRY(auto text, read_file(path));
#define KW_TRY_CONCAT_(a, b) a##b
#define KW_TRY_NAME_(line) KW_TRY_CONCAT_(kw_try_, line)
#define KW_TRY(declaration, expression)                                                        \
  auto KW_TRY_NAME_(__LINE__) = (expression);                                                  \
  if (!KW_TRY_NAME_(__LINE__)) return ::tl::unexpected(std::move(KW_TRY_NAME_(__LINE__)).error()); \
  declaration = std::move(*KW_TRY_NAME_(__LINE__))
#define KW_TRY_VOID(expression)                                                       \
  do {                                                                                \
    auto kw_try_status = (expression);                                                \
    if (!kw_try_status) return ::tl::unexpected(std::move(kw_try_status).error());    \
  } while (false)
