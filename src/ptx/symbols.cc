#include "ptx/symbols.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "base/near_miss.h"

namespace kw::ptx {
namespace {

constexpr size_t kFewSlots = 1024;

uint64_t hash_of(std::string_view name) { return XXH3_64bits(name.data(), name.size()); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Splits "%r12" after `prefix_length` characters; false when the rest is not a number as a range writes it.
bool split_number(std::string_view name, size_t prefix_length, uint64_t& number) {
  const std::string_view digits = name.substr(prefix_length);
  if (digits.empty() || digits.size() > 10 || (digits.size() > 1 && digits[0] == '0')) return false;
  number = 0;
  for (const char c : digits) number = number * 10 + static_cast<uint64_t>(c - '0');
  return true;
}

}  // namespace

Symbols::Symbols() : heads_(1024, 0), slot_keys_(kFewSlots, 0), slot_ids_(kFewSlots, 0) {}

void Symbols::close_scope() {
  const uint32_t mark = marks_.back();
  marks_.pop_back();
  while (stack_.size() > mark) {
    const Symbol& top = stack_.back();
    heads_[top.hash & (heads_.size() - 1)] = top.next;  // entries leave in the reverse order of coming
    stack_.pop_back();
  }
}

const Symbol* Symbols::find_entry(std::string_view name, uint64_t hash, bool range) const {
  for (uint32_t at = heads_[hash & (heads_.size() - 1)]; at != 0; at = stack_[at - 1].next) {
    const Symbol& symbol = stack_[at - 1];
    if (symbol.hash == hash && (symbol.kind == Symbol::Kind::kRange) == range && symbol.name == name)
      return &symbol;
  }
  return nullptr;
}

const Symbol* Symbols::find(std::string_view name) const { return find_entry(name, hash_of(name), false); }

const Symbol* Symbols::find_range(std::string_view name, uint64_t& number) const {
  const Symbol* best = nullptr;
  size_t prefix = name.size();
  while (prefix > 1 && is_digit(name[prefix - 1]) && name.size() - prefix < 10) {
    --prefix;
    uint64_t candidate = 0;
    if (!split_number(name, prefix, candidate)) continue;
    const std::string_view head = name.substr(0, prefix);
    const uint64_t hash = hash_of(head);
    // The innermost range that reaches the number: a shorter one further in hides only what it declares.
    for (uint32_t at = heads_[hash & (heads_.size() - 1)]; at != 0; at = stack_[at - 1].next) {
      const Symbol& symbol = stack_[at - 1];
      if (symbol.hash != hash || symbol.kind != Symbol::Kind::kRange || symbol.name != head) continue;
      if (candidate >= ranges_[symbol.id].count) continue;
      if (best == nullptr || symbol.depth > best->depth) {
        best = &symbol;
        number = candidate;
      }
      break;
    }
    // Splitting further inside the digits finds only prefixes that end in a digit (a1<3>).
  }
  return best;
}

const Symbol* Symbols::find_in_scope(std::string_view name) const {
  const Symbol* symbol = find(name);
  if (symbol != nullptr && symbol->depth == depth()) return symbol;
  uint64_t number = 0;
  const Symbol* range = find_range(name, number);
  return range != nullptr && range->depth == depth() ? range : nullptr;
}

const Symbol* Symbols::find_range_in_scope(const Range& range) const {
  const Symbol* same = find_entry(range.prefix, hash_of(range.prefix), true);
  if (same != nullptr && same->depth == depth()) return same;
  // Singly declared names that the range covers. The budget bounds what hostile text can make of this.
  const size_t from = marks_.empty() ? 0 : marks_.back();
  for (size_t i = from; i < stack_.size() && collision_steps_ < 50'000'000; ++i, ++collision_steps_) {
    const Symbol& symbol = stack_[i];
    uint64_t number = 0;
    if (symbol.kind == Symbol::Kind::kRange || !symbol.name.starts_with(range.prefix)) continue;
    if (!std::all_of(symbol.name.begin() + static_cast<long>(range.prefix.size()), symbol.name.end(), is_digit)) continue;
    if (split_number(symbol.name, range.prefix.size(), number) && number < range.count) return &symbol;
  }
  return nullptr;
}

void Symbols::add(Symbol symbol) {
  symbol.hash = hash_of(symbol.name);
  symbol.depth = depth();
  if (stack_.size() >= heads_.size()) {
    std::fill(heads_.begin(), heads_.end(), 0);
    heads_.resize(heads_.size() * 2, 0);
    for (size_t i = 0; i < stack_.size(); ++i) {  // in order, so that inner entries come first in chains
      uint32_t& head = heads_[stack_[i].hash & (heads_.size() - 1)];
      stack_[i].next = head;
      head = static_cast<uint32_t>(i + 1);
    }
  }
  uint32_t& head = heads_[symbol.hash & (heads_.size() - 1)];
  symbol.next = head;
  stack_.push_back(symbol);
  head = static_cast<uint32_t>(stack_.size());
}

void Symbols::replace_function(std::string_view name, Function* function) {
  const Symbol* symbol = find(name);
  if (symbol != nullptr && symbol->kind == Symbol::Kind::kFunction)
    stack_[static_cast<size_t>(symbol - stack_.data())].function = function;
}

void Symbols::add_range(const Range& range) {
  Symbol symbol;
  symbol.kind = Symbol::Kind::kRange;
  symbol.name = range.prefix;
  symbol.id = static_cast<uint32_t>(ranges_.size());
  ranges_.push_back(range);
  add(symbol);
}

uint32_t& Symbols::slot(uint64_t key) {
  const size_t mask = slot_keys_.size() - 1;
  uint64_t mixed = key * 0x9E3779B97F4A7C15ull;
  mixed ^= mixed >> 29;
  for (size_t at = mixed & mask;; at = (at + 1) & mask) {
    if (slot_ids_[at] == 0) slot_keys_[at] = key;
    if (slot_keys_[at] == key) return slot_ids_[at];
  }
}

void Symbols::grow_slots() {
  std::vector<uint64_t> keys(slot_keys_.size() * 2, 0);
  std::vector<uint32_t> ids(slot_ids_.size() * 2, 0);
  keys.swap(slot_keys_);
  ids.swap(slot_ids_);
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] != 0) slot(keys[i]) = ids[i];
}

uint32_t Symbols::find_register(std::string_view name, std::vector<Register>& registers, const Symbol*& other) {
  other = find(name);
  if (is_digit(name.back())) {
    uint64_t number = 0;
    const Symbol* range_symbol = find_range(name, number);
    if (range_symbol != nullptr && (other == nullptr || range_symbol->depth > other->depth)) {
      if (slots_used_ * 2 >= slot_keys_.size()) grow_slots();
      uint32_t& id = slot(static_cast<uint64_t>(range_symbol->id) << 32 | number);
      if (id == 0) {
        const Range& range = ranges_[range_symbol->id];
        registers.push_back({name, range.type, range.vector, range.place});
        id = static_cast<uint32_t>(registers.size());
        ++slots_used_;
      }
      other = nullptr;
      return id - 1;
    }
  }
  if (other != nullptr && other->kind == Symbol::Kind::kRegister) return other->id;
  return kNoRegister;
}

void Symbols::clear_ranges() {
  ranges_.clear();
  slot_keys_.assign(kFewSlots, 0);
  slot_ids_.assign(kFewSlots, 0);
  slot_keys_.shrink_to_fit();
  slot_ids_.shrink_to_fit();
  slots_used_ = 0;
}

std::string Symbols::nearest(std::string_view name) const {
  // Out of a range by number is the likeliest slip of generated code: say how far the range goes.
  size_t prefix = name.size();
  while (prefix > 1 && is_digit(name[prefix - 1])) --prefix;
  const std::string_view head = name.substr(0, prefix);
  if (prefix < name.size()) {
    if (const Symbol* range = find_entry(head, hash_of(head), true); range != nullptr && ranges_[range->id].count > 0)
      return std::string(head) + std::to_string(ranges_[range->id].count - 1);
  }
  unsigned limit = slip_cost(name) + 1;
  std::string found;
  const size_t from = stack_.size() > 20'000 ? stack_.size() - 20'000 : 0;
  for (size_t i = stack_.size(); i-- > from && limit > 0;) {
    const Symbol& symbol = stack_[i];
    const bool range = symbol.kind == Symbol::Kind::kRange;
    const unsigned cost = edit_cost(range ? head : name, symbol.name, limit - 1);
    if (cost >= limit) continue;
    if (range) {
      uint64_t number = 0;
      if (!split_number(name, prefix, number) || number >= ranges_[symbol.id].count) continue;
      found = std::string(symbol.name) + std::string(name.substr(prefix));
    } else {
      found = symbol.name;
    }
    limit = cost;
  }
  return found;
}

}  // namespace kw::ptx
