// The names in scope while a module is parsed. Internal to the parser.
// One hash table with chains; a scope is a mark on the stack of entries. Ranges (%r<100>) are one entry:
// their registers come into being at first use, so a range costs nothing however large it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace kw::ptx {

struct Symbol {
  enum class Kind : uint8_t { kRegister, kRange, kVariable, kFunction } kind = Kind::kRegister;
  std::string_view name;              // a range's prefix
  uint64_t hash = 0;
  uint32_t next = 0;                  // in the chain; index + 1
  uint32_t depth = 0;                 // of the scope; 0 = module
  uint32_t id = 0;                    // register id, or index of the range
  const Variable* variable = nullptr;
  Function* function = nullptr;
};

struct Range {
  std::string_view prefix;
  uint64_t count = 0;
  Type type = Type::kNone;
  uint32_t vector = 1;
  Place place;
};

class Symbols {
 public:
  Symbols();
  void open_scope() { marks_.push_back(static_cast<uint32_t>(stack_.size())); }
  void close_scope();
  uint32_t depth() const { return static_cast<uint32_t>(marks_.size()); }

  const Symbol* find(std::string_view name) const;              // not ranges
  const Symbol* find_in_scope(std::string_view name) const;     // innermost scope only; sees ranges' names
  const Symbol* find_range_in_scope(const Range& range) const;  // something a new range would collide with
  void add(Symbol symbol);
  void replace_function(std::string_view name, Function* function);
  void add_range(const Range& range);

  // The id of a register called `name`, declared singly or in a range; kNoRegister when the innermost
  // declaration of the name is no register, with `other` set to it (null: no such name).
  static constexpr uint32_t kNoRegister = UINT32_MAX;
  uint32_t find_register(std::string_view name, std::vector<Register>& registers, const Symbol*& other);

  void clear_ranges();  // at the end of a function: forget its registers

  // The name in scope that is nearest to `name` in spelling, or empty when none is near.
  std::string nearest(std::string_view name) const;

 private:
  const Symbol* find_entry(std::string_view name, uint64_t hash, bool range) const;
  const Symbol* find_range(std::string_view name, uint64_t& number) const;
  uint32_t& slot(uint64_t key);
  void grow_slots();

  std::vector<uint32_t> heads_;        // index + 1 into stack_
  std::vector<Symbol> stack_;
  std::vector<uint32_t> marks_;
  std::vector<Range> ranges_;
  // Registers of ranges that were used: (range index, number) to id + 1. Open addressing.
  std::vector<uint64_t> slot_keys_;
  std::vector<uint32_t> slot_ids_;
  size_t slots_used_ = 0;
  mutable uint64_t collision_steps_ = 0;
};

}  // namespace kw::ptx
