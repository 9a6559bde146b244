#include "store/tables.h"

#include <cmath>
#include <type_traits>

namespace kw::store {
namespace {

template <typename T>
Value value_of(const T& member) {
  if constexpr (std::is_same_v<T, std::optional<int64_t>> || std::is_same_v<T, std::optional<double>>) {
    return member ? value_of(*member) : Value(nullptr);
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, double>) {
    return member;
  } else {
    return static_cast<int64_t>(member);  // a seed of 64 bits, too: its bits
  }
}

// False: the database holds something else there.
template <typename T>
bool take(const Value& value, T& member) {
  if constexpr (std::is_same_v<T, std::optional<int64_t>> || std::is_same_v<T, std::optional<double>>) {
    if (std::holds_alternative<std::nullptr_t>(value)) return true;
    return take(value, member.emplace());
  } else if constexpr (std::is_same_v<T, std::string>) {
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr) member = *text;
    return text != nullptr;
  } else if constexpr (std::is_same_v<T, double>) {
    const auto* real = std::get_if<double>(&value);
    if (real != nullptr) member = *real;
    if (std::holds_alternative<std::nullptr_t>(value)) member = NAN;
    return real != nullptr || std::holds_alternative<std::nullptr_t>(value);
  } else {
    const auto* number = std::get_if<int64_t>(&value);
    if (number == nullptr) return false;
    if constexpr (std::is_same_v<T, RunState>) {
      if (*number < 0 || *number > static_cast<int64_t>(RunState::kFinished)) return false;
    }
    member = static_cast<T>(*number);
    return true;
  }
}

template <typename Row>
std::string columns() {
  std::string out;
  std::apply(
      [&](const auto&... c) { ((out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", c.name)), ...); },
      Table<Row>::kColumns);
  return out;
}

// What a node is known of grows, and what is remembered changes; the rest is written once.
template <typename Row>
constexpr bool kReplaced = std::is_same_v<Row, NodeRow> || std::is_same_v<Row, MemoryRow>;

template <typename Row>
std::string insertion() {
  std::string marks, changes;
  const auto one = [&](const auto& c) {
    marks += marks.empty() ? "?" : ", ?";
    changes += fmt::format("{}\"{}\" = excluded.\"{}\"", changes.empty() ? "" : ", ", c.name, c.name);
  };
  std::apply([&](const auto&... c) { (one(c), ...); }, Table<Row>::kColumns);
  std::string sql = fmt::format("INSERT INTO {} ({}) VALUES ({})", Table<Row>::kName, columns<Row>(), marks);
  if (kReplaced<Row>) sql += " ON CONFLICT DO UPDATE SET " + changes;
  return sql;
}

}  // namespace

template <typename Row>
Status insert(Database& database, const Row& row) {
  static const std::string sql = insertion<Row>();
  Values values;
  std::apply([&](const auto&... c) { (values.push_back(value_of(row.*c.member)), ...); },
             Table<Row>::kColumns);
  if (std::is_same_v<Row, RunRow>) values[0] = nullptr;  // the id is the database's to give
  KW_TRY_VOID(database.run(sql, values));
  return {};
}

template <typename Row>
Result<std::vector<Row>> select(Database& database, const std::string& where, const Values& bound) {
  const std::string sql = fmt::format("SELECT {} FROM {} {} ORDER BY {}", columns<Row>(), Table<Row>::kName,
                                      where, Table<Row>::kOrder);
  KW_TRY(const std::vector<Values> found, database.run(sql, bound));
  std::vector<Row> out;
  for (const Values& values : found) {
    Row row;
    size_t at = 0;
    const char* wrong = nullptr;
    const auto one = [&](const auto& c) {
      if (!take(values[at++], row.*c.member)) wrong = c.name;
    };
    std::apply([&](const auto&... c) { (one(c), ...); }, Table<Row>::kColumns);
    if (wrong != nullptr)
      return fail(
          Error{ErrorCode::kInvalid,
                fmt::format("{}: column '{}' of table '{}' holds what this program never writes",
                            database.path(), wrong, Table<Row>::kName),
                {},
                {},
                {"the database was changed by something else: move it away, or mend it with sqlite3"}});
    out.push_back(std::move(row));
  }
  return out;
}

#define KW_ROW(Row)                                   \
  template Status insert<Row>(Database&, const Row&); \
  template Result<std::vector<Row>> select<Row>(Database&, const std::string&, const Values&);
KW_ROW(RunRow)
KW_ROW(NodeRow)
KW_ROW(VerdictRow)
KW_ROW(MetricRow)
KW_ROW(AdviceRow)
KW_ROW(ExchangeRow)
KW_ROW(EvaluationRow)
KW_ROW(EventRow)
KW_ROW(MemoryRow)

}  // namespace kw::store
