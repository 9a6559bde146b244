// A plan as a page for people.
#include <algorithm>
#include <cstring>

#include "base/demangle.h"
#include "plan/plan.h"
#include "plan/ptx_outline.h"

namespace kw::plan {
namespace {

std::string shape_of(const Buffer& buffer) {
  if (buffer.dtype.empty()) return "";
  std::string text = fmt::format("{}[{}]", buffer.dtype, fmt::join(buffer.shape, ", "));
  if (buffer.strides != contiguous_strides(buffer.shape))
    text += fmt::format(" strides [{}]", fmt::join(buffer.strides, ", "));
  return text;
}

std::string name_of(const Plan& plan, const Address& address) {
  std::string text;
  if (address.in_buffer()) {
    text = address.buffer < plan.buffers.size() ? plan.buffers[address.buffer].name : fmt::format("buffer {}?", address.buffer);
    // "workspace 0" reads badly before a "+".
    if (text.find(' ') != std::string::npos) text = "(" + text + ")";
  } else {
    text = fmt::format("module {}:{}", address.module, address.variable);
  }
  if (address.offset > 0) text += fmt::format(" + {}", address.offset);
  if (address.offset < 0) text += fmt::format(" - {}", -static_cast<__int128>(address.offset) > INT64_MAX
                                                            ? INT64_MAX : -address.offset);
  return text;
}

std::string dims(const std::array<uint32_t, 3>& d) {
  if (d[2] != 1) return fmt::format("{}x{}x{}", d[0], d[1], d[2]);
  if (d[1] != 1) return fmt::format("{}x{}", d[0], d[1]);
  return fmt::format("{}", d[0]);
}

// A parameter without pointers, by its width: what a person can recognise.
std::string value_of(const std::vector<uint8_t>& block, uint32_t offset, uint32_t bytes) {
  uint64_t bits = 0;
  for (uint32_t i = 0; i < bytes && i < 8; ++i) bits |= uint64_t{block[offset + i]} << (8 * i);
  if (bytes == 4) {
    float real;
    const auto low = static_cast<uint32_t>(bits);
    std::memcpy(&real, &low, 4);
    const auto integer = static_cast<int32_t>(low);
    // A small whole number is an integer; what has a sane exponent as a float is shown as both.
    if (integer > -(1 << 24) && integer < (1 << 24)) return fmt::format("{}", integer);
    return fmt::format("{:#x} ({:g})", low, real);
  }
  if (bytes == 8) {
    const auto integer = static_cast<int64_t>(bits);
    if (integer > -(int64_t{1} << 40) && integer < (int64_t{1} << 40)) return fmt::format("{}", integer);
    double real;
    std::memcpy(&real, &bits, 8);
    return fmt::format("{:#x} ({:g})", bits, real);
  }
  if (bytes < 8) return fmt::format("{}", bits);
  return fmt::format("{{{} bytes}}", bytes);
}

using Outlines = std::vector<PtxOutline>;  // one per module of the plan

std::string params_of(const Plan& plan, const Outlines& outlines, const Launch& launch) {
  std::string text;
  const EntryOutline* entry = launch.module < outlines.size() ? outlines[launch.module].find_entry(launch.kernel) : nullptr;
  if (entry == nullptr || entry->param_bytes != launch.params.size()) return fmt::format("{} bytes", launch.params.size());
  for (const ParamLayout& param : entry->params) {
    if (!text.empty()) text += ", ";
    std::vector<std::string> pointers;
    for (const Relocation& relocation : launch.relocations)
      if (relocation.offset >= param.offset && relocation.offset < param.offset + param.bytes)
        pointers.push_back(param.bytes == 8 ? name_of(plan, relocation.target)
                                            : fmt::format("+{}: {}", relocation.offset - param.offset, name_of(plan, relocation.target)));
    const bool map = std::find(launch.tensor_maps.begin(), launch.tensor_maps.end(), param.offset) != launch.tensor_maps.end();
    if (map) {
      text += fmt::format("tensor map of {}", pointers.empty() ? "?" : pointers[0]);
    } else if (pointers.empty()) {
      text += value_of(launch.params, param.offset, param.bytes);
    } else if (param.bytes == 8) {
      text += pointers[0];
    } else {
      text += fmt::format("{{{} bytes; {}}}", param.bytes, fmt::join(pointers, "; "));
    }
  }
  return text;
}

std::string action_of(const Plan& plan, const Outlines& outlines, const Step& step) {
  if (const auto* launch = std::get_if<Launch>(&step.action)) {
    std::string text = fmt::format("launch {} <<<{}, {}", readable_name(launch->kernel), dims(launch->grid), dims(launch->block));
    if (launch->dynamic_shared_bytes != 0) text += fmt::format(", {} B shared", launch->dynamic_shared_bytes);
    text += ">>>";
    if (launch->cluster != std::array<uint32_t, 3>{1, 1, 1}) text += fmt::format(" cluster {}", dims(launch->cluster));
    if (launch->cooperative) text += " cooperative";
    if (launch->programmatic_order) text += " programmatic order";
    return text + fmt::format("\n       ({})", params_of(plan, outlines, *launch));
  }
  if (const auto* fill = std::get_if<Fill>(&step.action)) {
    std::string pattern;
    for (const uint8_t byte : fill->pattern) pattern += fmt::format("{:02x}", byte);
    return fmt::format("fill   {} with {}, {} B x {}", name_of(plan, fill->to), pattern, fill->row_bytes, fill->rows);
  }
  if (const auto* copy = std::get_if<Copy>(&step.action))
    return fmt::format("copy   {} to {}, {} B x {}", name_of(plan, copy->from), name_of(plan, copy->to), copy->row_bytes, copy->rows);
  const auto& write = std::get<Write>(step.action);
  return fmt::format("write  {} B to {}{}", write.data.size(), name_of(plan, write.to),
                     write.relocations.empty() ? "" : fmt::format(" ({} pointers)", write.relocations.size()));
}

}  // namespace

std::string show(const Plan& plan) {
  std::string page = fmt::format("plan of {} for {}\n\nbuffers\n", plan.candidate.empty() ? "a candidate" : plan.candidate, plan.target);
  for (const Buffer& buffer : plan.buffers)
    page += fmt::format("  {:<9} {:<16} {:>12} B  {}\n", name_of(buffer.role), buffer.name, buffer.bytes, shape_of(buffer));
  page += "\nmodules\n";
  Outlines outlines;
  for (size_t i = 0; i < plan.modules.size(); ++i) {
    outlines.push_back(outline(plan.modules[i].ptx));
    page += fmt::format("  {}  {}  {} bytes of PTX, {} kernels, {} variables\n", i, plan.modules[i].hash, plan.modules[i].ptx.size(),
                        outlines[i].entries.size(), outlines[i].variables.size());
  }
  page += "\nsteps\n";
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    page += fmt::format("  {:>3}  {}", i, action_of(plan, outlines, step));
    // The usual order, after the step before, goes without saying.
    if (!(step.after.size() == 1 && step.after[0] + 1 == i) && i != 0)
      page += step.after.empty() ? "\n       after nothing" : fmt::format("\n       after {}", fmt::join(step.after, ", "));
    if (step.source_line != 0) page += fmt::format("\n       at {}:{}", step.source_file, step.source_line);
    page += "\n";
  }
  if (!plan.unjoined.empty())
    page += fmt::format("\nnot waited for by the entry's stream: steps {}\n", fmt::join(plan.unjoined, ", "));
  return page;
}

}  // namespace kw::plan
