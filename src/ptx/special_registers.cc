#include "ptx/special_registers.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace kw::ptx {
namespace {

constexpr SpecialRegister kSpecialRegisters[] = {
    {"%tid", Type::kU32, 4},
    {"%ntid", Type::kU32, 4},
    {"%ctaid", Type::kU32, 4},
    {"%nctaid", Type::kU32, 4},
    {"%laneid", Type::kU32, 1, 13},
    {"%warpid", Type::kU32, 1, 13},
    {"%nwarpid", Type::kU32, 1, 20, 20},
    {"%smid", Type::kU32, 1, 13},
    {"%nsmid", Type::kU32, 1, 20, 20},
    {"%gridid", Type::kU64, 1, 10},
    {"%is_explicit_cluster", Type::kPred, 1, 78, 90},
    {"%clusterid", Type::kU32, 4, 78, 90},
    {"%nclusterid", Type::kU32, 4, 78, 90},
    {"%cluster_ctaid", Type::kU32, 4, 78, 90},
    {"%cluster_nctaid", Type::kU32, 4, 78, 90},
    {"%cluster_ctarank", Type::kU32, 1, 78, 90},
    {"%cluster_nctarank", Type::kU32, 1, 78, 90},
    {"%lanemask_eq", Type::kU32, 1, 20, 20},
    {"%lanemask_le", Type::kU32, 1, 20, 20},
    {"%lanemask_lt", Type::kU32, 1, 20, 20},
    {"%lanemask_ge", Type::kU32, 1, 20, 20},
    {"%lanemask_gt", Type::kU32, 1, 20, 20},
    {"%clock", Type::kU32, 1},
    {"%clock_hi", Type::kU32, 1, 50, 20},
    {"%clock64", Type::kU64, 1, 20, 20},
    {"%globaltimer", Type::kU64, 1, 31, 30},
    {"%globaltimer_lo", Type::kU32, 1, 31, 30},
    {"%globaltimer_hi", Type::kU32, 1, 31, 30},
    {"%reserved_smem_offset_begin", Type::kB32, 1, 76, 80},
    {"%reserved_smem_offset_end", Type::kB32, 1, 76, 80},
    {"%reserved_smem_offset_cap", Type::kB32, 1, 76, 80},
    {"%reserved_smem_offset_0", Type::kB32, 1, 76, 80},
    {"%reserved_smem_offset_1", Type::kB32, 1, 76, 80},
    {"%total_smem_size", Type::kU32, 1, 41, 20},
    {"%aggr_smem_size", Type::kU32, 1, 81, 90},
    {"%dynamic_smem_size", Type::kU32, 1, 41, 20},
    {"%current_graph_exec", Type::kU64, 1, 80, 50},
};

struct Table {
  std::unordered_map<std::string_view, SpecialRegister> rows;
  std::vector<std::string> numbered;  // owns the names of %envreg0 … and %pm0 …

  Table() {
    for (const SpecialRegister& row : kSpecialRegisters) rows.emplace(row.name, row);
    numbered.reserve(48);
    for (int i = 0; i < 32; ++i) add("%envreg" + std::to_string(i), {{}, Type::kB32, 1, 21});
    for (int i = 0; i < 8; ++i) {
      add("%pm" + std::to_string(i), {{}, Type::kU32, 1, i < 4 ? 13 : 30, i < 4 ? 0 : 20});
      add("%pm" + std::to_string(i) + "_64", {{}, Type::kU64, 1, 40, 50});
    }
  }
  void add(std::string name, SpecialRegister row) {
    row.name = numbered.emplace_back(std::move(name));
    rows.emplace(row.name, row);
  }
};

}  // namespace

const SpecialRegister* find_special_register(std::string_view name) {
  static const Table table;
  const auto found = table.rows.find(name);
  return found == table.rows.end() ? nullptr : &found->second;
}

}  // namespace kw::ptx
