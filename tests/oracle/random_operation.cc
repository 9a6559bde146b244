#include "oracle/random_operation.h"

namespace kw::oracle {

std::string RandomOperations::integer_op() {
  const Int t = integer_type();
  const auto x = [&] { return of_width(t.width); };
  switch (rng_.below(15)) {
    case 0: return fmt::format("{}.{} {}, {}, {};", pick({"add", "sub"}), t.type, x(), x(), source(t.width));
    case 1: return fmt::format("mul.{}.{} {}, {}, {};", pick({"lo", "hi"}), t.type, x(), x(), source(t.width));
    case 2: return fmt::format("mad.{}.{} {}, {}, {}, {};", pick({"lo", "hi"}), t.type, x(), x(), x(), x());
    case 3: {
      const int w = pick({16, 32});
      const char sign = chance(50) ? 's' : 'u';
      if (chance(50)) return fmt::format("mul.wide.{}{} {}, {}, {};", sign, w, of_width(2 * w), of_width(w), of_width(w));
      return fmt::format("mad.wide.{}{} {}, {}, {}, {};", sign, w, of_width(2 * w), of_width(w), of_width(w), of_width(2 * w));
    }
    case 4: return fmt::format("{}.{} {}, {}, {};", pick({"div", "rem"}), t.type, x(), x(), x());
    case 5: return fmt::format("{}.s{} {}, {};", pick({"abs", "neg"}), t.width, x(), x());
    case 6: return fmt::format("{}.{} {}, {}, {};", pick({"min", "max"}), t.type, x(), x(), source(t.width));
    case 7: return fmt::format("sad.{} {}, {}, {}, {};", t.type, x(), x(), x(), x());
    case 8: return fmt::format("{}.sat.s32 {}, {}, {};", pick({"add", "sub"}), r(), r(), r());
    case 9: {
      const int w = pick({32, 64});
      return fmt::format("{}.b{} {}, {};", pick({"popc", "clz"}), w, r(), of_width(w));
    }
    case 10: {
      const int w = pick({32, 64});
      return fmt::format("brev.b{} {}, {};", w, of_width(w), of_width(w));
    }
    case 11: {
      const Int u = integer_type(false);
      return fmt::format("bfind{}.{} {}, {};", chance(50) ? ".shiftamt" : "", u.type, r(), of_width(u.width));
    }
    case 12: {
      const Int u = integer_type(false);
      return fmt::format("bfe.{} {}, {}, {}, {};", u.type, of_width(u.width), of_width(u.width), amount(), amount());
    }
    case 13: {
      const int w = pick({32, 64});
      return fmt::format("bfi.b{} {}, {}, {}, {}, {};", w, of_width(w), of_width(w), of_width(w), amount(), amount());
    }
    default: {
      const char* u = pick({"u32", "s32"});
      return fmt::format("add.cc.{} {}, {}, {};\n  addc.cc.{} {}, {}, {};\n  addc.{} {}, {}, {};", u, r(), r(), r(), u, r(), r(), r(), u, r(), r(), r());
    }
  }
}

std::string RandomOperations::logic_op() {
  const int w = pick({16, 32, 64});
  switch (rng_.below(7)) {
    case 0: return fmt::format("{}.b{} {}, {}, {};", pick({"and", "or", "xor"}), w, of_width(w), of_width(w), source(w));
    case 1: return fmt::format("{}.b{} {}, {};", pick({"not", "cnot"}), w, of_width(w), of_width(w));
    case 2: return fmt::format("lop3.b32 {}, {}, {}, {}, {};", r(), r(), r(), r(), rng_.below(256));
    case 3: return fmt::format("{}.{} {}, {}, {};", pick({"shl", "shr"}), fmt::format("b{}", w), of_width(w), of_width(w), amount());
    case 4: return fmt::format("shr.{}{} {}, {}, {};", pick({'s', 'u'}), w, of_width(w), of_width(w), amount());
    case 5: return fmt::format("shf.{}.{}.b32 {}, {}, {}, {};", pick({"l", "r"}), pick({"clamp", "wrap"}), r(), r(), r(), amount());
    default: return fmt::format("prmt.b32 {}, {}, {}, {};", r(), r(), r(), chance(50) ? r() : fmt::format("{}", rng_.below(65536)));
  }
}

std::string RandomOperations::float_op() {
  const char* rounding = pick({"rn", "rz", "rm", "rp"});
  switch (rng_.below(9)) {
    case 0: return fmt::format("{}.{}{}{}.f32 {}, {}, {};", pick({"add", "sub", "mul"}), rounding, chance(30) ? ".ftz" : "", chance(15) ? ".sat" : "", f(), f(), f());
    case 1: return fmt::format("fma.{}{}.f32 {}, {}, {}, {};", rounding, chance(30) ? ".ftz" : "", f(), f(), f(), f());
    case 2: return fmt::format("{}.{}.f64 {}, {}, {};", pick({"add", "sub", "mul"}), rounding, fd(), fd(), fd());
    case 3: return fmt::format("fma.{}.f64 {}, {}, {}, {};", rounding, fd(), fd(), fd(), fd());
    case 4:
      if (chance(50)) return fmt::format("div.{}.f32 {}, {}, {};", rounding, f(), f(), f());
      return fmt::format("{}.{}.f32 {}, {};", pick({"sqrt", "rcp"}), rounding, f(), f());
    case 5:
      if (chance(50)) return fmt::format("div.{}.f64 {}, {}, {};", rounding, fd(), fd(), fd());
      return fmt::format("{}.{}.f64 {}, {};", pick({"sqrt", "rcp"}), rounding, fd(), fd());
    case 6:
      if (chance(50)) return fmt::format("{}.f32 {}, {}, {};", pick({"min", "max"}), f(), f(), f());
      return fmt::format("{}.f64 {}, {}, {};", pick({"min", "max"}), fd(), fd(), fd());
    case 7:
      if (chance(50)) return fmt::format("{}.f32 {}, {};", pick({"abs", "neg"}), f(), f());
      return fmt::format("{}.f64 {}, {};", pick({"abs", "neg"}), fd(), fd());
    default:
      if (chance(40)) return fmt::format("fma.rn.f16 {}, {}, {}, {};", h(), h(), h(), h());
      return fmt::format("{}.f16 {}, {}, {};", pick({"add", "sub", "mul"}), h(), h(), h());
  }
}

std::string RandomOperations::convert_op() {
  switch (rng_.below(8)) {
    case 0: {
      const Int to = integer_type(), from = integer_type();
      // .sat is only for destinations that cannot hold every value of the source.
      const bool holds_all = from.is_signed == to.is_signed ? to.width >= from.width : to.is_signed && to.width > from.width;
      return fmt::format("cvt{}.{}.{} {}, {};", !holds_all && chance(30) ? ".sat" : "", to.type, from.type, of_width(to.width), of_width(from.width));
    }
    case 1: {
      const Int to = integer_type();
      return fmt::format("cvt.{}.{}.f32 {}, {};", pick({"rni", "rzi", "rmi", "rpi"}), to.type, of_width(to.width), f());
    }
    case 2: {
      const Int to = integer_type();
      return fmt::format("cvt.{}.{}.f64 {}, {};", pick({"rni", "rzi", "rmi", "rpi"}), to.type, of_width(to.width), fd());
    }
    case 3: {
      const Int from = integer_type();
      return fmt::format("cvt.{}.f32.{} {}, {};", pick({"rn", "rz", "rm", "rp"}), from.type, f(), of_width(from.width));
    }
    case 4: {
      const Int from = integer_type();
      return fmt::format("cvt.{}.f64.{} {}, {};", pick({"rn", "rz", "rm", "rp"}), from.type, fd(), of_width(from.width));
    }
    case 5: return fmt::format("cvt.f32.f16 {}, {};", f(), h());
    case 6: return fmt::format("cvt.rn.f16.f32 {}, {};", h(), f());
    default:
      if (chance(50)) return fmt::format("cvt.f64.f32 {}, {};", fd(), f());
      return fmt::format("cvt.{}.f32.f64 {}, {};", pick({"rn", "rz", "rm", "rp"}), f(), fd());
  }
}

std::string RandomOperations::compare_op() {
  std::string comparison, sources;
  switch (rng_.below(4)) {
    case 0: {
      const Int t = integer_type();
      comparison = fmt::format("{}.{}", pick({"eq", "ne", "lt", "le", "gt", "ge"}), t.type);
      if (!t.is_signed && chance(50)) comparison = fmt::format("{}.{}", pick({"lo", "ls", "hi", "hs"}), t.type);
      sources = fmt::format("{}, {}", of_width(t.width), source(t.width));
      break;
    }
    case 1:
      comparison = fmt::format("{}.f32", pick({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}));
      sources = fmt::format("{}, {}", f(), f());
      break;
    case 2:
      comparison = fmt::format("{}.f64", pick({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "geu", "num", "nan"}));
      sources = fmt::format("{}, {}", fd(), fd());
      break;
    default:
      if (chance(50)) return fmt::format("{}.pred {}, {}, {};", pick({"and", "or", "xor"}), p(), p(), p());
      return fmt::format("not.pred {}, {};", p(), p());
  }
  const size_t dot = comparison.find('.');
  if (chance(25)) {
    comparison.insert(dot, pick({".and", ".or", ".xor"}));
    sources += fmt::format(", {}{}", chance(30) ? "!" : "", p());
  }
  const std::string first = p();
  std::string second = p();
  if (chance(30) && second != first) return fmt::format("setp.{} {}|{}, {};", comparison, first, second, sources);
  return fmt::format("setp.{} {}, {};", comparison, first, sources);
}

std::string RandomOperations::move_op() {
  switch (rng_.below(6)) {
    case 0: return fmt::format("mov.b64 {}, {{{}, {}}};", d(), r(), r());
    case 1: return fmt::format("mov.b32 {}, {{{}, {}}};", r(), s(), s());
    case 2: {
      const std::string a = r(), b = r();
      return a == b ? fmt::format("mov.u32 {}, {};", a, source(32)) : fmt::format("mov.b64 {{{}, {}}}, {};", a, b, d());
    }
    case 3: return fmt::format("selp.b32 {}, {}, {}, {};", r(), r(), source(32), p());
    case 4: return fmt::format("selp.{} {}, {}, {}, {};", "f32", f(), f(), f(), p());
    default: return fmt::format("selp.b64 {}, {}, {}, {};", d(), d(), d(), p());
  }
}

std::string RandomOperations::operation() {
  const std::string guard = chance(20) ? fmt::format("@{}{} ", chance(40) ? "!" : "", p()) : "";
  std::string text;
  switch (rng_.below(10)) {
    case 0: case 1: case 2: text = integer_op(); break;
    case 3: case 4: text = logic_op(); break;
    case 5: case 6: text = float_op(); break;
    case 7: text = convert_op(); break;
    case 8: text = compare_op(); break;
    default: text = move_op(); break;
  }
  // A carry chain is three instructions: guarding the first alone would leave the carry to the others.
  const bool several = text.find('\n') != std::string::npos;
  return "  " + (several ? "" : guard) + text + "\n";
}

}  // namespace kw::oracle
