#include "base/log.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace kw {
namespace {

LogLevel level_from_environment() {
  const char* text = std::getenv("KW_LOG");
  const std::string_view value = text != nullptr ? text : "";
  if (value == "debug") return LogLevel::kDebug;
  if (value == "info") return LogLevel::kInfo;
  if (value == "error") return LogLevel::kError;
  if (value == "off") return LogLevel::kOff;
  return LogLevel::kWarn;
}

struct Logger {
  std::atomic<LogLevel> level{level_from_environment()};
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::mutex mutex;  // guards sink and the order of lines
  std::function<void(LogLevel, std::string_view)> sink;
};

Logger& logger() {
  static Logger instance;
  return instance;
}

constexpr std::string_view kNames[] = {"debug", "info ", "warn ", "error", "off  "};

}  // namespace

LogLevel log_level() { return logger().level.load(std::memory_order_relaxed); }

void set_log_level(LogLevel level) { logger().level.store(level, std::memory_order_relaxed); }

void set_log_sink(std::function<void(LogLevel, std::string_view)> sink) {
  Logger& log = logger();
  const std::lock_guard lock(log.mutex);
  log.sink = std::move(sink);
}

void log_line(LogLevel level, fmt::string_view format, fmt::format_args args) {
  Logger& log = logger();
  const std::string message = fmt::vformat(format, args);
  const std::lock_guard lock(log.mutex);
  if (log.sink) {
    log.sink(level, message);
    return;
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - log.start;
  const std::string line =
      fmt::format("{:8.3f} {} {}\n", elapsed.count(), kNames[static_cast<size_t>(level)], message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace kw
