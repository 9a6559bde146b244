// bra brx call ret exit trap brkpt, barriers, fences, nanosleep (PTX ISA 9.7.12, 9.7.13). Branches, calls and
// barriers are executed by the run loop itself (run_warp.cc, terminators.cc); lowering marks them ends_block.
#include "emu/ops_control.h"

#include <algorithm>
#include <bit>

#include "emu/function_lowering.h"
#include "emu/lowering.h"
#include "emu/observer.h"
#include "emu/warp.h"

namespace kw::emu {
namespace {

Insn& emit_terminator(Lowering& l, Terminator kind, Counters::Class c = Counters::kControl) {
  Insn& insn = l.emit(nullptr, nullptr, c);
  insn.aux = static_cast<uint32_t>(kind);
  insn.ends_block = true;
  return insn;
}

Status lower_bra(Lowering& l) {
  if (l.operand_count() != 1 || l.operand(0).kind != ptx::Operand::Kind::kLabel) return l.invalid("the target must be a label");
  emit_terminator(l, Terminator::kBranch).target = l.operand(0).id;
  return {};
}

Status lower_brx(Lowering& l) {
  if (l.operand_count() != 2) return l.invalid("takes an index and a list of targets");
  FunctionLowering& f = l.function();
  auto it = f.branch_targets.find(l.operand(1).name);
  if (it == f.branch_targets.end()) return l.invalid(fmt::format("there is no .branchtargets '{}'", l.operand(1).name));
  std::vector<uint32_t> labels;
  for (const ptx::Operand& target : it->second->targets) {
    if (target.kind != ptx::Operand::Kind::kLabel) return l.invalid("a branch target is not a label");
    labels.push_back(target.id);
  }
  KW_TRY(Vreg index, l.use(l.operand(0), 4));
  Insn& insn = emit_terminator(l, Terminator::kBranchIndexed);
  insn.op[0] = index;
  insn.op_uses = 1;
  insn.imm = f.table_labels.size();
  f.table_labels.push_back(std::move(labels));
  return {};
}

CallSite::System system_named(std::string_view name) {
  if (name == "vprintf") return CallSite::System::kVprintf;
  if (name == "__assertfail") return CallSite::System::kAssertFail;
  if (name == "malloc") return CallSite::System::kMalloc;
  if (name == "free") return CallSite::System::kFree;
  return CallSite::System::kNone;
}

// call (results), function, (arguments), prototype-or-targets;
Status lower_call(Lowering& l) {
  using Kind = ptx::Operand::Kind;
  FunctionLowering& f = l.function();
  const ptx::Operand* results = nullptr;
  const ptx::Operand* arguments = nullptr;
  const ptx::Operand* callee = nullptr;
  for (size_t i = 0; i < l.operand_count(); ++i) {
    const ptx::Operand& o = l.operand(i);
    if (o.kind == Kind::kList) {
      (callee == nullptr ? results : arguments) = &o;
    } else if (callee == nullptr) {
      callee = &o;
    }
  }
  if (callee == nullptr) return l.invalid("names no function");
  auto site = std::make_unique<CallSite>();
  std::vector<Vreg> defs, uses;
  auto add = [&](const ptx::Operand& o, std::vector<CallSite::Argument>& list, bool is_result) -> Status {
    CallSite::Argument a;
    if (o.kind == Kind::kVariable && o.variable->space == ptx::Space::kParam) {
      KW_TRY(auto where, f.locate(*o.variable, l));
      if (!where.frame_relative) return l.invalid(fmt::format("'{}' is a parameter of the kernel", o.name));
      a.frame_offset = static_cast<uint32_t>(where.value);
      a.bytes = static_cast<uint32_t>(o.variable->size_bytes());
    } else {
      a.in_register = true;
      const unsigned own = l.register_bytes(o);
      a.bytes = own != 0 ? own : 4;
      if (is_result) {
        KW_TRY(Vreg id, l.def(o, a.bytes));
        defs.push_back(id);
      } else {
        KW_TRY(Vreg id, l.use(o, a.bytes));
        uses.push_back(id);
      }
    }
    list.push_back(a);
    return {};
  };
  if (results != nullptr) {
    for (const ptx::Operand& o : results->elements) KW_TRY_VOID(add(o, site->returns, true));
  }
  if (arguments != nullptr) {
    for (const ptx::Operand& o : arguments->elements) KW_TRY_VOID(add(o, site->arguments, false));
  }
  uint32_t at = 0;
  for (auto* list : {&site->returns, &site->arguments}) {
    for (CallSite::Argument& a : *list) {
      if (a.in_register) a.more_index = at++;
    }
  }
  Vreg handle = kNone;
  if (callee->kind == Kind::kRegister) {
    KW_TRY(handle, l.use(*callee, 8));
    f.code.indirect_calls = true;
  } else {
    auto it = f.program.function_index.find(callee->name);
    if (it == f.program.function_index.end()) return l.invalid(fmt::format("there is no function '{}'", callee->name));
    const ptx::Function& target = *f.program.functions[it->second];
    if (target.is_entry) return l.invalid(fmt::format("'{}' is a kernel: dynamic parallelism is not supported", callee->name));
    if (!target.has_body) {
      site->system = system_named(callee->name);
      const size_t need = site->system == CallSite::System::kVprintf ? 2
                          : site->system == CallSite::System::kAssertFail ? 5 : 1;
      if (site->system == CallSite::System::kNone) {
        auto error = l.unsupported().value();
        error.message = fmt::format("function '{}' is declared but defined nowhere in the module", callee->name);
        error.notes.push_back("link the code that defines it, or compile without -rdc");
        return fail(std::move(error));
      }
      bool shape = site->arguments.size() == need;
      for (auto* list : {&site->arguments, &site->returns}) {
        for (const auto& a : *list) shape = shape && !a.in_register && a.bytes <= 8;
      }
      if (!shape) return l.invalid(fmt::format("'{}' takes {} arguments in .param space", callee->name, need));
      if (site->system == CallSite::System::kMalloc || site->system == CallSite::System::kFree) f.code.communicates = true;
    } else {
      site->callee = it->second;
      const auto fits = [](size_t have, size_t want) { return have == want; };
      if (!fits(site->arguments.size(), target.params.size()) || !fits(site->returns.size(), target.returns.size())) {
        return l.invalid(fmt::format("'{}' takes {} arguments and returns {} values", callee->name,
                                     target.params.size(), target.returns.size()));
      }
      f.code.callees.push_back(it->second);
    }
  }
  Insn& insn = emit_terminator(l, Terminator::kCall);
  insn.op[0] = handle;
  insn.op_uses = handle == kNone ? 0 : 1;
  if (!defs.empty() || !uses.empty()) l.set_more(insn, defs, uses);
  insn.imm = f.code.calls.size();
  f.code.calls.push_back(std::move(site));
  return {};
}

Status lower_ret(Lowering& l) {
  emit_terminator(l, l.function().function.is_entry ? Terminator::kExit : Terminator::kReturn);
  return {};
}
Status lower_exit(Lowering& l) {
  emit_terminator(l, Terminator::kExit);
  return {};
}

void trap(Warp& w, const Insn& insn) {
  Finding finding;
  finding.kind = Finding::Kind::kTrap;
  finding.message = insn.imm != 0 ? "the kernel stopped at a breakpoint" : "the kernel executed trap";
  w.block->fault(w, insn, std::countr_zero(w.exec), std::move(finding));
}
Status lower_trap(Lowering& l) {
  l.emit(trap, trap, Counters::kControl).imm = l.instruction().opcode == "brkpt";
  return {};
}

bool is_cta_barrier(const ptx::Instruction& i) { return !i.has("warp") && !i.has("cluster"); }

// bar{.cta}.sync a{,b}; .arrive a,b; .red.popc d,a{,b},{!}c; .red.{and,or} p,a{,b},{!}c
Status lower_barrier(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  BarrierBits bits;
  bits.aligned = i.opcode == "bar" || i.has("aligned");
  size_t next = 0;
  const bool red = i.has("red");
  Vreg destination = kNone, predicate = kNone;
  if (red) {
    bits.mode = i.has("popc") ? BarrierMode::kPopcount : i.has("and") ? BarrierMode::kAnd : BarrierMode::kOr;
    if (l.operand_count() < 3) return l.invalid("takes a destination, a barrier and a predicate");
    if (bits.mode == BarrierMode::kPopcount) {
      KW_TRY(destination, l.def(l.operand(0), 4));
    } else {
      KW_TRY(destination, l.def_predicate(l.operand(0)));
    }
    next = 1;
  } else {
    bits.mode = i.has("arrive") ? BarrierMode::kArrive : BarrierMode::kSync;
    if (!i.has("arrive") && !i.has("sync")) return l.unsupported();
  }
  const size_t last = l.operand_count() - (red ? 1 : 0);
  if (next >= last || last - next > 2) return l.invalid("takes a barrier and at most one thread count");
  KW_TRY(Vreg id, l.use(l.operand(next), 4));
  Vreg count = kNone;
  if (last - next == 2) {
    KW_TRY(count, l.use(l.operand(next + 1), 4));
  } else if (bits.mode == BarrierMode::kArrive) {
    return l.invalid("takes a thread count");
  }
  if (red) {
    bool negated = false;
    KW_TRY(predicate, l.use_predicate(l.operand(last), negated));
    bits.negated = negated;
  }
  Insn& insn = emit_terminator(l, Terminator::kBarrier, Counters::kBarrier);
  insn.op[0] = id;
  insn.op[1] = count;
  insn.op[2] = predicate;
  insn.op[3] = destination;
  insn.op_uses = static_cast<uint8_t>(1 | (count != kNone ? 2 : 0) | (predicate != kNone ? 4 : 0));
  insn.op_defs = destination != kNone ? 8 : 0;
  insn.imm = bits.encode();
  return {};
}

Status lower_nanosleep(Lowering& l) {
  if (l.operand_count() != 1) return l.invalid("takes a duration");
  KW_TRY(Vreg duration, l.use(l.operand(0), 4));
  Insn& insn = emit_terminator(l, Terminator::kYield);
  insn.op[0] = duration;
  insn.op_uses = 1;
  return {};
}

void fence(Warp& w, const Insn& insn) {
  if (w.block->observer != nullptr) w.block->observer->fence(w, insn, static_cast<int>(insn.imm));
}
bool is_scope_fence(const ptx::Instruction& i) {
  return !i.has("proxy") && !i.has("mbarrier_init") && !i.has("proxy::async") && !i.has("op_restrict");
}
Status lower_fence(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  int scope = 0;
  if (i.has("cluster")) scope = 1;
  if (i.has("gl") || i.has("gpu")) scope = 2;
  if (i.has("sys")) scope = 3;
  for (std::string_view m : i.modifiers) {
    if (m.starts_with("proxy") || m.find("::") != m.npos) return l.unsupported();
  }
  l.emit(fence, fence, Counters::kBarrier).imm = static_cast<uint64_t>(scope);
  return {};
}

void nothing(Warp&, const Insn&) {}
Status lower_nothing(Lowering& l) {
  l.emit(nothing, nothing, Counters::kOther);
  return {};
}

constexpr OpEntry kOps[] = {
    {"bra", nullptr, lower_bra},
    {"brx", nullptr, lower_brx},
    {"call", nullptr, lower_call},
    {"ret", nullptr, lower_ret},
    {"exit", nullptr, lower_exit},
    {"trap", nullptr, lower_trap},
    {"brkpt", nullptr, lower_trap},
    {"bar", is_cta_barrier, lower_barrier},
    {"barrier", is_cta_barrier, lower_barrier},
    {"nanosleep", nullptr, lower_nanosleep},
    {"membar", nullptr, lower_fence},
    {"fence", is_scope_fence, lower_fence},
    {"pmevent", nullptr, lower_nothing},
};

}  // namespace

std::span<const OpEntry> control_ops() { return kOps; }

}  // namespace kw::emu
