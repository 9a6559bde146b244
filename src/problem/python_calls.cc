#include "problem/python_calls.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/hash.h"
#include "base/jail.h"
#include "base/source_text.h"
#include "problem/python_place.h"

namespace kw::problem {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostRemembered = std::uint64_t{512} << 20;
constexpr std::uint64_t kTorchItself = std::uint64_t{1} << 30;
constexpr std::uint64_t kFolderSlack = std::uint64_t{16} << 20;
constexpr std::uint64_t kAddressSpace = std::uint64_t{256} << 30;  // torch with CUDA maps far more than it touches
constexpr std::size_t kLongestReport = 4096;

std::string_view word(PythonPrecision precision) {
  switch (precision) {
    case PythonPrecision::kExact: return "exact";
    case PythonPrecision::kSingle: return "single";
    case PythonPrecision::kDouble: return "double";
  }
  return "";
}

std::int64_t elements(const tensor::Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::string_view bytes_of(const Array& array) {
  return {reinterpret_cast<const char*>(array.data), static_cast<std::size_t>(elements(array.shape)) * sizeof(double)};
}

// What the worker reads: a word a line (worker.py).
std::string request(const PythonCall& call, const std::vector<PythonPrecision>& precisions) {
  std::string text = fmt::format("line {}\nfunction {}\n", call.section.line, call.function);
  for (const PythonPrecision precision : precisions) text += fmt::format("precision {}\n", word(precision));
  for (const PythonOperand& operand : call.operands)
    text += operand.number ? fmt::format("number {} {}\n", kind_name(operand.kind), operand.value.data[0])
                           : fmt::format("tensor {} {}\n", kind_name(operand.kind), fmt::join(operand.value.shape, " "));
  for (const PythonResult& result : call.results)
    text += fmt::format("result {} {} {}\n", result.output, kind_name(result.kind), fmt::join(result.shape, " "));
  return text;
}

std::string key_of(const PythonCall& call, PythonPrecision precision) {
  Hasher hasher;
  hasher.add(call.section.source).add(request(call, {precision}));
  for (const PythonOperand& operand : call.operands) hasher.add(bytes_of(operand.value));
  return hasher.hex();
}

// A value of `kind`, or why it is none.
const char* fault(Kind kind, double value) {
  if (kind == Kind::kReal) return nullptr;
  if (kind == Kind::kBoolean) return value == 0 || value == 1 ? nullptr : "is neither true nor false";
  return std::trunc(value) == value && std::abs(value) <= 0x1p53 ? nullptr : "is no integer within 2^53";
}

// What the process left in its folder, which it may have filled with anything.
Result<std::string> left_behind(const std::string& path, std::uint64_t limit) {
  std::error_code ignored;
  if (!fs::is_regular_file(fs::symlink_status(path, ignored))) return fail(ErrorCode::kNotFound, "{} is no file", path);
  return read_file(path, limit);
}

class Process {
 public:
  Process(const PythonCall& call, const PythonLimits& limits) : call_(call), limits_(limits) {}

  Result<std::vector<std::vector<Buffer>>> run(const PythonPlace& place, const std::vector<PythonPrecision>& precisions) {
    KW_TRY(const std::string package, find_python_package());
    const std::string worker = package + "/kernelwright/worker.py";
    KW_TRY(const TempDir folder, TempDir::create("kw-python"));
    std::string operands;
    for (const PythonOperand& operand : call_.operands)
      if (!operand.number) operands.append(bytes_of(operand.value));
    KW_TRY_VOID(write_file(folder / "source.py", call_.section.source));
    KW_TRY_VOID(write_file(folder / "call", request(call_, precisions)));
    KW_TRY_VOID(write_file(folder / "operands", operands));
    std::uint64_t expected = 0;
    for (const PythonResult& result : call_.results) expected += static_cast<std::uint64_t>(elements(result.shape)) * sizeof(double);
    expected *= precisions.size();

    Command command;
    command.argv = {place.program, "-I", "-B", worker, folder.path(), place.packages};
    command.stdout_limit_bytes = 1 << 20;
    command.stderr_limit_bytes = 1 << 20;
    command.wall_seconds = limits_.wall_seconds;
    command.limits.address_space_bytes = kAddressSpace;
    JailOptions jail;
    jail.read_only = jail_system_paths();
    jail.read_only.insert(jail.read_only.end(), place.installation.begin(), place.installation.end());
    jail.read_only.push_back(worker);
    jail.read_only.emplace_back("/sys/devices/system/cpu");  // torch chooses its instructions by it
    jail.work_dir = folder.path();
    jail.work_bytes = operands.size() + expected + call_.section.source.size() + kFolderSlack;
    jail.memory_bytes = kTorchItself + static_cast<std::uint64_t>(limits_.memory_bytes);
    operands = {};
    KW_TRY(const ProcessOutcome outcome, run_jailed(command, jail));
    if (!outcome.succeeded()) return fail(ended(outcome, left_behind(folder / "failure", 1 << 20)));
    auto results = left_behind(folder / "results", expected);
    if (!results || results->size() != expected)
      return fail(ErrorCode::kInvalid, "Python function '{}' ended its process without results; it must return", call_.function);
    return unpack(*results, precisions.size());
  }

 private:
  Error ended(const ProcessOutcome& outcome, const Result<std::string>& failure) const {
    Error error;
    const auto limit = [&](std::string message, std::string remedy) {
      error.code = ErrorCode::kLimit;
      error.message = fmt::format("Python function '{}' {}", call_.function, message);
      error.notes.push_back(std::move(remedy));
      return error;
    };
    if (outcome.reason == StopReason::kDeadline || outcome.reason == StopReason::kCpuLimit)
      return limit(fmt::format("did not end within {:.0f} s", limits_.wall_seconds), "choose a smaller workload");
    if (outcome.reason == StopReason::kMemoryLimit)
      return limit(fmt::format("took more memory than the limit of {} MiB", limits_.memory_bytes >> 20), "choose a smaller workload");
    if (outcome.reason == StopReason::kDiskLimit || outcome.reason == StopReason::kFileLimit)
      return limit("filled its folder", "it must not write files");
    if (outcome.reason == StopReason::kOutputLimit) return limit("prints more than 1 MiB", "it must not print");
    if (outcome.reason == StopReason::kExited && failure) {  // "LINE\nMESSAGE"
      int line = 0;
      const std::string_view first = line_of(*failure, 1);
      std::from_chars(first.data(), first.data() + first.size(), line);
      if (line > 0) error.span = Span{"", line, 1, 0};
      const std::string_view message = std::string_view(*failure).substr(std::min(first.size() + 1, failure->size()));
      error.message = fmt::format("Python function '{}': {}", call_.function, printable_text(message.substr(0, kLongestReport)));
      return error;
    }
    error.message = fmt::format("Python function '{}' ended its process: {}", call_.function, describe(outcome));
    const std::size_t tail = outcome.err.size() - std::min(outcome.err.size(), kLongestReport);
    if (!outcome.err.empty()) error.notes.push_back(printable_text(std::string_view(outcome.err).substr(tail)));
    return error;
  }

  Result<std::vector<std::vector<Buffer>>> unpack(std::string_view bytes, std::size_t precisions) const {
    std::vector<std::vector<Buffer>> answers(precisions);
    for (std::vector<Buffer>& answer : answers)
      for (const PythonResult& result : call_.results) {
        Buffer values(static_cast<std::size_t>(elements(result.shape)));
        const std::size_t size = values.size() * sizeof(double);
        if (size > 0) std::memcpy(values.data(), bytes.data(), size);
        bytes.remove_prefix(size);
        for (const double value : values)
          if (const char* wrong = fault(result.kind, value); wrong != nullptr)
            return fail(ErrorCode::kInvalid, "Python function '{}': output {} holds {}, which {}", call_.function, result.output, value, wrong);
        answer.push_back(std::move(values));
      }
    return answers;
  }

  const PythonCall& call_;
  const PythonLimits& limits_;
};

}  // namespace

PythonCalls::Answer PythonCalls::remembered(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = answers_.find(key);
  return found == answers_.end() ? nullptr : found->second;
}

void PythonCalls::remember(const std::string& key, const Answer& answer) {
  std::uint64_t bytes = 0;
  for (const Buffer& values : *answer) bytes += values.size() * sizeof(double);
  const std::lock_guard lock(mutex_);
  if (bytes > kMostRemembered) return;
  if (remembered_bytes_ + bytes > kMostRemembered) {
    answers_.clear();
    remembered_bytes_ = 0;
  }
  if (answers_.emplace(key, answer).second) remembered_bytes_ += bytes;
}

Result<std::shared_ptr<const PythonPlace>> PythonCalls::place() {
  const std::lock_guard lock(mutex_);
  if (!place_) {
    KW_TRY(PythonPlace found, find_python());
    place_ = std::make_shared<const PythonPlace>(std::move(found));
  }
  return place_;
}

Result<std::vector<Buffer>> PythonCalls::call(const PythonCall& call, PythonPrecision precision,
                                              std::optional<PythonPrecision> also, const PythonLimits& limits) {
  const std::string key = key_of(call, precision);
  if (const Answer known = remembered(key)) return *known;
  KW_TRY(const auto python, place());
  std::vector<PythonPrecision> precisions = {precision};
  if (also) precisions.push_back(*also);
  KW_TRY(auto answers, Process(call, limits).run(*python, precisions));
  for (std::size_t i = 0; i < precisions.size(); ++i)
    remember(key_of(call, precisions[i]), std::make_shared<const std::vector<Buffer>>(answers[i]));
  return std::move(answers.front());
}

}  // namespace kw::problem
