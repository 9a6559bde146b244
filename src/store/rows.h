// What the store keeps, as rows. docs/formats/store.md says what each column means. Hashes name objects of
// the same store. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kw::store {

enum class RunState : uint8_t { kRunning, kStopped, kFinished };

struct RunRow {
  int64_t id = 0;  // given by the store
  std::string kind;
  std::string problem;
  std::string options;  // JSON
  RunState state = RunState::kRunning;
  uint64_t seed = 0;
  int64_t created_ms = 0;  // since 1970; given by the store, as the rest
  int64_t heartbeat_ms = 0;
  int64_t owner_pid = 0;
  std::string owner;  // host and start of that process, so that a pid used again is not taken for it
  bool operator==(const RunRow&) const = default;
};

struct NodeRow {
  int64_t run = 0;
  int64_t index = 0;
  std::optional<int64_t> parent;  // none: a root
  std::string candidate;          // an object
  std::string language;
  std::string state;
  std::string note;
  bool operator==(const NodeRow&) const = default;
};

struct VerdictRow {
  int64_t run = 0;
  int64_t node = 0;
  std::string verdict;  // an object: JSON
  std::string rung;
  bool correct = false;
  std::optional<double> seconds;
  bool operator==(const VerdictRow&) const = default;
};

struct MetricRow {
  int64_t run = 0;
  int64_t node = 0;
  std::string name;
  double value = 0;
  std::string unit, source, grade;
  bool operator==(const MetricRow&) const = default;
};

struct AdviceRow {
  int64_t run = 0;
  int64_t node = 0;
  std::string tool;
  std::string text;
  double gain = 0;
  std::string place;
  bool operator==(const AdviceRow&) const = default;
};

struct ExchangeRow {
  int64_t run = 0;
  int64_t index = 0;
  std::string prompt, reply;  // objects
  std::string provider;
  int64_t tokens_in = 0, tokens_out = 0;
  double money = 0;  // US dollars
  double seconds = 0;
  bool operator==(const ExchangeRow&) const = default;
};

// What a candidate of the run was found to be worth, so that it need not be found out again.
struct EvaluationRow {
  int64_t run = 0;
  std::string candidate, evaluation;  // objects
  bool operator==(const EvaluationRow&) const = default;
};

struct EventRow {
  int64_t run = 0;
  int64_t index = 0;
  std::string kind;
  std::string json;
  bool operator==(const EventRow&) const = default;
};

struct MemoryRow {
  std::string key, value;
  bool operator==(const MemoryRow&) const = default;
};

// What belongs together, and is written or read at once.
struct Rows {
  std::vector<NodeRow> nodes;
  std::vector<VerdictRow> verdicts;
  std::vector<MetricRow> metrics;
  std::vector<AdviceRow> advice;
  std::vector<ExchangeRow> exchanges;
  std::vector<EvaluationRow> evaluations;
  std::vector<EventRow> events;
  std::vector<MemoryRow> memory;  // of all runs
  bool operator==(const Rows&) const = default;
};

}  // namespace kw::store
