// The CSV that ncu prints for its page "raw": a header, a row of units, a row for each launch. Fields are quoted or not, numbers may
// have commas between thousands, and what has no value says "n/a" or nothing. A metric comes with others of its name (.avg, .max), and with
// some two hundred attributes of the device and the launch.
#include <charconv>
#include <cmath>
#include <map>

#include "profile/ncu.h"

namespace kw::profile {
namespace {

constexpr size_t kMostFields = 10'000;

struct Record {
  std::vector<std::string> fields;
  int line = 0;
};

class Csv {
 public:
  explicit Csv(std::string_view text) : text_(text) {}
  // False at the end. What ncu says besides ("==PROF== …") and empty lines are no records.
  Result<bool> next(Record& record) {
    while (at_ < text_.size() && (text_.compare(at_, 2, "==") == 0 || text_[at_] == '\n' || text_[at_] == '\r')) skip_line();
    if (at_ >= text_.size()) return false;
    record.fields.clear();
    record.line = line_;
    for (;;) {
      KW_TRY(std::string field, take_field());
      record.fields.push_back(std::move(field));
      if (record.fields.size() > kMostFields) return fail(ErrorCode::kInvalid, "line {} of ncu's table has more than {} fields", record.line, kMostFields);
      if (at_ >= text_.size() || text_[at_] != ',') break;
      ++at_;
    }
    skip_line();
    return true;
  }
  void skip_line() {
    const size_t end = text_.find('\n', at_);
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
    ++line_;
  }
  bool at_header() const {
    const std::string_view rest = text_.substr(at_);
    return rest.starts_with("\"ID\",") || rest.starts_with("ID,");
  }
  bool done() const { return at_ >= text_.size(); }

 private:
  Result<std::string> take_field() {
    std::string out;
    if (at_ >= text_.size() || text_[at_] != '"') {
      const size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
      out = text_.substr(at_, end - at_);
      at_ = end;
      return out;
    }
    const int begin = line_;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
        ++at_;
      }
      line_ += text_[at_] == '\n';
      out += text_[at_];
    }
    if (at_ >= text_.size()) return fail(ErrorCode::kInvalid, "ncu's table ends within a quoted field that begins in line {}", begin);
    ++at_;
    if (at_ < text_.size() && std::string_view(",\r\n").find(text_[at_]) == std::string_view::npos) {
      return fail(ErrorCode::kInvalid, "line {} of ncu's table has something behind a closing quote", line_);
    }
    return out;
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

// None: no number, or one that no counter has.
std::optional<double> number_of(std::string text) {
  std::erase(text, ',');
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

// What one of `printed` is in `wanted`; none: it is not that kind of quantity.
std::optional<double> scale_of(std::string_view printed, std::string_view wanted) {
  static const std::map<std::string_view, double> kSeconds = {{"ns", 1e-9}, {"nsecond", 1e-9}, {"us", 1e-6}, {"usecond", 1e-6}, {"ms", 1e-3}, {"msecond", 1e-3}, {"s", 1}, {"second", 1}};
  static const std::map<std::string_view, double> kBytes = {{"byte", 1}, {"Kbyte", 1e3}, {"Mbyte", 1e6}, {"Gbyte", 1e9}, {"Tbyte", 1e12}};
  if (wanted == "s" || wanted == "B") {
    const auto& scales = wanted == "s" ? kSeconds : kBytes;
    const auto at = scales.find(printed);
    return at == scales.end() ? std::nullopt : std::optional(at->second);
  }
  return printed == "%" ? 0.01 : 1;
}

struct Column {
  std::optional<Counter> counter;
  std::string_view unit;
  std::string stall;   // a reason
};

Column column_of(std::string_view header) {
  for (const CounterKind& kind : counter_kinds())
    if (kind.ncu == header) return {kind.counter, kind.unit, ""};
  for (const StallReason& reason : stall_reasons())
    if (stall_metric(reason.name) == header) return {std::nullopt, "", std::string(reason.name)};
  return {};
}

}  // namespace

Result<std::vector<NcuLaunch>> parse_ncu(std::string_view text) {
  Csv csv(text);
  while (!csv.done() && !csv.at_header()) csv.skip_line();
  Record header, units, row;
  KW_TRY(const bool any, csv.next(header));
  if (!any) return fail(ErrorCode::kInvalid, "ncu printed no table");
  size_t name = header.fields.size();
  std::vector<Column> columns;
  for (size_t i = 0; i < header.fields.size(); ++i) {
    columns.push_back(column_of(header.fields[i]));
    if (header.fields[i] == "Kernel Name") name = i;
  }
  if (name == header.fields.size()) return fail(ErrorCode::kInvalid, "ncu's table has no column \"Kernel Name\"");
  std::vector<NcuLaunch> launches;
  for (;;) {
    KW_TRY(const bool more, csv.next(row));
    if (!more) break;
    if (row.fields.size() != header.fields.size()) {
      return fail(ErrorCode::kInvalid, "line {} of ncu's table has {} fields, and the header {}", row.line, row.fields.size(), header.fields.size());
    }
    if (row.fields.front().empty()) {   // units have no ID
      units = row;
      continue;
    }
    NcuLaunch launch;
    launch.kernel = row.fields[name];
    launch.counters.launches = 1;
    for (size_t i = 0; i < columns.size(); ++i) {
      const auto value = number_of(row.fields[i]);
      const auto scale = scale_of(units.fields.empty() ? std::string_view() : std::string_view(units.fields[i]), columns[i].unit);
      if (!value || !scale) continue;
      const bool hit_rate = columns[i].counter == Counter::kL1Hits || columns[i].counter == Counter::kL2Hits;
      if (hit_rate && *value * *scale > 1) continue;   // hits and accesses of different replays: of a few accesses, nonsense ("158.42")
      if (columns[i].counter) launch.counters.values[static_cast<size_t>(*columns[i].counter)] = *value * *scale;
      else if (!columns[i].stall.empty()) launch.counters.stalls[columns[i].stall] = *value;
    }
    launches.push_back(std::move(launch));
  }
  if (launches.empty()) return fail(ErrorCode::kInvalid, "ncu's table has no launch");
  return launches;
}

}  // namespace kw::profile
