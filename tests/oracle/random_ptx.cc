#include "oracle/random_ptx.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>

#include "oracle/random_operation.h"

namespace kw::oracle {
namespace {

class Writer : RandomOperations {
 public:
  using RandomOperations::RandomOperations;

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

  uint32_t threads_ = 32;
  bool full_warps_ = true;
  int labels_ = 0, loops_ = 0;
};

}  // namespace

RandomKernel random_kernel(uint64_t seed) { return Writer(seed).make(); }

}  // namespace kw::oracle
