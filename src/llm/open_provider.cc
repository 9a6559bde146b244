#include "llm/open_provider.h"

#include <algorithm>

#include "base/near_miss.h"
#include "llm/command_provider.h"
#include "llm/http_provider.h"
#include "llm/mailbox.h"
#include "llm/replay.h"

namespace kw::llm {
namespace {

constexpr std::string_view kForms =
    "one of openai:MODEL[@ADDRESS], anthropic:MODEL[@ADDRESS], command:SHELL WORDS, mailbox:FOLDER, "
    "replay:FILE, none";

struct Vendor {
  std::string host, key_variable;
};

Answer<OpenProvider> open_http(const std::string& kind, const std::string& rest, const Limits& limits) {
  const bool openai = kind == "openai";
  const Vendor vendor =
      openai ? Vendor{"api.openai.com", "OPENAI_API_KEY"} : Vendor{"api.anthropic.com", "ANTHROPIC_API_KEY"};
  const size_t at = std::min({rest.find("@http://"), rest.find("@https://"), rest.size()});
  const std::string address = at < rest.size() ? rest.substr(at + 1) : "https://" + vendor.host;
  auto base = parse_url(address);
  if (!base) return misconfigured(std::move(base.error()));
  if (!base->user_info.empty()) {
    return fail(FailureKind::kMisconfigured, "the address of the model's server holds a name or password",
                "leave it out; a key goes into KW_LLM_KEY");
  }
  if (base->path.empty()) base->path = "/v1";
  // A vendor's key goes to that vendor alone; a server of one's own gets KW_LLM_KEY.
  const bool official = base->host == vendor.host && base->tls;
  auto key = Key::from_environment(official ? vendor.key_variable : "");
  if (!key) return fail(std::move(key.error()));
  if (official && key->empty()) {
    return fail(FailureKind::kWrongKey,
                fmt::format("{} wants a key, and {} is not set", vendor.host, vendor.key_variable),
                fmt::format("set {}, or KW_LLM_KEY_FILE to a file that holds the key", vendor.key_variable));
  }
  const Server server{base->authority(), rest.substr(0, at), official ? vendor.key_variable : "KW_LLM_KEY",
                      *key};
  if (server.model.empty())
    return fail(FailureKind::kMisconfigured, fmt::format("{}: names no model", kind),
                fmt::format("write it like {}:MODEL", kind));
  auto wire = openai ? openai_wire(server, official) : anthropic_wire(server);
  return OpenProvider{http_provider(std::move(wire), *base, server, limits), *key, {}, {}};
}

}  // namespace

Answer<OpenProvider> open_provider(const std::string& spec, const Limits& limits) {
  const size_t colon = std::min(spec.find(':'), spec.size());
  const std::string kind = spec.substr(0, colon);
  const std::string rest = spec.substr(std::min(colon + 1, spec.size()));
  if (kind == "none" && colon == spec.size()) return OpenProvider{open_none(), Key::unused(), {}, {}};
  if (!rest.empty()) {
    if (kind == "openai" || kind == "anthropic") return open_http(kind, rest, limits);
    if (kind == "command") {
      const Key key = Key::unused();
      return OpenProvider{command_provider(rest, key, limits), key, {}, {}};
    }
    if (kind == "mailbox") {
      auto mailbox = open_mailbox(rest, limits);
      if (!mailbox) return fail(std::move(mailbox.error()));
      std::string note =
          fmt::format("answers are awaited in {0}: NNNN-reply.md for each NNNN-prompt.md", rest);
      return OpenProvider{std::move(*mailbox), Key::unused(), {std::move(note)}, {}};
    }
    if (kind == "replay") {
      OpenProvider out{nullptr, Key::unused(), {}, rest};
      auto replay = open_replay(rest, out.notes);
      if (!replay) return fail(std::move(replay.error()));
      out.provider = std::move(*replay);
      return out;
    }
  }
  static const std::vector<std::string> kKinds = {"openai",  "anthropic", "command",
                                                  "mailbox", "replay",    "none"};
  Failure failure = make_failure(FailureKind::kMisconfigured,
                                 fmt::format("'{}' names no language model", Key::unused().redacted(spec)),
                                 fmt::format("write {}", kForms));
  if (const std::string near = nearest(kind, kKinds); !near.empty() && near != kind)
    failure.notes.push_back(fmt::format("did you mean '{}'?", near));
  return fail(std::move(failure));
}

}  // namespace kw::llm
