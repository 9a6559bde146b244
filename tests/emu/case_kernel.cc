// The PTX module of a case.
#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <set>

#include "emu/case_file.h"
#include "emu/case_value.h"

namespace kw::emu {
namespace {

void collect_registers(std::string_view line, std::set<std::string>& registers) {
  for (size_t i = line.find('%'); i != std::string_view::npos; i = line.find('%', i + 1)) {
    size_t end = i + 1;
    while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_')) ++end;
    if (const std::string name(line.substr(i, end - i)); prefix_of(name)) registers.insert(name);
  }
}

std::string initialiser(const CaseVariable& v) {
  const ElementType& type = *element_type(v.type);
  const uint64_t count = v.bytes / type.bytes;
  std::string out;
  uint64_t state = 0x9e3779b97f4a7c15ull;
  for (uint64_t i = 0; i < count; ++i) {
    Number n;
    if (!v.values.empty()) {
      if (i >= v.values.size()) break;
      if (!parse_number(v.values[i], type.bytes, type.is_float, n)) return {};
    } else if (v.init == "random") {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      n.low = state >> 33;
      if (type.bytes < 8) n.low &= (1ull << (8 * type.bytes)) - 1;
    } else {
      n.low = !type.is_float ? i : type.bytes == 4 ? std::bit_cast<uint32_t>(static_cast<float>(i))
                                                   : std::bit_cast<uint64_t>(static_cast<double>(i));
      if (type.bytes < 8) n.low &= (1ull << (8 * type.bytes)) - 1;
    }
    out += fmt::format("{}0x{:x}", i ? ", " : "", n.low);
  }
  return out;
}

}  // namespace

Result<CaseKernel> generate(const Case& test, Variant variant) {
  CaseKernel kernel;
  kernel.variant = variant;
  kernel.block_x = test.block[0] - (variant == Variant::kPartWarp && test.block[0] > 3 ? 3 : 0);
  kernel.threads = test.threads() / test.block[0] * kernel.block_x;
  std::set<std::string> registers;
  for (const std::string& line : test.body) collect_registers(line, registers);
  for (const CaseInput& in : test.inputs) registers.insert(in.reg);
  for (const Expectation& e : test.expected)
    if (e.name.starts_with('%')) registers.insert(e.name);
  std::string module = fmt::format(".version {}\n.target {}\n.address_size 64\n", test.version, test.target);
  std::string body;
  for (const CaseVariable& v : test.variables) {
    if (v.shared) {
      module += fmt::format(".shared .align 128 .b8 {}[{}];\n", v.name, v.bytes);
    } else if (v.values.empty() && v.init != "iota" && v.init != "random") {
      module += fmt::format(".visible .global .align 128 .b8 {}[{}];\n", v.name, v.bytes);
    } else {
      const ElementType& type = *element_type(v.type);
      const std::string list = initialiser(v);
      if (list.empty()) return fail(ErrorCode::kInvalid, "line {}: the values of '{}' are not of type {}", test.line, v.name, v.type);
      module += fmt::format(".visible .global .align 128 .b{} {}[{}] = {{{}}};\n", 8 * type.bytes, v.name, v.bytes / type.bytes, list);
    }
  }
  const bool three = test.block[1] * test.block[2] > 1;
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    const CaseInput& in = test.inputs[i];
    const Prefix& p = *prefix_of(in.reg);
    const uint32_t bytes = p.bytes == 0 ? 4 : p.bytes == 16 ? 8 : p.bytes;
    const uint64_t threads_per_block = uint64_t{test.block[0]} * test.block[1] * test.block[2];
    std::string list;
    for (uint64_t t = 0; t < threads_per_block; ++t) {
      Number n;
      if (!parse_number(in.values[t % in.values.size()], p.bytes, p.type[0] == 'f', n))
        return fail(ErrorCode::kInvalid, "line {}: '{}' is no value of {}", test.line, in.values[t % in.values.size()], in.reg);
      list += fmt::format("{}0x{:x}", t ? ", " : "", n.low);
      if (p.bytes == 16) list += fmt::format(", 0x{:x}", n.high);
    }
    const uint32_t pitch = p.bytes == 0 ? 4 : p.bytes;
    module += fmt::format(".global .align 16 .b{} kw_in_{}[{}] = {{{}}};\n", 8 * bytes, i, threads_per_block * pitch / bytes, list);
    body += fmt::format("  mov.u64 %kw_a, kw_in_{};\n  mad.wide.u32 %kw_a, %kw_t, {}, %kw_a;\n", i, pitch);
    if (p.bytes == 0) body += fmt::format("  ld.global.u32 %kw_v, [%kw_a];\n  setp.ne.u32 {}, %kw_v, 0;\n", in.reg);
    else if (p.bytes == 16) body += fmt::format("  ld.global.v2.b64 {{%kw_x, %kw_y}}, [%kw_a];\n  mov.b128 {}, {{%kw_x, %kw_y}};\n", in.reg);
    else body += fmt::format("  ld.global.{} {}, [%kw_a];\n", p.type, in.reg);
  }
  module += ".visible .entry kw_case(.param .u64 kw_results) {\n";
  for (const std::string& name : registers) module += fmt::format("  .reg .{} {};\n", prefix_of(name)->type, name);
  module +=
      "  .reg .pred %kw_on;\n  .reg .b32 %kw_t, %kw_g, %kw_v, %kw_n;\n  .reg .b64 %kw_a, %kw_o, %kw_x, %kw_y;\n"
      "  mov.u32 %kw_t, %tid.x;\n";
  if (three)
    module +=
        "  mov.u32 %kw_v, %ntid.x;\n  mov.u32 %kw_n, %tid.y;\n  mad.lo.u32 %kw_t, %kw_n, %kw_v, %kw_t;\n"
        "  mov.u32 %kw_n, %ntid.y;\n  mul.lo.u32 %kw_v, %kw_v, %kw_n;\n  mov.u32 %kw_n, %tid.z;\n"
        "  mad.lo.u32 %kw_t, %kw_n, %kw_v, %kw_t;\n";
  module += body;
  if (variant == Variant::kOddLanes)
    module += "  and.b32 %kw_v, %kw_t, 1;\n  setp.eq.u32 %kw_on, %kw_v, 0;\n  @%kw_on bra kw_skip;\n";
  for (const std::string& line : test.body) module += "  " + line + "\n";
  if (variant == Variant::kOddLanes) module += "kw_skip:\n";
  // The linear index of the thread in the grid.
  module += fmt::format(
      "  mov.u32 %kw_g, %ctaid.z;\n  mov.u32 %kw_v, %nctaid.y;\n  mov.u32 %kw_n, %ctaid.y;\n  mad.lo.u32 %kw_g, %kw_g, %kw_v, %kw_n;\n"
      "  mov.u32 %kw_v, %nctaid.x;\n  mov.u32 %kw_n, %ctaid.x;\n  mad.lo.u32 %kw_g, %kw_g, %kw_v, %kw_n;\n"
      "  mad.lo.u32 %kw_g, %kw_g, {}, %kw_t;\n  ld.param.u64 %kw_a, [kw_results];\n  mad.wide.u32 %kw_a, %kw_g, 16, %kw_a;\n",
      uint64_t{kernel.block_x} * test.block[1] * test.block[2]);
  for (const Expectation& e : test.expected) {
    if (!e.name.starts_with('%')) continue;
    const Prefix& p = *prefix_of(e.name);
    const uint64_t offset = kernel.result_bytes;
    kernel.fields.push_back({e.name, offset, p.bytes == 0 ? 4 : p.bytes});
    kernel.result_bytes += uint64_t{kernel.threads} * 16;
    module += fmt::format("  add.u64 %kw_o, %kw_a, {};\n", offset);
    if (p.bytes == 0) module += fmt::format("  selp.u32 %kw_v, 1, 0, {};\n  st.global.u32 [%kw_o], %kw_v;\n", e.name);
    else if (p.bytes == 16) module += fmt::format("  mov.b128 {{%kw_x, %kw_y}}, {};\n  st.global.v2.b64 [%kw_o], {{%kw_x, %kw_y}};\n", e.name);
    else module += fmt::format("  st.global.{} [%kw_o], {};\n", p.type, e.name);
  }
  if (kernel.result_bytes == 0) kernel.result_bytes = 16;
  module += "  ret;\n}\n";
  kernel.ptx = std::move(module);
  return kernel;
}

}  // namespace kw::emu
