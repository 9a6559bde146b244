#include "emu/lowering.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "emu/chain.h"
#include "emu/function_lowering.h"
#include "emu/mma_plan.h"
#include "emu/warp.h"

namespace kw::emu {
namespace {

constexpr uint32_t kMaxInsns = 4'000'000;
constexpr uint32_t kMaxBankBytes = 16u << 20;
constexpr uint64_t kMaxFrameBytes = 16u << 20;   // .local and .param variables of one frame, per thread

using Table = std::span<const OpEntry> (*)();
constexpr Table kTables[] = {
    move_ops,   carry_ops,   integer_ops, bit_ops,   video_ops,      logic_ops,       compare_ops,
    select_ops, float_ops,   half_ops,    convert_ops, control_ops,  shuffle_ops,     warp_ops,
    memory_ops, atomic_ops,  async_copy_ops, matrix_load_ops, mma_ops, cluster_ops,   stack_ops};

const std::unordered_map<std::string_view, std::vector<const OpEntry*>>& op_index() {
  static const auto index = [] {
    std::unordered_map<std::string_view, std::vector<const OpEntry*>> map;
    for (Table table : kTables) {
      for (const OpEntry& entry : table()) map[entry.opcode].push_back(&entry);
    }
    return map;
  }();
  return index;
}

unsigned bytes_of(ptx::Type type) {
  return type == ptx::Type::kPred ? 0 : std::max(1u, ptx::size_bits(type) / 8);
}

bool may_interrupt(const Insn& insn) {
  switch (insn.instruction_class) {
    case Counters::kInteger: case Counters::kFloat32: case Counters::kFloat64: case Counters::kHalf:
    case Counters::kConversion: case Counters::kSpecialFunction: case Counters::kMove: case Counters::kPredicate:
      return false;
    default:
      return true;
  }
}

}  // namespace

// ── Lowering: what the ops files see ─────────────────────────────────────────────────────────────────────

unsigned Lowering::register_bytes(const ptx::Operand& operand) const {
  if (operand.kind != ptx::Operand::Kind::kRegister) return 0;
  return function_->registers[function_->first_register[operand.id]].bytes;
}

Vreg Lowering::constant(uint64_t bits, unsigned bytes) {
  auto [it, fresh] = function_->constant_of.try_emplace({bits, bytes}, kNone);
  if (fresh) {
    it->second = function_->add_register(bytes);
    function_->registers[it->second].constant = true;
    function_->registers[it->second].bits = bits;
  }
  return it->second;
}

Vreg Lowering::temporary(unsigned bytes) {
  const Vreg id = function_->add_register(bytes);
  function_->registers[id].temporary = true;
  return id;
}

Insn& Lowering::emit(Handler full, Handler masked, Counters::Class instruction_class) {
  Insn insn;
  insn.full = full;
  insn.masked = masked;
  insn.instruction_class = instruction_class;
  insn.source = static_cast<uint32_t>(function_->code.sources.size() - 1);
  const ptx::Guard& guard = instruction_->guard;
  if (guard.present) {
    insn.guard = function_->first_register[guard.register_id];
    insn.guard_negated = guard.negated;
  }
  return function_->code.insns.emplace_back(insn);
}

void Lowering::set_more(Insn& insn, std::span<const Vreg> defs, std::span<const Vreg> uses) {
  KW_CHECK(defs.size() + uses.size() < 0xffff);
  auto pool = std::make_unique<uint32_t[]>(defs.size() + uses.size() + 1);
  std::copy(defs.begin(), defs.end(), pool.get());
  std::copy(uses.begin(), uses.end(), pool.get() + defs.size());
  insn.more = pool.get();
  insn.more_count = static_cast<uint16_t>(defs.size() + uses.size());
  insn.more_defs = static_cast<uint16_t>(defs.size());
  function_->code.operand_pool.push_back(std::move(pool));
}

tl::unexpected<Error> Lowering::unsupported() const {
  Error error;
  error.code = ErrorCode::kUnsupported;
  error.message = fmt::format("the emulator does not support '{}'", instruction_->full_name());
  const ptx::Module& module = *function_->program.module;
  error.span = Span{module.file_name, static_cast<int>(instruction_->place.line),
                    static_cast<int>(instruction_->place.column), static_cast<int>(instruction_->opcode.size())};
  if (module.text != nullptr) error.source_line = std::string(line_of(*module.text, error.span->line));
  error.notes.push_back(fmt::format("in function '{}'", function_->function.name));
  return tl::unexpected<Error>(std::move(error));
}

tl::unexpected<Error> Lowering::invalid(std::string message) const {
  Error error = unsupported().value();
  error.code = ErrorCode::kInvalid;
  error.message = fmt::format("'{}': {}", instruction_->full_name(), message);
  return tl::unexpected<Error>(std::move(error));
}

void Lowering::communicates_between_blocks() { function_->code.communicates = true; }
void Lowering::allocates_stack() { function_->code.allocates_stack = true; }

// ── FunctionLowering ─────────────────────────────────────────────────────────────────────────────────────

Vreg FunctionLowering::add_register(unsigned bytes) {
  registers.push_back({.bytes = static_cast<uint8_t>(bytes)});
  return static_cast<Vreg>(registers.size() - 1);
}

Result<FunctionLowering::VariableAddress> FunctionLowering::locate(const ptx::Variable& variable,
                                                                   const Lowering& at) const {
  VariableAddress result;
  result.space = variable.space;
  switch (variable.space) {
    case ptx::Space::kGlobal:
    case ptx::Space::kConst: {
      auto it = program.address_of.find(variable.name);
      if (it == program.address_of.end()) {
        return at.invalid(fmt::format("'{}' is declared but defined nowhere in the module", variable.name));
      }
      result.value = it->second;
      return result;
    }
    case ptx::Space::kShared: {
      auto it = shared.offset.find(&variable);
      if (it == shared.offset.end()) return at.invalid(fmt::format("'{}' has no place in shared memory", variable.name));
      result.value = it->second;
      return result;
    }
    case ptx::Space::kLocal:
    case ptx::Space::kParam: {
      if (auto it = frame_offset.find(&variable); it != frame_offset.end()) {
        result.space = ptx::Space::kLocal;
        result.value = it->second;
        result.frame_relative = true;
        return result;
      }
      if (auto it = entry_params.offset.find(&variable); it != entry_params.offset.end()) {
        result.value = it->second;
        result.kernel_param = true;
        return result;
      }
      return at.invalid(fmt::format("'{}' is not a variable of this function", variable.name));
    }
    default:
      return at.invalid(fmt::format("'{}' is in a state space that the emulator does not support", variable.name));
  }
}

void FunctionLowering::declare_variables(const ptx::Block& block) {
  for (const ptx::Statement& statement : block.statements) {
    if (const auto* nested = std::get_if<ptx::BlockPtr>(&statement)) {
      declare_variables(**nested);
    } else if (const auto* variable = std::get_if<const ptx::Variable*>(&statement)) {
      const ptx::Variable& v = **variable;
      if (v.space != ptx::Space::kLocal && v.space != ptx::Space::kParam) continue;
      const uint64_t align = std::clamp<uint64_t>(v.align_bytes(), 1, 4096);
      const uint64_t at = (code.local_bytes + align - 1) / align * align;
      const uint64_t end = at + std::min<uint64_t>(v.size_bytes(), kMaxFrameBytes + 1);
      frame_offset.emplace(&v, static_cast<uint32_t>(at));
      code.frame_variables.push_back({&v, static_cast<uint32_t>(at)});
      code.local_bytes = static_cast<uint32_t>(std::min<uint64_t>(end, kMaxFrameBytes + 1));
    } else if (const auto* targets = std::get_if<ptx::BranchTargets>(&statement)) {
      branch_targets[targets->label] = targets;
    } else if (const auto* prototype = std::get_if<ptx::CallPrototype>(&statement)) {
      prototypes[prototype->label] = prototype;
    }
  }
}

Status FunctionLowering::declare_parameters(std::span<const ptx::Variable* const> variables,
                                            std::vector<Code::Parameter>& parameters) {
  for (const ptx::Variable* v : variables) {
    if (v->space == ptx::Space::kReg) {   // keeps its slot: the caller writes or reads it
      size_t i = 0;
      while (i < function.registers.size() && function.registers[i].name != v->name) ++i;
      if (i == function.registers.size()) {
        return fail(ErrorCode::kInvalid, "function '{}': parameter '{}' is not a register of it", function.name, v->name);
      }
      registers[first_register[i]].pinned = true;
      parameters.push_back({true, first_register[i], registers[first_register[i]].bytes});
      continue;
    }
    const uint32_t align = std::clamp<uint32_t>(v->align_bytes(), 1, 4096);
    const uint32_t bytes = static_cast<uint32_t>(std::min<uint64_t>(v->size_bytes(), 1u << 16));
    code.local_bytes = (code.local_bytes + align - 1) / align * align;
    frame_offset.emplace(v, code.local_bytes);
    code.frame_variables.push_back({v, code.local_bytes});
    parameters.push_back({false, code.local_bytes, bytes});
    code.local_bytes += bytes;
  }
  return {};
}

Status FunctionLowering::lower_instruction(Lowering& lowering, const ptx::Instruction& instruction) {
  lowering.instruction_ = &instruction;
  code.sources.push_back({&instruction});
  const auto& index = op_index();
  auto it = index.find(instruction.opcode);
  if (it == index.end()) return lowering.unsupported();
  for (const OpEntry* entry : it->second) {
    if (entry->accepts != nullptr && !entry->accepts(instruction)) continue;
    pending.clear();
    const size_t first = code.insns.size();
    KW_TRY_VOID(entry->lower(lowering));
    code.insns.insert(code.insns.end(), pending.begin(), pending.end());
    for (size_t i = first; i < code.insns.size(); ++i) {
      if (code.insns[i].helper) continue;
      code.insns[i].counted = true;
      break;
    }
    if (code.insns.size() > kMaxInsns) {
      return fail(ErrorCode::kLimit, "function '{}' has more than {} instructions", function.name, kMaxInsns);
    }
    return {};
  }
  return lowering.unsupported();
}

Status FunctionLowering::lower_statements(Lowering& lowering, const ptx::Block& block) {
  for (const ptx::Statement& statement : block.statements) {
    if (const auto* instruction = std::get_if<ptx::Instruction>(&statement)) {
      KW_TRY_VOID(lower_instruction(lowering, *instruction));
    } else if (const auto* label = std::get_if<ptx::LabelDefinition>(&statement)) {
      label_at[label->id] = static_cast<uint32_t>(code.insns.size());
    } else if (const auto* nested = std::get_if<ptx::BlockPtr>(&statement)) {
      KW_TRY_VOID(lower_statements(lowering, **nested));
    }
  }
  return {};
}

Status FunctionLowering::run(bool observed) {
  Lowering lowering;
  lowering.function_ = this;
  lowering.observed_ = observed;
  code.function = &function;
  code.observed = observed;
  for (const ptx::Register& r : function.registers) {
    first_register.push_back(static_cast<Vreg>(registers.size()));
    for (uint32_t i = 0; i < std::max(1u, r.vector); ++i) add_register(bytes_of(r.type));
  }
  label_at.assign(function.labels.size(), kNone);

  if (function.is_entry) {
    entry_params = layout_params(function.params);
  } else {
    KW_TRY_VOID(declare_parameters(function.params, code.parameters));
    KW_TRY_VOID(declare_parameters(function.returns, code.results));
  }
  declare_variables(function.body);
  if (code.local_bytes > kMaxFrameBytes) {
    return fail(ErrorCode::kLimit, "function '{}' declares more than {} bytes of local memory per thread",
                function.name, kMaxFrameBytes);
  }

  KW_TRY_VOID(lower_statements(lowering, function.body));
  // Falling off the end returns.
  static const ptx::Instruction kImplicit{.opcode = "ret"};
  KW_TRY_VOID(lower_instruction(lowering, kImplicit));

  std::vector<uint32_t> entries;
  auto resolve = [&](uint32_t label, const Insn& insn) -> Result<uint32_t> {
    if (label < label_at.size() && label_at[label] != kNone) return label_at[label];
    lowering.instruction_ = code.sources[insn.source].instruction;
    return lowering.invalid("the label is defined nowhere in the function");
  };
  code.branch_tables.resize(table_labels.size());
  for (Insn& insn : code.insns) {
    insn.special = insn.guard != kNone || may_interrupt(insn);
    if (!insn.ends_block) continue;
    const auto kind = static_cast<Terminator>(insn.aux);
    if (kind == Terminator::kBranch) {
      KW_TRY(insn.target, resolve(insn.target, insn));
      entries.push_back(insn.target);
    } else if (kind == Terminator::kBranchIndexed) {
      auto& table = code.branch_tables[insn.imm];
      for (uint32_t label : table_labels[insn.imm]) {
        KW_TRY(uint32_t at, resolve(label, insn));
        table.push_back(at);
        entries.push_back(at);
      }
    }
  }
  find_basic_blocks(code, entries);
  link_chains(code);
  const std::vector<uint32_t> slots = assign_slots(code, registers);
  fuse_products(code);
  for (auto* list : {&code.parameters, &code.results}) {
    for (Code::Parameter& p : *list) {
      if (p.in_register) p.offset = slots[p.offset];   // kNone when the function never uses it
    }
  }
  if (code.bank_bytes > kMaxBankBytes) {
    return fail(ErrorCode::kLimit, "function '{}' keeps {} bytes of registers alive per warp; the limit is {}",
                function.name, code.bank_bytes, kMaxBankBytes);
  }
  return {};
}

Result<std::unique_ptr<Code>> lower_function(const ProgramImage& program, const SharedLayout& shared,
                                             uint32_t function_index, bool observed) {
  auto code = std::make_unique<Code>();
  code->function_index = function_index;
  FunctionLowering lowering{program, shared, *program.functions[function_index], *code};
  KW_TRY_VOID(lowering.run(observed));
  return code;
}

ParamLayout layout_params(std::span<const ptx::Variable* const> params) {
  ParamLayout layout;
  for (const ptx::Variable* v : params) {
    const uint32_t align = std::clamp<uint32_t>(v->align_bytes(), 1, 4096);
    layout.bytes = (layout.bytes + align - 1) / align * align;
    layout.offset.emplace(v, layout.bytes);
    layout.bytes += static_cast<uint32_t>(std::min<uint64_t>(v->size_bytes(), 1u << 20));
  }
  return layout;
}

}  // namespace kw::emu
