// The outline of a PTX text: entries with their parameter layout, and module variables with their sizes.
// A scan of declarations at module scope, not a parser: the recording runtime lives in the candidate's process
// and must be small; the parser proper (ptx/) and the emulator judge the text later.
// Layout of the parameter block: PTX ISA 9.x section 5.1.6 (each .param aligned to its .align or natural
// alignment, in order). Accepts any text; what it does not understand it leaves out. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kw::plan {

struct ParamLayout {
  uint32_t offset = 0, bytes = 0, align = 1;
  bool scalar = true;            // declared as one value; an array of bytes is a struct and may have padding
};

struct EntryOutline {
  std::string name;
  std::vector<ParamLayout> params;
  uint32_t param_bytes = 0;
  uint32_t max_threads = 0;      // product of .maxntid or .reqntid; 0 when not stated
  uint32_t max_registers = 0;    // .maxnreg
  uint32_t min_blocks = 0;       // .minnctapersm
  std::array<uint32_t, 3> cluster{};   // .reqnctapercluster; zeros when not stated
  // .shared variables declared in the body, and those of the module that the body names.
  uint64_t static_shared_bytes = 0;
};

struct VariableOutline {
  std::string name;
  uint64_t bytes = 0;            // 0: unsized
  bool constant = false;
  bool is_extern = false;
};

struct PtxOutline {
  std::string target;            // "sm_80"
  std::vector<EntryOutline> entries;
  std::vector<VariableOutline> variables;
  const EntryOutline* find_entry(std::string_view name) const;
  const VariableOutline* find_variable(std::string_view name) const;
};

PtxOutline outline(std::string_view ptx);

// The same, remembered: a judgement checks, merges and loads the plans of many workloads, whose modules have one text. What is
// remembered is bounded. Thread-safe.
std::shared_ptr<const PtxOutline> remembered_outline(const std::string& ptx);

}  // namespace kw::plan
