// How rows lie in the database: for each type its table, its columns with the members they hold, and the
// order in which it is read. Insert and select are made from that. Internal to store.
#pragma once

#include <tuple>

#include "store/database.h"
#include "store/rows.h"

namespace kw::store {

template <typename Row, typename Member>
struct Column {
  const char* name;
  Member Row::* member;
};
template <typename Row, typename Member>
Column(const char*, Member Row::*) -> Column<Row, Member>;

template <typename Row>
struct Table;

template <>
struct Table<RunRow> {
  static constexpr const char* kName = "runs";
  static constexpr const char* kOrder = "id";
  static constexpr auto kColumns = std::tuple(
      Column{"id", &RunRow::id}, Column{"kind", &RunRow::kind}, Column{"problem", &RunRow::problem},
      Column{"options", &RunRow::options}, Column{"state", &RunRow::state}, Column{"seed", &RunRow::seed},
      Column{"created_ms", &RunRow::created_ms}, Column{"heartbeat_ms", &RunRow::heartbeat_ms},
      Column{"owner_pid", &RunRow::owner_pid}, Column{"owner", &RunRow::owner});
};

template <>
struct Table<NodeRow> {
  static constexpr const char* kName = "nodes";
  static constexpr const char* kOrder = "\"index\"";
  static constexpr auto kColumns = std::tuple(
      Column{"run", &NodeRow::run}, Column{"index", &NodeRow::index}, Column{"parent", &NodeRow::parent},
      Column{"candidate", &NodeRow::candidate}, Column{"language", &NodeRow::language},
      Column{"state", &NodeRow::state}, Column{"note", &NodeRow::note});
};

template <>
struct Table<VerdictRow> {
  static constexpr const char* kName = "verdicts";
  static constexpr const char* kOrder = "node, rowid";
  static constexpr auto kColumns =
      std::tuple(Column{"run", &VerdictRow::run}, Column{"node", &VerdictRow::node},
                 Column{"verdict", &VerdictRow::verdict}, Column{"rung", &VerdictRow::rung},
                 Column{"correct", &VerdictRow::correct}, Column{"seconds", &VerdictRow::seconds});
};

template <>
struct Table<MetricRow> {
  static constexpr const char* kName = "metrics";
  static constexpr const char* kOrder = "node, rowid";
  static constexpr auto kColumns = std::tuple(
      Column{"run", &MetricRow::run}, Column{"node", &MetricRow::node}, Column{"name", &MetricRow::name},
      Column{"value", &MetricRow::value}, Column{"unit", &MetricRow::unit},
      Column{"source", &MetricRow::source}, Column{"grade", &MetricRow::grade});
};

template <>
struct Table<AdviceRow> {
  static constexpr const char* kName = "advice";
  static constexpr const char* kOrder = "node, rowid";
  static constexpr auto kColumns = std::tuple(
      Column{"run", &AdviceRow::run}, Column{"node", &AdviceRow::node}, Column{"tool", &AdviceRow::tool},
      Column{"text", &AdviceRow::text}, Column{"gain", &AdviceRow::gain}, Column{"place", &AdviceRow::place});
};

template <>
struct Table<ExchangeRow> {
  static constexpr const char* kName = "exchanges";
  static constexpr const char* kOrder = "\"index\"";
  static constexpr auto kColumns =
      std::tuple(Column{"run", &ExchangeRow::run}, Column{"index", &ExchangeRow::index},
                 Column{"prompt", &ExchangeRow::prompt}, Column{"reply", &ExchangeRow::reply},
                 Column{"provider", &ExchangeRow::provider}, Column{"tokens_in", &ExchangeRow::tokens_in},
                 Column{"tokens_out", &ExchangeRow::tokens_out}, Column{"money", &ExchangeRow::money},
                 Column{"seconds", &ExchangeRow::seconds});
};

template <>
struct Table<EvaluationRow> {
  static constexpr const char* kName = "evaluations";
  static constexpr const char* kOrder = "rowid";
  static constexpr auto kColumns =
      std::tuple(Column{"run", &EvaluationRow::run}, Column{"candidate", &EvaluationRow::candidate},
                 Column{"evaluation", &EvaluationRow::evaluation});
};

template <>
struct Table<EventRow> {
  static constexpr const char* kName = "events";
  static constexpr const char* kOrder = "\"index\"";
  static constexpr auto kColumns =
      std::tuple(Column{"run", &EventRow::run}, Column{"index", &EventRow::index},
                 Column{"kind", &EventRow::kind}, Column{"json", &EventRow::json});
};

template <>
struct Table<MemoryRow> {
  static constexpr const char* kName = "memory";
  static constexpr const char* kOrder = "key";
  static constexpr auto kColumns =
      std::tuple(Column{"key", &MemoryRow::key}, Column{"value", &MemoryRow::value});
};

// Nodes and memory may be written again; of other rows one that is there already is an error.
template <typename Row>
Status insert(Database& database, const Row& row);

// `where`: "", or as "WHERE run = ?".
template <typename Row>
Result<std::vector<Row>> select(Database& database, const std::string& where = "", const Values& bound = {});

}  // namespace kw::store
