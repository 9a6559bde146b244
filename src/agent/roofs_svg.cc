#include "agent/roofs_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kw::agent {
namespace {

constexpr double kWidth = 640, kHeight = 400, kLeft = 64, kRight = 16, kTop = 20, kBottom = 44;
constexpr double kNameWidth = 130;   // of the slope's name, about
constexpr double kNear = 16;         // points so near to each other share a label
constexpr int kMostDecades = 40;     // more than there can be between a byte and all bytes

std::string at(double value) { return fmt::format("{:.1f}", value); }

// One axis: powers of ten between two places of the picture.
struct Axis {
  double low = 0, high = 1;          // decimal logarithms, whole
  double from = 0, to = 1;
  double operator()(double value) const { return from + (std::log10(value) - low) / (high - low) * (to - from); }
};

class Picture {
 public:
  Picture(const Roofs& roofs, profile::Grade grade) : roofs_(roofs), grade_(grade) {}

  Html draw() {
    Html none;
    if (!find_range()) return none;
    out_ << "<svg class=\"roofs\" viewBox=\"0 0 640 400\" role=\"img\" aria-label=\"roofline\">\n";
    grid();
    for (size_t i = 0; i < roofs_.compute.size(); ++i) roof(i);
    slope();
    for (size_t i = 0; i < roofs_.points.size(); ++i) point(i);
    for (const Label& each : labels_) text("mark", each.x + 9, each.y + 4, each.text);
    out_ << "</svg>\n";
    return out_;
  }

 private:
  struct Label {
    double x = 0, y = 0;
    std::string text;
  };

  // False: there is a number that has no logarithm, or they lie too far apart.
  bool find_range() {
    bool drawable = true;
    struct Range {
      double low = INFINITY, high = 0;
    } x, y;
    const auto take = [&](Range& range, double value) {
      drawable = drawable && std::isnormal(value) && value > 0;
      range = {std::min(range.low, value), std::max(range.high, value)};
    };
    for (const Roofs::Compute& each : roofs_.compute) {
      take(x, each.operations_per_second / roofs_.bytes_per_second);
      take(y, each.operations_per_second);
    }
    for (const Roofs::Point& each : roofs_.points) {
      take(x, each.intensity);
      for (const double operations : {each.allowed, each.start.value_or(each.allowed), each.best.value_or(each.allowed)}) take(y, operations);
    }
    if (!drawable || roofs_.points.empty() || roofs_.compute.empty()) return false;
    x_ = {std::floor(std::log10(x.low / 2)), std::ceil(std::log10(x.high * 2)), kLeft, kWidth - kRight};
    y_ = {std::floor(std::log10(y.low / 2)), std::ceil(std::log10(y.high * 1.5)), kHeight - kBottom, kTop};
    return x_.high - x_.low <= kMostDecades && y_.high - y_.low <= kMostDecades;
  }

  void line(std::string_view kind, double x1, double y1, double x2, double y2) {
    out_ << "<line class=\"" << kind << "\" x1=\"" << at(x_(x1)) << "\" y1=\"" << at(y_(y1)) << "\" x2=\"" << at(x_(x2)) << "\" y2=\"" << at(y_(y2)) << "\"/>\n";
  }
  void text(std::string_view kind, double x, double y, const std::string& words) {
    out_ << "<text class=\"" << kind << "\" x=\"" << at(x) << "\" y=\"" << at(y) << "\">" << words << "</text>\n";
  }

  void grid() {
    const double left = std::pow(10, x_.low), right = std::pow(10, x_.high), low = std::pow(10, y_.low), high = std::pow(10, y_.high);
    for (double each = x_.low; each <= x_.high; ++each) {
      const double x = std::pow(10, each);
      line("grid", x, low, x, high);
      text("tick middle", x_(x), kHeight - kBottom + 16, fmt::format("{:g}", x));
    }
    for (double each = y_.low; each <= y_.high; ++each) {
      const double y = std::pow(10, each);
      line("grid", left, y, right, y);
      text("tick end", kLeft - 6, y_(y) + 4, each < 9 ? fmt::format("{:g} M", y * 1e-6) : each < 12 ? fmt::format("{:g} G", y * 1e-9) : fmt::format("{:g} T", y * 1e-12));
    }
    text("tick middle", (kLeft + kWidth - kRight) / 2, kHeight - 8, "operations a byte");
    text("tick", 4, 12, "operations a second");
  }

  void roof(size_t i) {
    const Roofs::Compute& each = roofs_.compute[i];
    const double right = std::pow(10, x_.high);
    line("roof", each.operations_per_second / roofs_.bytes_per_second, each.operations_per_second, right, each.operations_per_second);
    text("roofname end", kWidth - kRight - 4, y_(each.operations_per_second) - 6, fmt::format("{}, {:.4g} Top/s", each.of, each.operations_per_second * 1e-12));
  }

  // From the left or the lower edge to the highest roof that it meets. Its name is above it, where no point is.
  void slope() {
    double highest = 0;
    for (const Roofs::Compute& each : roofs_.compute) highest = std::max(highest, each.operations_per_second);
    const double rate = roofs_.bytes_per_second, from = std::max(std::pow(10, x_.low), std::pow(10, y_.low) / rate), to = highest / rate;
    line("roof", from, from * rate, to, to * rate);
    const double left = x_(from), along = std::min(1.0, kNameWidth / (x_(to) - left));
    text("roofname", left + 8, std::max(kTop + 10, y_(from * rate) + along * (y_(to * rate) - y_(from * rate)) - 6), fmt::format("memory, {:.4g} GB/s", rate * 1e-9));
  }

  void point(size_t i) {
    const Roofs::Point& each = roofs_.points[i];
    if (each.start && each.best) line("way", each.intensity, *each.start, each.intensity, *each.best);
    for (const auto& [attained, is_best] : {std::pair{each.start, false}, {each.best, true}}) {
      if (!attained) continue;
      const double x = x_(each.intensity), y = y_(*attained);
      out_ << "<circle class=\"" << std::string(is_best ? "best" : "start") << "\" cx=\"" << at(x) << "\" cy=\"" << at(y) << "\" r=\"5\"><title>" << each.workload
           << fmt::format(": {}, {:.4g} Top/s {}", is_best ? "best" : "start", *attained * 1e-12, profile::name_of(grade_)) << "</title></circle>\n";
      if (is_best || !each.best) label(x, y, std::to_string(i + 1));
    }
  }

  void label(double x, double y, const std::string& number) {
    const auto near = std::find_if(labels_.begin(), labels_.end(), [&](const Label& other) { return std::abs(other.x - x) < kNear && std::abs(other.y - y) < kNear; });
    if (near == labels_.end()) labels_.push_back({x, y, number});
    else near->text += ", " + number;
  }

  const Roofs& roofs_;
  profile::Grade grade_;
  Axis x_, y_;
  std::vector<Label> labels_;
  Html out_;
};

}  // namespace

Html roofs_svg(const Roofs& roofs, profile::Grade grade) { return Picture(roofs, grade).draw(); }

}  // namespace kw::agent
