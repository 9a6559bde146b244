#include "llm/server_failure.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/source_text.h"

namespace kw::llm {
namespace {

bool says(std::string_view text, std::initializer_list<std::string_view> words) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

struct Said {
  std::string message, type, code;
};

Said read_error(const Json& body, std::string_view raw) {
  const Json& outer = body.is_array() && !body.empty() ? body[0] : body;  // Gemini's is a list of one
  const Json& error = member(outer, "error");
  Said said;
  if (error.is_object()) {
    said = {text_member(error, "message"), text_member(error, "type"), text_member(error, "code")};
  } else if (error.is_string()) {
    said.message = error.get<std::string>();  // Ollama's own form
  } else {
    said = {text_member(outer, "message"), text_member(outer, "type"), text_member(outer, "code")};
    if (said.message.empty()) said.message = text_member(outer, "detail");
  }
  if (said.message.empty()) said.message = raw;
  return said;
}

std::string as_quote(std::string_view text) {
  std::string out = printable_text(text.substr(0, 2048));
  std::replace(out.begin(), out.end(), '\n', ' ');
  constexpr size_t kMost = 300;
  if (out.size() > kMost) {
    size_t cut = kMost;
    while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xc0) == 0x80) --cut;
    out = out.substr(0, cut) + "…";
  }
  return out.empty() ? "" : ": " + out;
}

FailureKind kind_of(int status, const Said& said) {
  const std::string both = said.type + " " + said.code;
  if (says(both, {"insufficient_quota", "billing"}) ||
      says(said.message, {"credit balance", "insufficient credit"}) || status == 402)
    return FailureKind::kNoCredit;
  if (says(both, {"context_length", "request_too_large"}) ||
      says(said.message, {"maximum context length", "context length", "context window", "context size",
                          "prompt is too long", "too many tokens"}) ||
      status == 413) {
    return FailureKind::kContextTooLong;
  }
  if (says(both, {"content_filter", "content_policy"})) return FailureKind::kRefused;
  if (says(both, {"model_not_found"})) return FailureKind::kUnknownModel;
  if (says(both, {"authentication", "invalid_api_key", "permission"})) return FailureKind::kWrongKey;
  if (status == 400 && says(said.message, {"api key"})) return FailureKind::kWrongKey;
  if (says(both, {"rate_limit"})) return FailureKind::kRateLimited;
  if (says(both, {"overloaded", "server_error", "api_error", "internal"}) && (status == 0 || status >= 500))
    return FailureKind::kOverloaded;
  switch (status) {
    case 401:
    case 403: return FailureKind::kWrongKey;
    case 404:
      return says(said.message, {"model"}) || says(both, {"not_found_error"}) ? FailureKind::kUnknownModel
                                                                              : FailureKind::kMisconfigured;
    case 408: return FailureKind::kTimedOut;
    case 429: return FailureKind::kRateLimited;
    case 0: return FailureKind::kOverloaded;
    default: break;
  }
  if (status >= 500) return FailureKind::kOverloaded;
  if (says(said.message, {"model"}) && says(said.message, {"not found", "does not exist"}))
    return FailureKind::kUnknownModel;
  return FailureKind::kMisconfigured;
}

std::string what(FailureKind kind, const Server& server) {
  switch (kind) {
    case FailureKind::kWrongKey:
      return fmt::format("{} {}", server.name,
                         !server.key.empty() ? "does not accept the key" : "wants a key, and none is set");
    case FailureKind::kNoCredit: return fmt::format("the account at {} has no credit left", server.name);
    case FailureKind::kUnknownModel: return fmt::format("{} has no model '{}'", server.name, server.model);
    case FailureKind::kRefused: return fmt::format("{} refuses this content", server.name);
    case FailureKind::kRateLimited: return fmt::format("{} limits the rate of requests", server.name);
    case FailureKind::kOverloaded:
      return fmt::format("{} is overloaded or has an error of its own", server.name);
    case FailureKind::kContextTooLong: return fmt::format("the request is too long for '{}'", server.model);
    case FailureKind::kTimedOut: return fmt::format("{} gave up waiting", server.name);
    default: return fmt::format("{} does not take the request", server.name);
  }
}

std::string remedy(FailureKind kind, const Server& server) {
  switch (kind) {
    case FailureKind::kWrongKey:
      return fmt::format("set {} (or KW_LLM_KEY_FILE) to a key that this server accepts for this model",
                         server.key_variable);
    case FailureKind::kNoCredit: return "add credit to the account, or use another key";
    case FailureKind::kUnknownModel: return "write the model's name as the provider lists it";
    case FailureKind::kRefused: return "change what is asked";
    case FailureKind::kRateLimited:
    case FailureKind::kOverloaded:
    case FailureKind::kTimedOut: return "ask again later";
    case FailureKind::kContextTooLong: return "shorten the messages, or lower the number of output tokens";
    default: return "look at the model's name, the address and what this model supports";
  }
}

}  // namespace

Failure server_failure(int status, const Json& body, std::string_view raw, const Server& server) {
  if (status >= 300 && status < 400) {
    return make_failure(
        FailureKind::kMisconfigured,
        fmt::format("{} sends requests elsewhere (status {})", server.name, status),
        "give the address that it redirects to after the '@' of --llm; a key is not carried to another host");
  }
  const Said said = read_error(body, raw);
  const FailureKind kind = kind_of(status, said);
  // Redacted before it is cut: the beginning of a key is a secret too.
  const std::string number = status == 0 ? "" : fmt::format(" (status {})", status);
  return make_failure(kind, what(kind, server) + number + as_quote(server.key.redacted(said.message)),
                      remedy(kind, server));
}

std::optional<std::time_t> parse_date(const std::string& text) {
  std::tm parts{};
  static constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  char month[4] = {};
  int end = 0;
  if (std::sscanf(text.c_str(), "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", &parts.tm_mday, month,
                  &parts.tm_year, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &end) == 6 &&
      end > 0) {
    const auto found = std::find_if(kMonths.begin(), kMonths.end(),
                                    [&](const char* name) { return std::string_view(name) == month; });
    if (found == kMonths.end()) return std::nullopt;
    parts.tm_mon = static_cast<int>(found - kMonths.begin());
  } else if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                         &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &end) == 6 &&
             end > 0 && text.ends_with('Z')) {
    parts.tm_mon -= 1;
  } else {
    return std::nullopt;
  }
  if (parts.tm_year < 1970 || parts.tm_mon < 0 || parts.tm_mon > 11) return std::nullopt;
  parts.tm_year -= 1900;
  return timegm(&parts);
}

std::optional<double> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double seconds = 0;
  for (bool first = true; !text.empty(); first = false) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const size_t letters = std::min(text.find_first_of("0123456789."), text.size());
    const std::string_view unit = text.substr(0, letters);
    text.remove_prefix(letters);
    if (unit == "ms")
      seconds += value * 1e-3;
    else if (unit == "s" || (first && unit.empty() && text.empty()))
      seconds += value;
    else if (unit == "m")
      seconds += value * 60;
    else if (unit == "h")
      seconds += value * 3600;
    else if (unit == "d")
      seconds += value * 86400;
    else
      return std::nullopt;
  }
  return seconds;
}

double asked_wait(const ResponseHead& head, std::time_t now) {
  const auto bounded = [](double seconds) {
    return std::isfinite(seconds) ? std::clamp(seconds, 0.0, 86400.0) : 0.0;
  };
  const auto until = [&](const std::string& text) -> std::optional<double> {
    if (const auto date = parse_date(text)) return static_cast<double>(*date - now);
    return parse_duration(text);
  };
  if (const auto ms = parse_duration(head.header("retry-after-ms"))) return bounded(*ms * 1e-3);
  if (const auto seconds = until(head.header("retry-after"))) return bounded(*seconds);
  double longest = 0;
  for (const auto& [name, value] : head.headers) {
    // x-ratelimit-remaining-tokens and -reset-tokens; anthropic-ratelimit-tokens-remaining and -reset.
    const size_t at = name.find("remaining");
    if (name.find("ratelimit") == std::string::npos || at == std::string::npos || value != "0") continue;
    std::string reset = name;
    reset.replace(at, std::string_view("remaining").size(), "reset");
    if (const auto seconds = until(head.header(reset))) longest = std::max(longest, bounded(*seconds));
  }
  return longest;
}

}  // namespace kw::llm
