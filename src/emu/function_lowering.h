// The state of one function while it is lowered; lowering.cc and ops_control.cc share it. Internal to emu.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emu/lowering.h"
#include "emu/program.h"
#include "emu/slots.h"

namespace kw::emu {

// One call instruction. Arguments and results in .param space are copied between the frames' local memory; those
// in registers are operands of the instruction (Insn::more, results first).
struct CallSite {
  uint32_t callee = kNone;               // function index; kNone: indirect, the handle is op[0]
  struct Argument {
    bool in_register = false;
    uint32_t more_index = 0;             // in Insn::more
    uint32_t frame_offset = 0;           // caller's local memory
    uint32_t bytes = 0;
  };
  std::vector<Argument> returns, arguments;
  // Extern functions that the emulator provides (syscalls.cc).
  enum class System : uint8_t { kNone, kVprintf, kAssertFail, kMalloc, kFree } system = System::kNone;
};

struct FunctionLowering {
  const ProgramImage& program;
  const SharedLayout& shared;
  const ptx::Function& function;
  Code& code;
  std::vector<VirtualRegister> registers{};
  std::vector<Vreg> first_register{};                 // per ptx register id
  std::map<std::pair<uint64_t, unsigned>, Vreg> constant_of{};
  std::vector<uint32_t> label_at{};                   // instruction index per label id; kNone = not seen
  std::unordered_map<const ptx::Variable*, uint32_t> frame_offset{};
  ParamLayout entry_params{};
  std::vector<Insn> pending{};                        // to follow the instruction being lowered
  std::unordered_map<std::string_view, const ptx::BranchTargets*> branch_targets{};
  std::unordered_map<std::string_view, const ptx::CallPrototype*> prototypes{};
  std::vector<std::vector<uint32_t>> table_labels{};  // per branch table: label ids
  Vreg condition_code = kNone;                        // made on first use: Lowering::condition_code()

  // The address of a variable as `mov` sees it.
  struct VariableAddress {
    ptx::Space space = ptx::Space::kNone;
    uint64_t value = 0;
    bool frame_relative = false;
    bool kernel_param = false;
  };
  Result<VariableAddress> locate(const ptx::Variable& variable, const Lowering& at) const;
  Vreg add_register(unsigned bytes);
  Status lower_statements(Lowering& lowering, const ptx::Block& block);
  Status lower_instruction(Lowering& lowering, const ptx::Instruction& instruction);
  void declare_variables(const ptx::Block& block);
  Status declare_parameters(std::span<const ptx::Variable* const> variables, std::vector<Code::Parameter>& parameters);
  Status run(bool observed);
};

}  // namespace kw::emu
