#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/file.h"
#include "base/source_text.h"
#include "command/command.h"
#include "llm/model.h"

namespace kw::command {
namespace {

constexpr uint64_t kMostPromptBytes = 16u << 20;

Result<std::string> read_stdin() {
  std::string text;
  char buffer[65536];
  while (true) {
    const size_t n = std::fread(buffer, 1, sizeof buffer, stdin);
    text.append(buffer, n);
    if (text.size() > kMostPromptBytes)
      return fail(ErrorCode::kLimit, "the prompt on standard input has more than {} bytes", kMostPromptBytes);
    if (n == 0) break;
  }
  if (std::ferror(stdin))
    return fail(ErrorCode::kIo, "cannot read the prompt from standard input: {}", std::strerror(errno));
  return text;
}

Result<llm::Request> make_request(const Invocation& invocation) {
  llm::Request request;
  request.max_output_tokens = invocation.integer("max-output", request.max_output_tokens);
  if (invocation.has("system")) {
    KW_TRY(auto system, read_file(invocation.text("system"), kMostPromptBytes));
    request.messages.push_back({llm::Role::kSystem, std::move(system), {}, {}});
  }
  std::string prompt = invocation.text("prompt");
  if (prompt.empty() || prompt == "-") {
    KW_TRY(prompt, read_stdin());
  }
  if (prompt.find_first_not_of(" \t\r\n") == std::string::npos) {
    Error error{
        ErrorCode::kInvalid, "the prompt is empty", {}, {}, {"give it as PROMPT, or on standard input"}};
    return fail(std::move(error));
  }
  request.messages.push_back({llm::Role::kUser, std::move(prompt), {}, {}});
  return request;
}

Result<int> ask(const Invocation& invocation, const Output& output) {
  KW_TRY(const auto request, make_request(invocation));
  llm::ModelOptions options;
  options.limits.total_seconds = invocation.real("seconds");
  options.retry.attempts = static_cast<unsigned>(std::min<uint64_t>(invocation.integer("attempts"), 100));
  options.transcript = invocation.text("transcript");
  options.budget = std::make_shared<llm::Budget>(llm::BudgetTerms{});
  KW_TRY(const auto model, llm::Model::open(invocation.text("llm"), options));
  for (const std::string& note : model->notes()) output.note(note + "\n");
  const bool stream = invocation.flag("stream");
  llm::Listener listener;
  listener.cancel = output.stop;
  bool heard = false;
  if (stream) {
    listener.on_text = [&](std::string_view text) {
      heard = true;
      output.out(text);
    };
  }
  listener.on_again = [&](const llm::Failure& failure) {
    output.note(fmt::format("{}; asking again{}\n", failure.message,
                            stream ? " (what was printed of the answer is void)" : ""));
  };
  KW_TRY(const auto reply, model->ask(request, listener));
  if (!heard) output.out(reply.text);   // nor does every server stream that is asked to
  if (!reply.text.ends_with('\n')) output.out("\n");
  if (reply.finish == llm::FinishReason::kLength)
    output.note(
        fmt::format("cut after {} output tokens; --max-output allows more\n", request.max_output_tokens));
  output.note(
      fmt::format("{}{}\n", reply.model.empty() ? "" : printable_text(reply.model) + ": ", options.budget->describe()));
  return 0;
}

}  // namespace

Command llm_ask_command() {
  return {{"llm", "ask"},
          "ask a language model one question: whether a provider works",
          "Examples: kw llm ask --llm openai:MODEL \"Say yes.\"      kw llm ask --llm openai:qwen3:8b@http://localhost:11434/v1 - < prompt.md\n"
          "Keys come from OPENAI_API_KEY, ANTHROPIC_API_KEY, KW_LLM_KEY or KW_LLM_KEY_FILE. docs/formats/llm.md has every provider and what it needs.",
          {{"llm", ArgumentKind::kText, false, true, "",
            "the model: openai:MODEL[@ADDRESS], anthropic:MODEL[@ADDRESS], command:SHELL WORDS, mailbox:FOLDER, replay:FILE or none", {}},
           {"system", ArgumentKind::kPath, false, false, "", "a file with the system prompt", {}},
           {"transcript", ArgumentKind::kPath, false, false, "", "append the exchange to this file; replay:FILE gives it again", {}},
           {"max-output", ArgumentKind::kInteger, false, false, "8192", "output tokens at the most", {}},
           {"seconds", ArgumentKind::kReal, false, false, "", "how long one attempt may take", {}},
           {"attempts", ArgumentKind::kInteger, false, false, "3", "how often to ask at the most when a server is busy, absent or cut off", {}},
           {"stream", ArgumentKind::kFlag, false, false, "", "print the answer as it comes", {}},
           {"prompt", ArgumentKind::kText, true, false, "", "the question; '-' or none: from standard input", {}}},
          ask, false, true};
}

}  // namespace kw::command
