// Why there is no reply. A Failure is an Error (message, remedies in notes) with a kind that a caller can act
// on, and whether the same request may be sent again. Values. No text in it holds a key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::llm {

enum class FailureKind : uint8_t {
  kWrongKey,  // missing, refused, or not allowed to do this
  kNoCredit,  // the account has nothing left
  kUnknownModel,
  kRefused,  // the provider or the model will not answer this content
  kRateLimited,
  kOverloaded,   // overload or an error within the server
  kUnreachable,  // no connection
  kTimedOut,
  kCutStream,        // the answer ended before its end
  kMalformedAnswer,  // an answer that is not what its protocol says, or is too large
  kContextTooLong,
  kBudgetSpent,
  kCancelled,
  kMisconfigured,  // the spec, the request or the environment
  kReplayDiffers,  // a replayed transcript has another request, or no more of them
};

// "wrong-key", …: what transcripts hold.
std::string_view name_of(FailureKind kind);
std::optional<FailureKind> failure_kind(std::string_view name);

struct Failure : Error {
  FailureKind kind = FailureKind::kMisconfigured;
  bool retriable = false;
  double retry_after_seconds = 0;  // the server asked to wait so long; 0: it did not say
};

template <typename T>
using Answer = tl::expected<T, Failure>;

// Retriable as its kind is by nature: rate limits, overload, no connection, time-outs and cut streams.
Failure make_failure(FailureKind kind, std::string message, std::string remedy = {});
inline tl::unexpected<Failure> fail(Failure failure) { return tl::unexpected<Failure>(std::move(failure)); }
inline tl::unexpected<Failure> fail(FailureKind kind, std::string message, std::string remedy = {}) {
  return tl::unexpected<Failure>(make_failure(kind, std::move(message), std::move(remedy)));
}
// An error of another module that stands in the way of asking.
tl::unexpected<Failure> misconfigured(Error error);

}  // namespace kw::llm
