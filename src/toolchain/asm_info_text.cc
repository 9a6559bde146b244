#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/demangle.h"
#include "toolchain/asm_info.h"

namespace kw::toolchain {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::vector<MemoryAccess>& accesses) {
  Json out = Json::array();
  for (const auto& a : accesses) {
    out.push_back({{"operation", a.operation}, {"space", a.space}, {"bytes_per_thread", a.bytes}, {"count", a.count}});
  }
  return out;
}

Json json_of(const AsmInfo::Kernel& kernel) {
  Json out{{"kernel", kernel.ptx.kernel}, {"name", readable_name(kernel.ptx.kernel)}};
  out["ptx"] = {{"instructions", kernel.ptx.instructions},
                {"virtual_registers", kernel.ptx.virtual_registers},
                {"static_shared_bytes", kernel.ptx.static_shared_bytes},
                {"local_bytes", kernel.ptx.local_bytes},
                {"barriers", kernel.ptx.barriers},
                {"max_threads", kernel.ptx.max_threads == 0 ? Json(nullptr) : Json(kernel.ptx.max_threads)},
                {"mix", kernel.ptx.mix},
                {"tensor", kernel.ptx.tensor},
                {"memory", json_of(kernel.ptx.accesses)}};
  out["resources"] = nullptr;
  if (kernel.resources) {
    const Resources& r = *kernel.resources;
    out["resources"] = {{"registers", r.registers},
                        {"spill_store_bytes", r.spill_store_bytes},
                        {"spill_load_bytes", r.spill_load_bytes},
                        {"stack_bytes", r.stack_bytes},
                        {"shared_bytes", r.shared_bytes},
                        {"constant_bytes", r.constant_bytes},
                        {"barriers", r.barriers}};
  }
  out["sass"] = nullptr;
  if (kernel.sass) {
    out["sass"] = {{"instructions", kernel.sass->instructions},
                   {"local_loads", kernel.sass->local_loads},
                   {"local_stores", kernel.sass->local_stores},
                   {"mix", kernel.sass->mix},
                   {"tensor", kernel.sass->tensor},
                   {"memory", json_of(kernel.sass->accesses)}};
  }
  out["occupancy"] = Json::array();
  for (const auto& at : kernel.occupancy) {
    out["occupancy"].push_back({{"threads", at.threads},
                                {"blocks_per_sm", at.occupancy.blocks_per_sm},
                                {"warps_per_sm", at.occupancy.warps_per_sm},
                                {"fraction", at.occupancy.fraction},
                                {"limiter", std::string(arch::name(at.occupancy.limiter))}});
  }
  return out;
}

// The largest few of a mix, most frequent first.
std::string mix_text(const std::map<std::string, uint64_t>& mix) {
  std::vector<std::pair<uint64_t, std::string>> sorted;
  for (const auto& [name, count] : mix) sorted.push_back({count, name});
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  constexpr size_t kShown = 10;
  std::string out;
  for (size_t i = 0; i < std::min(sorted.size(), kShown); ++i) {
    out += fmt::format("{}{} {}", i == 0 ? "" : ", ", sorted[i].second, sorted[i].first);
  }
  if (sorted.size() > kShown) out += ", …";
  return out;
}

std::string access_text(const std::vector<MemoryAccess>& accesses) {
  std::string out;
  for (const auto& a : accesses) {
    if (a.space == "param" || a.space == "const") continue;
    out += fmt::format("{}{}× {} {} {} B", out.empty() ? "" : ", ", a.count, a.operation, a.space, a.bytes);
  }
  return out.empty() ? "none" : out;
}

std::string tensor_text(const std::map<std::string, uint64_t>& tensor) {
  std::string out;
  for (const auto& [form, count] : tensor) out += fmt::format("{}{}× {}", out.empty() ? "" : ", ", count, form);
  return out.empty() ? "none" : out;
}

}  // namespace

std::string to_json(const AsmInfo& info) {
  Json out{{"schema", "kernelwright/asm_info/1"}, {"subject", info.subject}, {"target", info.target},
           {"assembler", info.assembler},         {"disassembler", info.disassembler}, {"missing", info.missing}};
  out["kernels"] = Json::array();
  for (const auto& kernel : info.kernels) out["kernels"].push_back(json_of(kernel));
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string show(const AsmInfo& info) {
  std::string out = fmt::format("{} for {}\n", info.subject, info.target);
  for (const auto& kernel : info.kernels) {
    out += fmt::format("\n{}\n", readable_name(kernel.ptx.kernel));
    if (kernel.resources) {
      const Resources& r = *kernel.resources;
      out += fmt::format("  registers  {} a thread; spills: {} B stored, {} B loaded\n", r.registers, r.spill_store_bytes, r.spill_load_bytes);
      out += fmt::format("  shared     {} B static\n", r.shared_bytes);
    } else {
      out += fmt::format("  shared     {} B static\n", kernel.ptx.static_shared_bytes);
    }
    for (const auto& at : kernel.occupancy) {
      out += fmt::format("  occupancy  {} threads: {} blocks, {} warps an SM ({:.0f} %), limited by {}\n", at.threads,
                         at.occupancy.blocks_per_sm, at.occupancy.warps_per_sm, 100 * at.occupancy.fraction,
                         arch::name(at.occupancy.limiter));
    }
    out += fmt::format("  PTX        {} instructions: {}\n", kernel.ptx.instructions, mix_text(kernel.ptx.mix));
    out += fmt::format("    memory   {}\n    tensor   {}\n", access_text(kernel.ptx.accesses), tensor_text(kernel.ptx.tensor));
    if (kernel.sass) {
      out += fmt::format("  SASS       {} instructions: {}\n", kernel.sass->instructions, mix_text(kernel.sass->mix));
      out += fmt::format("    memory   {}\n    tensor   {}\n", access_text(kernel.sass->accesses), tensor_text(kernel.sass->tensor));
    }
  }
  for (const std::string& missing : info.missing) out += "missing: " + missing + "\n";
  return out;
}

}  // namespace kw::toolchain
