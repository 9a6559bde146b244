#include "agent/exchanges.h"

#include <algorithm>
#include <chrono>

#include "llm/message_json.h"

namespace kw::agent {

Exchanges::Exchanges(SharedStore& store, int64_t run, std::string provider, Ask ask, const std::vector<store::ExchangeRow>& rows,
                     std::function<double(const llm::Usage&)> price)
    : store_(store), run_(run), provider_(std::move(provider)), ask_(std::move(ask)), price_(std::move(price)) {
  for (const store::ExchangeRow& row : rows) {
    replies_[row.prompt] = row.reply;
    next_ = std::max(next_, row.index + 1);
  }
}

Result<std::optional<llm::Reply>> Exchanges::known(const std::string& prompt) {
  std::string reply;
  {
    const std::lock_guard lock(mutex_);
    const auto at = replies_.find(prompt);
    if (at == replies_.end()) return std::nullopt;
    reply = at->second;
  }
  KW_TRY(const std::string text, store_.with([&](store::Store& store) { return store.object(reply); }));
  KW_TRY(llm::Reply out, llm::reply_from_json(parse_json(text)));
  return out;
}

llm::Answer<llm::Reply> Exchanges::ask(const llm::Request& request) {
  const auto prompt = store_.with([&](store::Store& store) { return store.put(llm::json_text(llm::to_json(request))); });
  if (!prompt) return llm::misconfigured(prompt.error());
  auto before = known(*prompt);
  if (!before) return llm::misconfigured(before.error());
  if (*before) return std::move(**before);
  const auto start = std::chrono::steady_clock::now();
  llm::Answer<llm::Reply> reply = ask_(request);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!reply) {
    const std::lock_guard lock(mutex_);
    failed_ = reply.error();
    return reply;
  }
  if (const Status kept = keep(*prompt, *reply, seconds); !kept) return llm::misconfigured(kept.error());
  return reply;
}

Status Exchanges::keep(const std::string& prompt, const llm::Reply& reply, double seconds) {
  store::ExchangeRow row;
  row.run = run_;
  row.prompt = prompt;
  row.provider = provider_;
  row.tokens_in = static_cast<int64_t>(reply.usage.input_tokens);
  row.tokens_out = static_cast<int64_t>(reply.usage.output_tokens);
  row.money = price_ ? price_(reply.usage) : 0;
  row.seconds = seconds;
  const std::lock_guard lock(mutex_);
  KW_TRY(row.reply, store_.with([&](store::Store& store) { return store.put(llm::json_text(llm::to_json(reply))); }));
  row.index = next_++;
  store::Rows rows;
  rows.exchanges.push_back(row);
  KW_TRY_VOID(store_.with([&](store::Store& store) { return store.add(rows); }));
  replies_[prompt] = row.reply;
  return {};
}

std::optional<llm::Failure> Exchanges::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

Spent spent_of(const std::vector<store::ExchangeRow>& rows) {
  Spent out;
  for (const store::ExchangeRow& row : rows) {
    ++out.exchanges;
    out.input_tokens += static_cast<uint64_t>(std::max<int64_t>(row.tokens_in, 0));
    out.output_tokens += static_cast<uint64_t>(std::max<int64_t>(row.tokens_out, 0));
    out.money += row.money;
  }
  return out;
}

}  // namespace kw::agent
