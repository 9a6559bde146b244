#include "oracle/random_ptx.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>

#include "base/rng.h"

namespace kw::oracle {
namespace {

constexpr int kS = 6, kR = 8, kD = 6, kH = 5, kF = 7, kFd = 5, kP = 5;

class Writer {
 public:
  explicit Writer(uint64_t seed) : rng_(seed) {}

  RandomKernel make() {
    RandomKernel out;
    out.threads = pick<uint32_t>({32, 64, 96, 17, 45});
    threads_ = out.threads;
    full_warps_ = out.threads % 32 == 0;
    declare(out);
    fill(out);
    std::string body;
    const int statements = 8 + static_cast<int>(rng_.below(30));
    for (int i = 0; i < statements; ++i) body += top_statement();
    out.ptx = fmt::format(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n"
        "  .reg .b16 %s<{}>;\n  .reg .b32 %r<{}>;\n  .reg .b64 %d<{}>;\n  .reg .b16 %h<{}>;\n  .reg .f32 %f<{}>;\n"
        "  .reg .f64 %fd<{}>;\n  .reg .pred %p<{}>;\n  .reg .b64 %base;\n  .reg .b32 %me, %n<{}>;\n  .reg .pred %q<{}>;\n"
        "  .shared .align 8 .b8 box[{}];\n"
        "  mov.u32 %me, %tid.x;\n  ld.param.u64 %base, [p];\n  mad.wide.u32 %base, %me, {}, %base;\n",
        kS, kR, kD, kH, kF, kFd, kP, loops_ + 1, loops_ + 1, out.threads * 8, out.stride);
    for (const Slot& slot : out.slots) out.ptx += fmt::format("  ld.global.{} {}, [%base+{}];\n", type_of(slot), slot.name, slot.offset);
    for (int i = 0; i < kP; ++i) out.ptx += fmt::format("  setp.lt.s32 %p{}, %r{}, %r{};\n", i, i, i + 1);
    out.ptx += body;
    for (const Slot& slot : out.slots) out.ptx += fmt::format("  st.global.{} [%base+{}], {};\n", type_of(slot), slot.offset, slot.name);
    out.ptx += "  ret;\n}\n";
    return out;
  }

 private:
  template <typename T>
  T pick(std::initializer_list<T> list) { return list.begin()[rng_.below(list.size())]; }
  bool chance(unsigned percent) { return rng_.below(100) < percent; }

  static std::string type_of(const Slot& slot) {
    return slot.kind == 'f' ? "f32" : slot.kind == 'd' ? "f64" : slot.bytes == 2 ? "b16" : slot.bytes == 4 ? "b32" : "b64";
  }

  void declare(RandomKernel& out) {
    uint32_t offset = 0;
    auto add = [&](const char* prefix, int count, char kind, uint32_t bytes) {
      for (int i = 0; i < count; ++i, offset += bytes) out.slots.push_back({fmt::format("{}{}", prefix, i), kind, offset, bytes});
    };
    add("%d", kD, 'i', 8);
    add("%fd", kFd, 'd', 8);
    add("%r", kR, 'i', 4);
    add("%f", kF, 'f', 4);
    add("%s", kS, 'i', 2);
    add("%h", kH, 'h', 2);
    out.stride = (offset + 7) / 8 * 8;
  }

  // Small numbers, edges and noise: random bits alone would almost never meet an edge.
  uint64_t integer_bits(unsigned width) {
    switch (rng_.below(4)) {
      case 0: return rng_.below(5) - 2;
      case 1: return uint64_t{1} << rng_.below(width);
      case 2: return (uint64_t{1} << (width - 1)) - rng_.below(2);
      default: return rng_.next();
    }
  }
  uint64_t float_bits(char kind) {
    static constexpr double kEdges[] = {0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, 65504, 65520, 1e-7, 6e-8, 1e-40, 3e38, 1e300, -1e-310, 4294967296.0, 2147483648.0, -32768.5};
    double value;
    switch (rng_.below(6)) {
      case 0: value = std::numeric_limits<double>::infinity() * (chance(50) ? 1 : -1); break;
      case 1: value = chance(30) ? std::numeric_limits<double>::quiet_NaN() : kEdges[rng_.below(std::size(kEdges))]; break;
      case 2: value = kEdges[rng_.below(std::size(kEdges))]; break;
      case 3: return rng_.next();
      default: value = rng_.uniform(-100, 100); break;
    }
    if (kind == 'd') return std::bit_cast<uint64_t>(value);
    if (kind == 'f') return std::bit_cast<uint32_t>(static_cast<float>(value));
    return rng_.next();
  }
  void fill(RandomKernel& out) {
    out.buffer.resize(size_t{out.stride} * out.threads);
    for (uint32_t t = 0; t < out.threads; ++t) {
      for (const Slot& slot : out.slots) {
        const uint64_t bits = slot.kind == 'i' ? integer_bits(8 * slot.bytes) : float_bits(slot.kind);
        std::memcpy(out.buffer.data() + size_t{t} * out.stride + slot.offset, &bits, slot.bytes);
      }
    }
  }

  std::string reg(const char* prefix, int count) { return fmt::format("{}{}", prefix, rng_.below(static_cast<uint64_t>(count))); }
  std::string s() { return reg("%s", kS); }
  std::string r() { return reg("%r", kR); }
  std::string d() { return reg("%d", kD); }
  std::string h() { return reg("%h", kH); }
  std::string f() { return reg("%f", kF); }
  std::string fd() { return reg("%fd", kFd); }
  std::string p() { return reg("%p", kP); }
  std::string of_width(int width) { return width == 16 ? s() : width == 32 ? r() : d(); }
  std::string source(int width) {
    if (!chance(15)) return of_width(width);
    return fmt::format("{}", static_cast<int64_t>(rng_.below(2000)) - 1000);
  }
  std::string amount() { return chance(40) ? fmt::format("{}", rng_.below(70)) : r(); }

  struct Int { std::string type; int width; bool is_signed; };
  Int integer_type(bool narrow = true) {
    const int width = narrow ? pick({16, 32, 32, 64}) : pick({32, 32, 64});
    const bool is_signed = chance(50);
    return {fmt::format("{}{}", is_signed ? 's' : 'u', width), width, is_signed};
  }

  std::string integer_op() {
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

  std::string logic_op() {
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

  std::string float_op() {
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

  std::string convert_op() {
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

  std::string compare_op() {
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

  std::string move_op() {
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

  std::string operation() {
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

  std::string block(int depth) {
    std::string out;
    const int count = 1 + static_cast<int>(rng_.below(6));
    for (int i = 0; i < count; ++i) out += statement(depth);
    return out;
  }

  std::string statement(int depth) {
    if (depth >= 3 || chance(75)) return operation();
    const int label = labels_++;
    if (chance(60)) {
      std::string out = fmt::format("  @{}{} bra else{};\n", chance(50) ? "!" : "", p(), label);
      out += block(depth + 1) + fmt::format("  bra.uni end{0};\nelse{0}:\n", label);
      if (chance(60)) out += block(depth + 1);
      // bra.uni above is taken by whoever is there: divergence is the branch before it.
      const size_t at = out.find("bra.uni end");
      out.replace(at, 7, "bra");
      return out + fmt::format("end{}:\n", label);
    }
    // A loop whose trip count depends on the thread; its counter is nobody else's.
    const int loop = ++loops_;
    std::string out = fmt::format("  and.b32 %n{}, {}, 3;\nloop{}:\n", loop, r(), label);
    out += block(depth + 1);
    out += fmt::format("  sub.u32 %n{0}, %n{0}, 1;\n  setp.ge.s32 %q{0}, %n{0}, 0;\n  @%q{0} bra loop{1};\n", loop, label);
    return out;
  }

  // Barriers and collectives stand where every thread comes by.
  std::string top_statement() {
    if (chance(82)) return statement(0);
    switch (rng_.below(3)) {
      case 0: {
        const std::string a = r(), b = r();
        return fmt::format(
            "  {{ .reg .b32 %x, %y; mov.u32 %y, box; mad.lo.u32 %x, %me, 8, %y; st.shared.b32 [%x], {};\n  bar.sync 0;\n"
            "  add.u32 %x, %me, {}; rem.u32 %x, %x, {}; mad.lo.u32 %x, %x, 8, %y; ld.shared.b32 {}, [%x];\n  bar.sync 0; }}\n",
            a, 1 + rng_.below(threads_), threads_, b);
      }
      case 1:
        if (!full_warps_) return operation();
        return fmt::format("  shfl.sync.{}.b32 {}, {}, {}, {}, 0xffffffff;\n", pick({"up", "down", "bfly", "idx"}), r(), r(), chance(50) ? r() : fmt::format("{}", rng_.below(32)),
                           pick({"0", "31", "0x1c1f", "0x181f", "0x1800"}));
      default:
        if (!full_warps_) return operation();
        if (chance(50)) return fmt::format("  vote.sync.ballot.b32 {}, {}{}, 0xffffffff;\n", r(), chance(30) ? "!" : "", p());
        return fmt::format("  vote.sync.{}.pred {}, {}, 0xffffffff;\n", pick({"all", "any", "uni"}), p(), p());
    }
  }

  Rng rng_;
  uint32_t threads_ = 32;
  bool full_warps_ = true;
  int labels_ = 0, loops_ = 0;
};

}  // namespace

RandomKernel random_kernel(uint64_t seed) { return Writer(seed).make(); }

}  // namespace kw::oracle
