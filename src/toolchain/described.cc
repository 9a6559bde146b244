#include "toolchain/described.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_fields.h"
#include "plan/ptx_outline.h"
#include "tensor/dtype.h"
#include "toolchain/recording.h"

namespace kw::toolchain {
namespace {

using Json = nlohmann::json;
using Kind = Unrecordable::Kind;

constexpr size_t kMaxKernelText = 65536;

Unrecordable refusal(Kind kind, std::string message, std::string path = "", int line = 0) {
  Unrecordable reason;
  reason.kind = kind;
  reason.message = std::move(message);
  reason.place = Span{std::move(path), line, 0, 0};
  return reason;
}

// The bytes of lower-case hex digits; empty when it is something else.
std::vector<uint8_t> bytes_of_hex(const std::string& digits) {
  const auto value_of = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int high = value_of(digits[i]), low = value_of(digits[i + 1]);
    if (high < 0 || low < 0) return {};
    bytes.push_back(static_cast<uint8_t>(high * 16 + low));
  }
  return digits.size() % 2 == 0 ? bytes : std::vector<uint8_t>();
}

// A plan in the making; what does not fit ends it with a reason.
class Builder {
 public:
  Builder(const Description& description, const Workload& workload, const FindKernel& find)
      : description_(description), workload_(workload), find_(find) {}

  Result<std::variant<plan::Plan, Unrecordable>> build() {
    const Json root = parse_json(description_.text);
    plan_.target = description_.target;
    plan_.candidate = description_.candidate;
    const Json& kernels = fields_.list(root, "kernels");
    const Json& steps = fields_.list(root, "steps");
    buffers(root);
    if (kernels.size() > plan::kMaxModules || steps.size() > plan::kMaxSteps || plan_.buffers.size() > plan::kMaxBuffers)
      return refusal(Kind::kLimit, "the entry has more kernels, steps or workspace than a plan may have");
    for (const Json& kernel : kernels) {
      if (!kernel.is_string() || kernel.get_ref<const std::string&>().size() > kMaxKernelText || !wrong().empty()) return forged("kernels");
      KW_TRY(auto found, find_(kernel.get<std::string>()));
      if (auto* reason = std::get_if<Unrecordable>(&found)) return std::move(*reason);
      add_kernel(std::move(std::get<DescribedKernel>(found)));
    }
    for (const Json& step : steps) {
      line_ = fields_.number<int>(step, "line", 0);
      if (auto reason = add_step(step)) return std::move(*reason);
      if (!wrong().empty()) return forged(wrong());
    }
    if (!wrong().empty()) return forged(wrong());
    if (const Status sound = plan::check(plan_); !sound) {
      Unrecordable reason = refusal(Kind::kLaunch, sound.error().message);
      if (const size_t step = step_named_in(reason.message, plan_.steps.size()); step < plan_.steps.size())
        reason.place = Span{description_.path, static_cast<int>(plan_.steps[step].source_line), 0, 0};
      reason.notes = sound.error().notes;
      return reason;
    }
    return std::move(plan_);
  }

 private:
  std::string wrong() const {
    const Status status = fields_.complaint("the recording", "");
    return status ? "" : status.error().message;
  }

  static Unrecordable forged(const std::string& what) {
    Unrecordable reason = refusal(Kind::kContract, "the recording is not what was recorded: " + what);
    reason.notes = {"candidates do not write the recorder's files"};
    return reason;
  }

  void buffers(const Json& root) {
    std::set<std::string> seen;
    for (const std::string& name : fields_.texts(root, "parameters")) {
      const auto it = std::find_if(workload_.arguments.begin(), workload_.arguments.end(), [&](const Argument& a) { return a.name == name; });
      if (it == workload_.arguments.end() || it->dtype.empty() || !seen.insert(name).second) return fields_.complain("parameters");
      using Is = Argument::Kind;
      plan::Buffer buffer;
      buffer.name = name;
      buffer.role = it->kind == Is::kInput ? plan::Role::kInput : it->kind == Is::kInOut ? plan::Role::kInOut : plan::Role::kOutput;
      const auto type = tensor::dtype_named(it->dtype);
      buffer.shape = it->shape;
      buffer.strides = it->strides.empty() ? plan::contiguous_strides(it->shape) : it->strides;
      const auto bytes = plan::bytes_of(it->dtype, buffer.shape, buffer.strides);
      if (!type || !bytes) return fields_.complain("parameters");
      buffer.dtype = std::string(tensor::name_of(*type));
      buffer.bytes = *bytes;
      plan_.buffers.push_back(std::move(buffer));
    }
    for (const Json& bytes : fields_.list(root, "workspace")) {
      if (!bytes.is_number_unsigned()) return fields_.complain("workspace");
      add_workspace(bytes.get<uint64_t>());
      if (plan_.buffers.size() > plan::kMaxBuffers) return;
    }
    described_buffers_ = plan_.buffers.size();
  }

  uint32_t add_workspace(uint64_t bytes) {
    plan::Buffer buffer;
    buffer.name = fmt::format("workspace {}", workspaces_++);
    buffer.bytes = bytes;
    plan_.buffers.push_back(std::move(buffer));
    return static_cast<uint32_t>(plan_.buffers.size() - 1);
  }

  void add_kernel(DescribedKernel kernel) {
    const std::string hash = plan::hash_of(kernel.ptx);
    const auto it = std::find_if(plan_.modules.begin(), plan_.modules.end(), [&](const plan::Module& m) { return m.hash == hash; });
    module_of_.push_back(static_cast<uint32_t>(it - plan_.modules.begin()));
    if (it == plan_.modules.end()) plan_.modules.push_back({std::move(kernel.ptx), hash});
    kernels_.push_back(std::move(kernel));
  }

  plan::Address address(const Json& json) {
    plan::Address address;
    address.buffer = fields_.number<uint32_t>(json, "buffer", 0);
    address.offset = fields_.number<int64_t>(json, "offset", 0);
    if (address.buffer >= described_buffers_) fields_.complain("buffer");
    return address;
  }

  std::optional<Unrecordable> add_step(const Json& json) {
    plan::Step step;
    step.source_file = description_.path;
    step.source_line = static_cast<uint32_t>(line_);
    if (json.contains("fill")) {
      const Json& described = fields_.member(json, "fill");
      plan::Fill fill;
      fill.to = address(described);
      fill.pattern = {0};
      fill.row_bytes = fields_.number<uint64_t>(described, "bytes", 0);
      step.action = std::move(fill);
    } else if (auto reason = launch(fields_.member(json, "launch"), step)) {
      return reason;
    }
    if (!plan_.steps.empty()) step.after = {static_cast<uint32_t>(plan_.steps.size() - 1)};   // all on one stream
    plan_.steps.push_back(std::move(step));
    return std::nullopt;
  }

  std::optional<Unrecordable> launch(const Json& json, plan::Step& step) {
    const auto index = fields_.number<size_t>(json, "kernel", 0);
    const Json& grid = fields_.list(json, "grid");
    if (index >= kernels_.size() || grid.size() != 3) return forged("launch");
    const DescribedKernel& kernel = kernels_[index];
    plan::Launch launch;
    launch.module = module_of_[index];
    launch.kernel = kernel.name;
    for (size_t i = 0; i < 3; ++i) {
      if (!grid[i].is_number_unsigned()) return forged("grid");
      launch.grid[i] = static_cast<uint32_t>(std::min<uint64_t>(grid[i].get<uint64_t>(), UINT32_MAX));   // more than any target's
    }
    launch.block = {kernel.threads, 1, 1};
    launch.cluster = kernel.cluster;
    launch.dynamic_shared_bytes = kernel.shared_bytes;
    launch.cooperative = kernel.cooperative;
    launch.programmatic_order = kernel.dependent;
    const auto outline = plan::remembered_outline(plan_.modules[launch.module].ptx);
    const plan::EntryOutline* entry = outline->find_entry(kernel.name);
    if (entry == nullptr) return refusal(Kind::kLaunch, fmt::format("the compiled code has no kernel '{}'", kernel.name), description_.path, line_);
    if (auto reason = arguments(fields_.list(json, "arguments"), *entry, kernel, launch)) return reason;
    step.action = std::move(launch);
    return std::nullopt;
  }

  // The parameter block as the PTX lays it out: the arguments, and behind them the pointers to scratch memory.
  std::optional<Unrecordable> arguments(const Json& list, const plan::EntryOutline& entry, const DescribedKernel& kernel, plan::Launch& launch) {
    if (list.size() > entry.params.size() || entry.params.size() - list.size() > kernel.scratch_bytes.size())
      return refusal(Kind::kLaunch, fmt::format("kernel {} takes {} parameters; the launch has {} arguments", kernel.name, entry.params.size(), list.size()),
                     description_.path, line_);
    launch.params.assign(entry.param_bytes, 0);
    const auto point = [&](const plan::ParamLayout& parameter, plan::Address target) {
      if (parameter.bytes == 8) launch.relocations.push_back({parameter.offset, std::move(target)});
      return parameter.bytes == 8;
    };
    for (size_t i = 0; i < entry.params.size(); ++i) {
      const plan::ParamLayout& parameter = entry.params[i];
      bool fits = true;
      if (i >= list.size()) {
        const uint64_t bytes = kernel.scratch_bytes[i - list.size()];
        uint64_t all = bytes;
        for (const uint32_t blocks : launch.grid) all = __builtin_mul_overflow(all, uint64_t{blocks}, &all) ? UINT64_MAX : all;
        if (bytes > 0) fits = point(parameter, {add_workspace(all), plan::Address::kNone, "", 0});
      } else if (list[i].contains("buffer")) {
        fits = point(parameter, address(list[i]));
      } else {
        const std::vector<uint8_t> value = bytes_of_hex(fields_.words(list[i], "bytes"));
        fits = value.size() == parameter.bytes && uint64_t{parameter.offset} + value.size() <= launch.params.size();
        if (fits) std::copy(value.begin(), value.end(), launch.params.begin() + parameter.offset);
      }
      if (!fits)
        return refusal(Kind::kLaunch, fmt::format("argument {} (from 0) of kernel {} is not of its parameter's {} bytes", i, kernel.name, parameter.bytes),
                       description_.path, line_);
    }
    return std::nullopt;
  }

  const Description& description_;
  const Workload& workload_;
  const FindKernel& find_;
  JsonFields fields_;
  plan::Plan plan_;
  std::vector<DescribedKernel> kernels_;
  std::vector<uint32_t> module_of_;
  size_t described_buffers_ = 0, workspaces_ = 0;
  int line_ = 0;
};

}  // namespace

Result<std::variant<plan::Plan, Unrecordable>> plan_of(const Description& description, const Workload& workload, const FindKernel& find) {
  return Builder(description, workload, find).build();
}

}  // namespace kw::toolchain
