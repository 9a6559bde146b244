// A language model that answers by a rule, and a judge to go with it, for tests of what stands between them. A kernel is a text with `level N` and `faults N`:
// it is right when it has no faults, and the faster the higher its level. The model raises the level by one with each change, makes as many faults as it is told
// to, and takes one away with each repair.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "agent/evaluation.h"
#include "agent/exchanges.h"
#include "agent/optimize.h"
#include "agent/patch.h"

namespace kw::agent {

inline constexpr char kAddProblem[] =
    "problem add: \"a + b\"\n\naxes:\n  N >= 1\n\ninputs:\n  a: f32[N]\n  b: f32[N]\n\noutputs:\n  y: f32[N]\n\nreference:\n  y = a + b\n\n"
    "workloads:\n  smallest one: N=1\n  real     large: N=1048576 \"a vector\"\n";

// Of a run on that problem with a model, which is not told what others learned.
inline Settings add_settings() {
  Settings settings;
  settings.problem_file = "add.problem";
  settings.kernel_file = "k.cu";
  settings.seed = 5;
  settings.model.spec = "scripted";
  settings.model.remembers = false;
  return settings;
}

inline int number_after(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  return at == std::string_view::npos ? 0 : std::atoi(std::string(text.substr(at + word.size(), 8)).c_str());
}
inline std::string kernel_text(int level, int faults) {
  return "KW_ENTRY()\nlevel " + std::to_string(level) + "\nfaults " + std::to_string(faults) + "\nconstexpr int kThreads = 128;  // tune: 64 128 256\n";
}

// 64 us at level 0, halved by each; the number of threads decides what is left.
inline Result<Evaluation> judge_text(const std::string& source) {
  Evaluation out;
  const int faults = number_after(source, "faults ");
  out.verdict = "{\"ladder\": [], \"outcome\": {\"diagnostics\": [{\"message\": \"identifier \\\"x1\\\" is undefined\"}]}}";
  out.name = faults == 0 ? "correct" : "compile-error";
  out.page = out.name;
  if (faults != 0) {
    out.rung = "compile";
    out.outcome.learned = out.text();
    return out;
  }
  const int threads = number_after(source, "kThreads = ");
  out.outcome.works = true;
  out.outcome.seconds = 64e-6 / (1 << number_after(source, "level ")) * (threads == 256 ? 0.9 : 1);
  out.times = {{"large", out.outcome.seconds, 1e-6}};
  out.profile = "profile: use more bytes in flight";
  out.counters = "counter = 7";
  return out;
}

struct ScriptedModel {
  int faults = 0;                              // in each kernel that it writes
  std::function<std::string(const std::string& role, const std::string& question)> instead;   // an answer of the test's own; empty: the rule's
  std::atomic<int> asked = 0;

  static std::string role_of(const std::string& question) {
    for (const auto& [words, role] : {std::pair{"There is no kernel yet", "first"}, {"Propose up to", "planner"}, {"Make this one change", "coder"}, {"Find the cause", "debugger"},
                                      {"Carry it out", "repair"}, {"Three questions", "reviewer"}})
      if (question.find(words) != std::string::npos) return role;
    return "?";
  }

  std::string rule(const std::string& role, const std::string& question) const {
    const int level = number_after(question, "| level "), now = number_after(question, "| faults ");
    const auto edits = [&](int to_level, int to_faults) {
      const size_t at = question.find(", revision ") + 11;
      return "So be it.\n```json\n{\"revision\": \"" + question.substr(at, 8) + "\", \"edits\": [{\"action\": \"replace\", \"line\": 2, \"count\": 2, \"code\": [\"level " + std::to_string(to_level) +
             "\", \"faults " + std::to_string(to_faults) + "\"]}]}\n```\n";
    };
    if (role == "first") return "```cuda\n" + kernel_text(0, faults) + "```\n";
    if (role == "planner") return "```json\n{\"ideas\": [{\"idea\": \"level " + std::to_string(level + 1) + "\", \"how\": \"raise it\", \"priority\": 0.9}]}\n```\n";
    if (role == "coder") return edits(level + 1, faults);
    if (role == "debugger") return "There is a fault too many. Take one away in line 3.\n";
    if (role == "repair") return edits(level, now - 1);
    if (role == "reviewer") return "```json\n{\"cheats\": \"\", \"needless\": \"\"}\n```\n";
    return "?";
  }

  llm::Answer<llm::Reply> operator()(const llm::Request& request) {
    ++asked;
    const std::string& question = request.messages[1].text;
    const std::string role = role_of(question);
    llm::Reply reply;
    if (instead) reply.text = instead(role, request.messages.back().text);
    if (reply.text.empty()) reply.text = rule(role, question);
    reply.usage = {100, 10, false};
    return reply;
  }
};

}  // namespace kw::agent
