// The logger, the only global: lines "12.345 info  message" on standard error, for people.
// Off below the level (default: warn; environment variable KW_LOG = debug, info, warn, error or off sets it).
// Libraries log rarely and never print; results are values. Thread-safe: a line is written whole.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string_view>

namespace kw {

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };

LogLevel log_level();
void set_log_level(LogLevel level);
// Where lines go instead of standard error (without line end); an empty function restores it. For tests and faces.
void set_log_sink(std::function<void(LogLevel, std::string_view)> sink);

void log_line(LogLevel level, fmt::string_view format, fmt::format_args args);

template <typename... Args>
void log_at(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level >= log_level()) log_line(level, format, fmt::make_format_args(args...));
}
template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::kDebug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::kInfo, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::kWarn, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::kError, format, std::forward<Args>(args)...);
}

}  // namespace kw
