#include "llm/failure.h"

#include <array>
#include <utility>

namespace kw::llm {
namespace {

struct Row {
  FailureKind kind;
  std::string_view name;
  ErrorCode code;
  bool retriable;
};

constexpr std::array<Row, 15> kRows = {{
    {FailureKind::kWrongKey, "wrong-key", ErrorCode::kInvalid, false},
    {FailureKind::kNoCredit, "no-credit", ErrorCode::kLimit, false},
    {FailureKind::kUnknownModel, "unknown-model", ErrorCode::kNotFound, false},
    {FailureKind::kRefused, "refused", ErrorCode::kUnsupported, false},
    {FailureKind::kRateLimited, "rate-limited", ErrorCode::kLimit, true},
    {FailureKind::kOverloaded, "overloaded", ErrorCode::kIo, true},
    {FailureKind::kUnreachable, "unreachable", ErrorCode::kIo, true},
    {FailureKind::kTimedOut, "timed-out", ErrorCode::kLimit, true},
    {FailureKind::kCutStream, "cut-stream", ErrorCode::kIo, true},
    {FailureKind::kMalformedAnswer, "malformed-answer", ErrorCode::kInvalid, false},
    {FailureKind::kContextTooLong, "context-too-long", ErrorCode::kLimit, false},
    {FailureKind::kBudgetSpent, "budget-spent", ErrorCode::kLimit, false},
    {FailureKind::kCancelled, "cancelled", ErrorCode::kLimit, false},
    {FailureKind::kMisconfigured, "misconfigured", ErrorCode::kInvalid, false},
    {FailureKind::kReplayDiffers, "replay-differs", ErrorCode::kInvalid, false},
}};

const Row& row(FailureKind kind) { return kRows[static_cast<size_t>(kind)]; }

constexpr bool rows_stand_in_order() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].kind) != i) return false;
  }
  return true;
}
static_assert(rows_stand_in_order());

}  // namespace

std::string_view name_of(FailureKind kind) { return row(kind).name; }

std::optional<FailureKind> failure_kind(std::string_view name) {
  for (const Row& each : kRows) {
    if (each.name == name) return each.kind;
  }
  return std::nullopt;
}

Failure make_failure(FailureKind kind, std::string message, std::string remedy) {
  Failure failure;
  failure.code = row(kind).code;
  failure.message = std::move(message);
  if (!remedy.empty()) failure.notes.push_back(std::move(remedy));
  failure.kind = kind;
  failure.retriable = row(kind).retriable;
  return failure;
}

tl::unexpected<Failure> misconfigured(Error error) {
  Failure failure;
  static_cast<Error&>(failure) = std::move(error);
  return fail(std::move(failure));
}

}  // namespace kw::llm
