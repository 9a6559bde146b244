// alloca, stacksave, stackrestore (PTX ISA 9.7.17): memory of the executing function's frame, beyond its variables.
// Every lane has a top of its own (Frame::tops); a call's frame begins above the highest of the lanes that call.
#include <array>

#include "emu/form.h"
#include "emu/memory_access.h"
#include "emu/run_warp.h"

namespace kw::emu {
namespace {

// Of the frame's dynamic part, as offsets in the thread's local memory.
std::array<uint32_t, kLanes>& tops_of(Warp& warp) {
  Frame& frame = *warp.frame;
  if (frame.tops == nullptr) {
    frame.tops = std::make_unique<std::array<uint32_t, kLanes>>();
    frame.tops->fill(frame.local_frame + frame.code->local_bytes);
  }
  return *frame.tops;
}

// op: d, size; imm: alignment.
template <typename T>
void allocate(Warp& warp, const Insn& insn) {
  auto& tops = tops_of(warp);
  const T* const size = warp.reg<T>(insn.op[1]);
  T* const to = warp.reg<T>(insn.op[0]);
  for (Mask rest = warp.exec; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const uint64_t begin = (tops[lane] + insn.imm - 1) / insn.imm * insn.imm;
    const uint64_t bytes = size[lane];
    if (begin > warp.local_stride || bytes > warp.local_stride - begin) {
      Finding finding;
      finding.kind = Finding::Kind::kStackOverflow;
      finding.message = fmt::format("alloca of {} bytes; {} of the thread's {} bytes of stack are left", bytes,
                                    begin > warp.local_stride ? 0 : warp.local_stride - begin, warp.local_stride);
      return warp.block->fault(warp, insn, lane, std::move(finding));
    }
    tops[lane] = static_cast<uint32_t>(begin + bytes);
    warp.state->deepest_local = std::max(warp.state->deepest_local, tops[lane]);
    to[lane] = static_cast<T>(begin);
  }
}

template <typename T>
void save(Warp& warp, const Insn& insn) {
  const auto& tops = tops_of(warp);
  T* const to = warp.reg<T>(insn.op[0]);
  for_lanes(warp.exec, [&](int lane) { to[lane] = static_cast<T>(tops[lane]); });
}

template <typename T>
void restore(Warp& warp, const Insn& insn) {
  auto& tops = tops_of(warp);
  const uint64_t least = warp.frame->local_frame + warp.frame->code->local_bytes;
  const T* const from = warp.reg<T>(insn.op[0]);
  for (Mask rest = warp.exec; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    if (from[lane] < least || from[lane] > tops[lane]) {
      Finding finding;
      finding.kind = Finding::Kind::kInvalidOperand;
      finding.message = fmt::format("stackrestore of {:#x}, which no stacksave of this function gave", from[lane]);
      return warp.block->fault(warp, insn, lane, std::move(finding));
    }
    tops[lane] = static_cast<uint32_t>(from[lane]);
  }
}

unsigned width_of(ptx::Type type) { return type == ptx::Type::kU32 ? 4 : type == ptx::Type::kU64 ? 8 : 0; }

Status lower_alloca(Lowering& lowering) {
  Form form(lowering.instruction());
  const unsigned bytes = width_of(form.take_type());
  if (bytes == 0 || !form.done()) return lowering.unsupported();
  if (lowering.operand_count() < 2 || lowering.operand_count() > 3) return lowering.invalid("takes a destination, a size and an alignment");
  uint64_t alignment = 8;
  if (lowering.operand_count() == 3) {
    alignment = lowering.operand(2).bits;
    if (lowering.operand(2).kind != ptx::Operand::Kind::kInteger || alignment == 0 || alignment > 4096 || (alignment & (alignment - 1)) != 0) {
      return lowering.invalid("the alignment must be a power of two, at most 4096");
    }
  }
  KW_TRY(const Vreg size, lowering.use(lowering.operand(1), bytes));
  KW_TRY(const Vreg to, lowering.def(lowering.operand(0), bytes));
  const Handler handler = bytes == 4 ? allocate<uint32_t> : allocate<uint64_t>;
  Insn& insn = lowering.emit(handler, handler, Counters::kOther);
  insn.op[0] = to;
  insn.op[1] = size;
  insn.op_defs = 1;
  insn.op_uses = 2;
  insn.imm = alignment;
  lowering.allocates_stack();
  return {};
}

Status lower_save(Lowering& lowering) {
  Form form(lowering.instruction());
  const unsigned bytes = width_of(form.take_type());
  if (bytes == 0 || !form.done()) return lowering.unsupported();
  if (lowering.operand_count() != 1) return lowering.invalid("takes a destination");
  KW_TRY(const Vreg to, lowering.def(lowering.operand(0), bytes));
  const Handler handler = bytes == 4 ? save<uint32_t> : save<uint64_t>;
  Insn& insn = lowering.emit(handler, handler, Counters::kOther);
  insn.op[0] = to;
  insn.op_defs = 1;
  return {};
}

Status lower_restore(Lowering& lowering) {
  Form form(lowering.instruction());
  const unsigned bytes = width_of(form.take_type());
  if (bytes == 0 || !form.done()) return lowering.unsupported();
  if (lowering.operand_count() != 1) return lowering.invalid("takes what stacksave gave");
  KW_TRY(const Vreg from, lowering.use(lowering.operand(0), bytes));
  const Handler handler = bytes == 4 ? restore<uint32_t> : restore<uint64_t>;
  Insn& insn = lowering.emit(handler, handler, Counters::kOther);
  insn.op[0] = from;
  insn.op_uses = 1;
  return {};
}

constexpr OpEntry kOps[] = {
    {"alloca", nullptr, lower_alloca},
    {"stacksave", nullptr, lower_save},
    {"stackrestore", nullptr, lower_restore},
};

}  // namespace

std::span<const OpEntry> stack_ops() { return kOps; }

}  // namespace kw::emu
