#include "agent/roles.h"

#include <algorithm>
#include <cmath>

#include "agent/brief.h"
#include "agent/fence.h"
#include "agent/patch.h"
#include "agent/prompt.h"
#include "base/json_fields.h"

namespace kw::agent {
namespace {

constexpr size_t kMostWords = 2000;      // bytes of an idea's or a review's text
constexpr size_t kMostPage = 10000;      // of the judge's page, and of what the compiler says in it
constexpr size_t kMostSuggestion = 8000;
constexpr int kToolRounds = 8;
constexpr size_t kMostCalls = 16;        // of one answer

std::string cut(std::string text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0u) == 0x80u) --most;   // not within a character
  text.resize(most);
  return text + "\n… (cut here)\n";
}

std::string kernel_block(const std::string& source) { return fenced(numbered(source), "text"); }
std::string as_data(const std::string& text, size_t most = kMostPage) { return text.empty() ? "" : fenced(cut(text, most), "text"); }

// The last block of JSON in an answer, or the whole answer.
nlohmann::json json_in(const std::string& answer) {
  const std::vector<Block> blocks = fenced_blocks(answer);
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    nlohmann::json json = parse_json(block->text);
    if (!json.is_discarded()) return json;
  }
  return parse_json(answer);
}

std::string words(const nlohmann::json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_string() ? cut(at->get<std::string>(), kMostWords) : "";
}

std::vector<Idea> ideas_in(const std::string& answer, std::string& wrong) {
  std::vector<Idea> out;
  const nlohmann::json json = json_in(answer);
  const auto list = json.is_object() ? json.find("ideas") : json.end();
  if (!json.is_object() || list == json.end() || !list->is_array()) {
    wrong = "there is no block of JSON with a list \"ideas\" in it";
    return out;
  }
  for (const auto& each : *list) {
    if (!each.is_object()) continue;
    Idea idea{words(each, "idea"), words(each, "how"), 0.5};
    const auto priority = each.find("priority");
    if (priority != each.end() && priority->is_number()) idea.priority = priority->get<double>();
    idea.priority = std::isfinite(idea.priority) ? std::clamp(idea.priority, 0.0, 1.0) : 0.5;
    std::replace(idea.idea.begin(), idea.idea.end(), '\n', ' ');
    if (!idea.idea.empty()) out.push_back(std::move(idea));
  }
  if (out.empty() && !list->empty()) wrong = "none of the \"ideas\" has a text \"idea\"";
  return out;
}

constexpr const char* kFirst =
    "Write the first kernel: right for every shape before fast, but with the structure that a fast one has (who owns what, coalesced accesses, no byte moved twice without need), so "
    "that it can be improved step by step.";

}  // namespace

Result<std::string> kernel_of(std::string_view answer, std::string_view source) {
  const std::vector<Block> blocks = fenced_blocks(answer);
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (block->text.find("\"edits\"") == std::string::npos || source.empty()) continue;
    KW_TRY(const Patch patch, patch_from(block->text));
    KW_TRY(std::string kernel, apply(patch, source));
    if (kernel.empty()) return fail(ErrorCode::kInvalid, "the edits leave nothing of the kernel");
    return kernel;
  }
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (block->text.find("KW_ENTRY") == std::string::npos) continue;
    if (block->text.size() > kMostKernelBytes) return fail(ErrorCode::kLimit, "the kernel has more than {} bytes", kMostKernelBytes);
    return block->text;
  }
  if (source.empty()) return fail(ErrorCode::kInvalid, "there is no block with a whole file in it, KW_ENTRY included");
  return fail(ErrorCode::kInvalid, "there is neither a block of JSON with \"edits\" nor one with a whole file, KW_ENTRY included");
}

Roles::Roles(Task task, AskModel ask, ModelTools tools) : task_(std::move(task)), class_(class_of(task_.problem)), ask_(std::move(ask)), tools_(std::move(tools)) {
  const auto target = arch::find_target(task_.target);
  const std::string machine = target ? machine_text(**target) : "";
  system_ = render("system", {{"entry", fenced(entry_text(task_.problem), "text")}, {"target", task_.target}, {"machine", machine}, {"tools", tools_.specs.empty() ? "" : "yes"}});
  problem_ = fenced(task_.problem.text, "text");
}

Result<Roles::Said> Roles::answer(const std::string& question, const std::function<std::string(const std::string&)>& unusable) const {
  llm::Request request;
  request.max_output_tokens = task_.max_output_tokens;
  request.tools = tools_.specs;
  request.messages = {{llm::Role::kSystem, system_, {}, {}}, {llm::Role::kUser, question, {}, {}}};
  for (int again = 0, rounds = 0;;) {
    const llm::Answer<llm::Reply> answered = ask_(request);
    if (!answered && (answered.error().kind == llm::FailureKind::kRefused || answered.error().kind == llm::FailureKind::kContextTooLong)) return Said{"", answered.error().message};
    KW_TRY(const llm::Reply reply, answered);
    if (!reply.tool_calls.empty() && rounds < kToolRounds) {
      request.messages.push_back({llm::Role::kAssistant, reply.text, reply.tool_calls, {}});
      size_t calls = 0;
      for (const llm::ToolCall& call : reply.tool_calls) {
        const bool made = tools_.call && ++calls <= kMostCalls;
        request.messages.push_back({llm::Role::kTool, made ? tools_.call(call) : fmt::format("not called: {} calls in one answer are the most", kMostCalls), {}, call.id});
      }
      if (++rounds == kToolRounds) request.tools.clear();
      continue;
    }
    const std::string wrong = reply.finish == llm::FinishReason::kLength ? "it was cut off: be brief, and write edits instead of the whole file" : unusable(reply.text);
    if (wrong.empty() || again == kAgain) return Said{reply.text, ""};
    ++again;
    request.messages.push_back({llm::Role::kAssistant, reply.text, {}, {}});
    request.messages.push_back({llm::Role::kUser, render("again", {{"problem", wrong}}), {}, {}});
  }
}

Result<std::vector<Idea>> Roles::plan(const Subject& subject, const std::string& tried, const std::string& remembered, int count) const {
  const std::string question = render(
      "planner", {{"problem", problem_}, {"times", subject.times}, {"revision", revision_of(subject.source)}, {"kernel", kernel_block(subject.source)}, {"verdict", as_data(subject.verdict)},
                  {"profile", as_data(subject.profile)}, {"tried", tried}, {"remembered", remembered}, {"class", std::string(name_of(class_))},
                  {"guide", std::string(prompt_file(fmt::format("class/{}", name_of(class_))))}, {"count", std::to_string(count)}});
  std::vector<Idea> ideas;
  KW_TRY_VOID(answer(question, [&](const std::string& text) {
    std::string wrong;
    ideas = ideas_in(text, wrong);
    return wrong;
  }));
  if (ideas.size() > static_cast<size_t>(count)) ideas.resize(static_cast<size_t>(count));
  return ideas;
}

Result<Roles::Written> Roles::kernel_from(const std::string& question, const std::string& source) const {
  Written out;
  KW_TRY(const Said said, answer(question, [&](const std::string& text) {
    const auto kernel = kernel_of(text, source);
    out.source = kernel ? *kernel : "";
    out.why_not = kernel ? "" : kernel.error().message;
    return out.why_not;
  }));
  if (!said.refused.empty()) out.why_not = said.refused;
  if (out.source.empty() && out.why_not.empty()) out.why_not = "the answer was cut off";
  return out;
}

Result<Roles::Written> Roles::code(const Subject& subject, const Idea& idea) const {
  if (subject.source.empty())
    return kernel_from(render("first_kernel", {{"problem", problem_}, {"class", std::string(name_of(class_))}, {"guide", std::string(prompt_file(fmt::format("class/{}", name_of(class_))))},
                                               {"how", idea.how.empty() ? kFirst : idea.how}}),
                       "");
  const std::string revision = revision_of(subject.source);
  return kernel_from(render("coder", {{"problem", problem_}, {"revision", revision}, {"kernel", kernel_block(subject.source)}, {"profile", as_data(subject.profile)}, {"idea", idea.idea},
                                      {"how", idea.how}, {"form", render("form", {{"revision", revision}})}}),
                     subject.source);
}

Result<std::string> Roles::diagnose(const Subject& subject, const Idea& idea, const std::vector<Repair>& attempts, const std::string& learned) const {
  std::string before;
  for (const Repair& each : attempts) before += fmt::format("- {}\n  After that: {}\n", cut(each.suggestion, kMostWords), each.result);
  KW_TRY(const Said said,
         answer(render("debugger", {{"problem", problem_}, {"revision", revision_of(subject.source)}, {"kernel", kernel_block(subject.source)}, {"idea", idea.idea}, {"how", idea.how},
                                    {"verdict", as_data(subject.verdict)}, {"attempts", as_data(before)}, {"guide", std::string(prompt_file("debug_cuda"))}, {"learned", as_data(learned)}}),
                [](const std::string& text) { return text.empty() ? "it is empty" : ""; }));
  return cut(said.text, kMostSuggestion);
}

Result<Roles::Written> Roles::repair(const Subject& subject, const Idea& idea, const std::string& suggestion) const {
  const std::string revision = revision_of(subject.source);
  return kernel_from(render("repair", {{"revision", revision}, {"kernel", kernel_block(subject.source)}, {"verdict", as_data(subject.verdict)}, {"suggestion", as_data(suggestion)}, {"idea", idea.idea},
                                       {"form", render("form", {{"revision", revision}})}}),
                     subject.source);
}

Result<Review> Roles::review(const Subject& subject, const std::string& diff, const Idea& idea, const std::string& gain) const {
  Review out;
  KW_TRY_VOID(answer(render("reviewer", {{"problem", problem_}, {"idea", idea.idea}, {"diff", fenced(diff, "diff")}, {"gain", gain}, {"times", subject.times}}), [&](const std::string& text) -> std::string {
    const nlohmann::json json = json_in(text);
    if (!json.is_object() || !json.contains("cheats")) return "there is no block of JSON with \"cheats\", \"needless\" and \"remarks\"";
    out = {words(json, "cheats"), words(json, "needless"), words(json, "remarks")};
    return "";
  }));
  return out;
}

}  // namespace kw::agent
