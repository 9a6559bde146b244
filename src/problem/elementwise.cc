#include <cmath>

#include "base/check.h"
#include "problem/host_ops.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kPiece = 1 << 15;

double lesser(double a, double b) { return a != a ? a : b != b ? b : a < b ? a : b; }
double greater(double a, double b) { return a != a ? a : b != b ? b : a > b ? a : b; }
double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

// The remainder has the sign of y and is exact however large the quotient is; x - y * floor(x / y) would not be.
double remainder(double x, double y) {
  const double rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

// The greatest whole number not above the quotient, also where the quotient rounds up to one.
double floor_quotient(double x, double y) {
  if (y == 0) return x / y;
  const double rest = std::fmod(x, y);
  const double whole = (x - rest) / y - (rest != 0 && (rest < 0) != (y < 0) ? 1 : 0);
  return whole == 0 ? std::copysign(0.0, x / y) : std::nearbyint(whole);
}

template <typename F>
void map(const F& f, const double* a, double* out, std::int64_t count, int threads) {
  for_pieces(count, kPiece, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = f(a[i]);
  });
}

// The loops of a broadcast: axes merged where all operands step alike; the innermost stride is 0 or 1.
struct Loops {
  tensor::Shape shape;                             // outermost first, at least one axis
  std::vector<std::vector<std::int64_t>> strides;  // by operand
};

Loops merge(const tensor::Shape& shape, const std::vector<const Array*>& operands) {
  std::vector<std::vector<std::int64_t>> full;
  for (const Array* operand : operands) full.push_back(broadcast_strides(operand->shape, shape));
  Loops loops;
  loops.strides.resize(operands.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    bool merges = !loops.shape.empty();
    for (std::size_t k = 0; merges && k < full.size(); ++k)
      merges = loops.strides[k].back() == full[k][axis] * shape[axis];
    if (!merges) {
      loops.shape.push_back(shape[axis]);
      for (std::size_t k = 0; k < full.size(); ++k) loops.strides[k].push_back(full[k][axis]);
    } else {
      loops.shape.back() *= shape[axis];
      for (std::size_t k = 0; k < full.size(); ++k) loops.strides[k].back() = full[k][axis];
    }
  }
  if (loops.shape.empty()) {
    loops.shape.push_back(1);
    for (auto& strides : loops.strides) strides.push_back(0);
  }
  return loops;
}

// body(out offset, operand offsets, length) for each run of the innermost axis, cut into pieces.
template <typename Body>
void for_runs(const Loops& loops, int threads, const Body& body) {
  const std::int64_t inner = loops.shape.back();
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < loops.shape.size(); ++axis) rows *= loops.shape[axis];
  if (rows == 0 || inner == 0) return;
  const std::int64_t cut = std::min(inner, kPiece);
  const std::int64_t cuts = (inner + cut - 1) / cut;
  for_pieces(rows * cuts, std::max<std::int64_t>(1, kPiece / cut), threads,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t unit = begin; unit < end; ++unit) {
                 const std::int64_t row = unit / cuts, start = unit % cuts * cut;
                 std::int64_t offsets[3] = {0, 0, 0};
                 std::int64_t rest = row;
                 for (std::size_t axis = loops.shape.size() - 1; axis-- > 0;) {
                   const std::int64_t index = rest % loops.shape[axis];
                   rest /= loops.shape[axis];
                   for (std::size_t k = 0; k < loops.strides.size(); ++k)
                     offsets[k] += index * loops.strides[k][axis];
                 }
                 for (std::size_t k = 0; k < loops.strides.size(); ++k)
                   offsets[k] += start * loops.strides[k].back();
                 body(row * inner + start, offsets, std::min(cut, inner - start));
               }
             });
}

template <typename F>
void zip(const F& f, const Array& a, const Array& b, double* out, const tensor::Shape& shape, int threads) {
  const Loops loops = merge(shape, {&a, &b});
  const bool a_steps = loops.strides[0].back() != 0, b_steps = loops.strides[1].back() != 0;
  for_runs(loops, threads, [&](std::int64_t at, const std::int64_t* offsets, std::int64_t length) {
    const double* x = a.data + offsets[0];
    const double* y = b.data + offsets[1];
    double* z = out + at;
    if (a_steps && b_steps) {
      for (std::int64_t i = 0; i < length; ++i) z[i] = f(x[i], y[i]);
    } else if (a_steps) {
      const double right = *y;
      for (std::int64_t i = 0; i < length; ++i) z[i] = f(x[i], right);
    } else if (b_steps) {
      const double left = *x;
      for (std::int64_t i = 0; i < length; ++i) z[i] = f(left, y[i]);
    } else {
      std::fill(z, z + length, f(*x, *y));
    }
  });
}

}  // namespace

void unary(Op op, const double* a, double* out, std::int64_t count, int threads) {
  const auto run = [&](auto f) { map(f, a, out, count, threads); };
  switch (op) {
    case Op::kNegate: return run([](double x) { return -x; });
    case Op::kAbs: return run([](double x) { return std::abs(x); });
    case Op::kFloor: return run([](double x) { return std::floor(x); });
    case Op::kCeil: return run([](double x) { return std::ceil(x); });
    case Op::kTrunc: return run([](double x) { return std::trunc(x); });
    case Op::kRound: return run([](double x) { return std::nearbyint(x); });
    case Op::kSign: return run([](double x) { return sign(x); });
    case Op::kNot: return run([](double x) { return x == 0 ? 1.0 : 0.0; });
    case Op::kIsNan: return run([](double x) { return std::isnan(x) ? 1.0 : 0.0; });
    case Op::kIsFinite: return run([](double x) { return std::isfinite(x) ? 1.0 : 0.0; });
    case Op::kExp: return run([](double x) { return std::exp(x); });
    case Op::kExp2: return run([](double x) { return std::exp2(x); });
    case Op::kExpm1: return run([](double x) { return std::expm1(x); });
    case Op::kLog: return run([](double x) { return std::log(x); });
    case Op::kLog2: return run([](double x) { return std::log2(x); });
    case Op::kLog1p: return run([](double x) { return std::log1p(x); });
    case Op::kSqrt: return run([](double x) { return std::sqrt(x); });
    case Op::kRsqrt: return run([](double x) { return 1 / std::sqrt(x); });
    case Op::kTanh: return run([](double x) { return std::tanh(x); });
    case Op::kErf: return run([](double x) { return std::erf(x); });
    case Op::kSin: return run([](double x) { return std::sin(x); });
    case Op::kCos: return run([](double x) { return std::cos(x); });
    case Op::kTan: return run([](double x) { return std::tan(x); });
    case Op::kAsin: return run([](double x) { return std::asin(x); });
    case Op::kAcos: return run([](double x) { return std::acos(x); });
    case Op::kAtan: return run([](double x) { return std::atan(x); });
    case Op::kSinh: return run([](double x) { return std::sinh(x); });
    case Op::kCosh: return run([](double x) { return std::cosh(x); });
    case Op::kAsinh: return run([](double x) { return std::asinh(x); });
    case Op::kAcosh: return run([](double x) { return std::acosh(x); });
    case Op::kAtanh: return run([](double x) { return std::atanh(x); });
    case Op::kErfc: return run([](double x) { return std::erfc(x); });
    case Op::kLog10: return run([](double x) { return std::log10(x); });
    case Op::kCbrt: return run([](double x) { return std::cbrt(x); });
    case Op::kLgamma:  // std::lgamma writes a global
      return run([](double x) {
        int sign;
        return ::lgamma_r(x, &sign);
      });
    default: KW_CHECK(!"a unary operator");
  }
}

void binary(Op op, const Array& a, const Array& b, double* out, const tensor::Shape& shape, int threads) {
  const auto run = [&](auto f) { zip(f, a, b, out, shape, threads); };
  switch (op) {
    case Op::kAdd: return run([](double x, double y) { return x + y; });
    case Op::kSubtract: return run([](double x, double y) { return x - y; });
    case Op::kMultiply: return run([](double x, double y) { return x * y; });
    case Op::kDivide: return run([](double x, double y) { return x / y; });
    case Op::kPower: return run([](double x, double y) { return std::pow(x, y); });
    case Op::kAtan2: return run([](double y, double x) { return std::atan2(y, x); });
    case Op::kHypot: return run([](double x, double y) { return std::hypot(x, y); });
    case Op::kFloorDivide: return run([](double x, double y) { return floor_quotient(x, y); });
    case Op::kRemainder: return run([](double x, double y) { return remainder(x, y); });
    case Op::kMinimum: return run([](double x, double y) { return lesser(x, y); });
    case Op::kMaximum: return run([](double x, double y) { return greater(x, y); });
    case Op::kEqual: return run([](double x, double y) { return x == y ? 1.0 : 0.0; });
    case Op::kNotEqual: return run([](double x, double y) { return x != y ? 1.0 : 0.0; });
    case Op::kLess: return run([](double x, double y) { return x < y ? 1.0 : 0.0; });
    case Op::kLessEqual: return run([](double x, double y) { return x <= y ? 1.0 : 0.0; });
    case Op::kGreater: return run([](double x, double y) { return x > y ? 1.0 : 0.0; });
    case Op::kGreaterEqual: return run([](double x, double y) { return x >= y ? 1.0 : 0.0; });
    case Op::kAnd: return run([](double x, double y) { return x != 0 && y != 0 ? 1.0 : 0.0; });
    case Op::kOr: return run([](double x, double y) { return x != 0 || y != 0 ? 1.0 : 0.0; });
    default: KW_CHECK(!"a binary operator");
  }
}

void where(const Array& condition, const Array& a, const Array& b, double* out, const tensor::Shape& shape,
           int threads) {
  const Loops loops = merge(shape, {&condition, &a, &b});
  const std::int64_t steps[3] = {loops.strides[0].back(), loops.strides[1].back(), loops.strides[2].back()};
  for_runs(loops, threads, [&](std::int64_t at, const std::int64_t* offsets, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i)
      out[at + i] = condition.data[offsets[0] + i * steps[0]] != 0 ? a.data[offsets[1] + i * steps[1]]
                                                                   : b.data[offsets[2] + i * steps[2]];
  });
}

}  // namespace kw::problem
