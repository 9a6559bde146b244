// From ptx::Instruction to Insn. Each ops_*.cc file owns the lowering and the handlers of a family of
// instructions, and exports one table (below); lowering.cc walks the function, finds the entry by opcode, then
// computes liveness and assigns bank slots. Internal to emu.
//
// A lowering function reads operands through use()/def(), which hand out virtual registers of exactly
// the width asked for: immediates and constants become constant slots, special registers are read by an
// inserted instruction, a wider source register is narrowed and a wider destination widened by inserted
// instructions (ld, st and cvt may relax widths: PTX ISA 9.4). Then it emits one or more Insns.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "emu/insn.h"
#include "ptx/module.h"

namespace kw::emu {

using Vreg = uint32_t;   // virtual register id; Insn operands hold these until slots are assigned

class Lowering {
 public:
  // The instruction being lowered.
  const ptx::Instruction& instruction() const { return *instruction_; }
  const ptx::Operand& operand(size_t index) const { return instruction_->operands[index]; }
  size_t operand_count() const { return instruction_->operands.size(); }

  // Source of `bytes` per lane (1, 2, 4, 8, 16); bytes = 0: a predicate. Float literals are converted to the
  // width (0f… for 4, 0d… for 8; a 2-byte operand takes the literal's low bits).
  Result<Vreg> use(const ptx::Operand& operand, unsigned bytes);
  Result<Vreg> use_predicate(const ptx::Operand& operand, bool& negated);
  // Destination; `_` yields a scratch register. When the register is wider than `bytes`, `sign_extend`
  // says how the inserted instruction fills it.
  Result<Vreg> def(const ptx::Operand& operand, unsigned bytes, bool sign_extend = false);
  Result<Vreg> def_predicate(const ptx::Operand& operand);
  unsigned register_bytes(const ptx::Operand& operand) const;   // 0 for predicates and non-registers
  Vreg constant(uint64_t bits, unsigned bytes);                 // same bits in every lane
  Vreg temporary(unsigned bytes);
  Vreg condition_code();   // the function's carry flag CC.CF (add.cc, madc …): a predicate that outlives the instruction

  // Appends an instruction with the current guard and source. The caller fills op[] with registers and sets
  // op_defs/op_uses; the reference holds until the next call of any function of this class. `masked` may equal
  // `full`.
  Insn& emit(Handler full, Handler masked, Counters::Class instruction_class);
  void set_more(Insn& insn, std::span<const Vreg> defs, std::span<const Vreg> uses);

  // Address operand [base+offset]: a 64-bit (or, for .shared/.local/.param with 32-bit bases, 32-bit)
  // register plus a displacement. space kNone = generic.
  struct Address {
    Vreg base = kNone;          // kNone: absolute
    bool base_is_64 = true;
    int64_t offset = 0;         // displacement, or the absolute address
    // The operand names a .local variable, a .param variable of a call sequence, or a parameter of a device
    // function: offset counts from the frame's local memory (Warp::local_frame), base is kNone. Otherwise an
    // absolute .param offset counts from the kernel's parameter block.
    bool in_frame = false;
  };
  Result<Address> address(const ptx::Operand& operand, ptx::Space space);

  tl::unexpected<Error> unsupported() const;                    // names the whole form and its line
  tl::unexpected<Error> invalid(std::string message) const;     // operands that do not fit the form

  // Compiled for a launch with checks or counters: memory handlers choose their observed variants.
  bool observed() const { return observed_; }

  // The instruction lowered makes the result depend on the order in which blocks run (a used result of a
  // global atomic, a spin on a volatile or acquiring load): the launch runs its blocks in one interleaving.
  void communicates_between_blocks();
  // The function takes memory from the stack by alloca: how much is not known before it runs.
  void allocates_stack();

  // For ops_control.cc: the state of the function being lowered.
  struct FunctionLowering& function() const { return *function_; }

 private:
  friend struct FunctionLowering;
  Result<Vreg> register_of(const ptx::Operand& operand) const;
  const ptx::Instruction* instruction_ = nullptr;
  bool observed_ = false;
  struct FunctionLowering* function_ = nullptr;
};

// Tables are tried in order (lowering.cc lists them); the first entry of the opcode whose `accepts` holds
// (null: always) lowers the instruction. None: the instruction is unsupported, which names form and line.
struct OpEntry {
  const char* opcode;                                  // "add"
  bool (*accepts)(const ptx::Instruction&);
  Status (*lower)(Lowering&);
};
std::span<const OpEntry> move_ops();       // ops_move.cc: mov (packing too), cvta, isspacep, prmt
std::span<const OpEntry> carry_ops();      // ops_carry.cc: add.cc addc sub.cc subc mad.cc madc, before integer_ops()
std::span<const OpEntry> integer_ops();    // ops_integer.cc: add … dp4a
std::span<const OpEntry> bit_ops();        // ops_bits.cc: popc clz bfind fns brev bfe bfi szext bmsk
std::span<const OpEntry> video_ops();      // ops_video.cc: vadd … vset4
std::span<const OpEntry> logic_ops();      // ops_logic.cc: and or xor not cnot lop3 shf shl shr, on predicates too
std::span<const OpEntry> compare_ops();    // ops_compare.cc: set setp, every type
std::span<const OpEntry> select_ops();     // ops_select.cc: selp slct
std::span<const OpEntry> float_ops();      // ops_float.cc: f32, f64, approximations
std::span<const OpEntry> half_ops();       // ops_half.cc: f16, f16x2, bf16, bf16x2
std::span<const OpEntry> convert_ops();    // ops_convert.cc: cvt
std::span<const OpEntry> control_ops();    // ops_control.cc: bra brx call ret exit trap bar barrier nanosleep fences
std::span<const OpEntry> shuffle_ops();    // ops_shuffle.cc: shfl
std::span<const OpEntry> warp_ops();       // ops_warp.cc: vote match redux activemask elect bar.warp.sync
std::span<const OpEntry> memory_ops();     // ops_memory.cc: ld st ldu prefetch
std::span<const OpEntry> atomic_ops();     // ops_atomic.cc: atom red
std::span<const OpEntry> async_copy_ops(); // ops_async_copy.cc: cp.async and its groups, mbarrier of sm_80
std::span<const OpEntry> matrix_load_ops();// ops_matrix_load.cc: ldmatrix stmatrix movmatrix wmma.load wmma.store
std::span<const OpEntry> mma_ops();        // ops_mma.cc: mma wmma.mma
std::span<const OpEntry> cluster_ops();    // ops_cluster.cc: mapa getctarank griddepcontrol setmaxnreg
std::span<const OpEntry> stack_ops();      // ops_stack.cc: alloca stacksave stackrestore

}  // namespace kw::emu
