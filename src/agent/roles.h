// What a language model is asked while a kernel is made faster, one question for each role, and how its answers are read. Each question stands alone: it
// holds the problem, the kernel with line numbers, what judge and profiler say, what was tried, and nothing of earlier questions. A model's words are advice, its
// code is a candidate like any other: nothing here decides.
//
//   planner    which changes to try          → ideas
//   coder      one of them, carried out      → a kernel
//   debugger   why the judge refuses it      → what to edit; then the coder again (CuTeGen's repair in two stages)
//   reviewer   what was changed, read once more → remarks, which the report shows
//
// An answer that is not in the form asked for is asked for again, at most kAgain times; after that there is none. Thread-safe where the ask function is.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/workload_class.h"
#include "llm/failure.h"
#include "llm/message.h"
#include "problem/problem.h"

namespace kw::agent {

inline constexpr int kAgain = 2;

// The reply. What the model or its provider will not answer, or is too long for it, ends a step; other failures end the run.
using AskModel = std::function<llm::Answer<llm::Reply>(const llm::Request&)>;

// Tools that the model may call while it answers.
struct ModelTools {
  std::vector<llm::ToolSpec> specs;
  std::function<std::string(const llm::ToolCall&)> call;   // what the model reads; faults too are told to it
};

struct Task {
  problem::Problem problem;
  std::string target;              // as arch knows it
  uint64_t max_output_tokens = 32768;
};

struct Idea {
  std::string idea, how;
  double priority = 0.5;
};

// The kernel that a question is about. Texts may be empty: then the question is without them.
struct Subject {
  std::string source;
  std::string verdict;             // the judge's page
  std::string times;               // a table
  std::string profile;             // advice, or bare numbers
};

struct Review {
  std::string cheats, needless, remarks;   // empty: nothing
};

// What is remembered of a repair that failed.
struct Repair {
  std::string suggestion, result;
};

class Roles {
 public:
  Roles(Task task, AskModel ask, ModelTools tools = {});

  // At most `count`; none when the model proposes nothing, or nothing that can be read.
  Result<std::vector<Idea>> plan(const Subject& subject, const std::string& tried, const std::string& remembered, int count) const;
  // A kernel, or why there is none (kInvalid, in words for the report). `source` empty: the first kernel.
  struct Written {
    std::string source;
    std::string why_not;           // not empty: the model gave no kernel that could be used
  };
  Result<Written> code(const Subject& subject, const Idea& idea) const;
  // Empty: the model does not say.
  Result<std::string> diagnose(const Subject& subject, const Idea& idea, const std::vector<Repair>& attempts, const std::string& learned) const;
  Result<Written> repair(const Subject& subject, const Idea& idea, const std::string& suggestion) const;
  // `subject`: the new kernel.
  Result<Review> review(const Subject& subject, const std::string& diff, const Idea& idea, const std::string& gain) const;

  WorkloadClass workload_class() const { return class_; }

 private:
  struct Said {
    std::string text, refused;     // one of them
  };
  Result<Said> answer(const std::string& question, const std::function<std::string(const std::string& text)>& unusable) const;
  Result<Written> kernel_from(const std::string& question, const std::string& source) const;

  Task task_;
  WorkloadClass class_;
  std::string system_, problem_;
  AskModel ask_;
  ModelTools tools_;
};

// The kernel that an answer makes of `source`: its edits, or a whole file. kInvalid: in words for the model.
Result<std::string> kernel_of(std::string_view answer, std::string_view source);

}  // namespace kw::agent
