// Consistency of a plan: what a device may rely on. The target's numbers come from arch.
#include <algorithm>

#include "base/demangle.h"
#include "plan/limits.h"
#include "plan/plan.h"
#include "plan/ptx_outline.h"

namespace kw::plan {
namespace {

// A pointer in a parameter block is not dereferenced here, and a kernel may be handed one that lies outside
// its buffer (a base that is indexed from 1, the end of the last row). Beyond this it is a mistake.
constexpr int64_t kMaxPointerOffset = int64_t{1} << 41;

class Checker {
 public:
  explicit Checker(const Plan& plan) : plan_(plan) {}

  Status run() {
    if (plan_.modules.size() > kMaxModules || plan_.buffers.size() > kMaxBuffers || plan_.steps.size() > kMaxSteps)
      return fail(ErrorCode::kLimit, "the plan has more modules, buffers or steps than a plan may have");
    KW_TRY(target_, arch::find_target(plan_.target));
    for (size_t i = 0; i < plan_.modules.size(); ++i) KW_TRY_VOID(module(i));
    for (size_t i = 0; i < plan_.buffers.size(); ++i) KW_TRY_VOID(buffer(i));
    for (size_t i = 0; i < plan_.steps.size(); ++i) KW_TRY_VOID(step(i));
    for (const uint32_t index : plan_.unjoined)
      if (index >= plan_.steps.size()) return fail(ErrorCode::kInvalid, "unjoined: there is no step {}", index);
    return {};
  }

 private:
  Status module(size_t index) {
    const Module& module = plan_.modules[index];
    if (module.hash != hash_of(module.ptx))
      return fail(ErrorCode::kInvalid, "module {}: the hash {} is not that of its PTX ({}); the text was altered", index,
                  module.hash, hash_of(module.ptx));
    outlines_.push_back(remembered_outline(module.ptx));
    if (outlines_.back()->target.empty())
      return fail(ErrorCode::kInvalid, "module {}: the PTX has no .target", index);
    const auto own = arch::find_target(outlines_.back()->target);   // one that is not known is the verifier's affair
    if (own && !(*own)->runs_on(*target_))
      return fail(ErrorCode::kInvalid, "module {}: its PTX is for {}, which {} does not run", index, (*own)->name, target_->name);
    return {};
  }

  Status buffer(size_t index) const {
    const Buffer& buffer = plan_.buffers[index];
    if (buffer.name.empty()) return fail(ErrorCode::kInvalid, "buffer {} has no name", index);
    for (size_t other = 0; other < index && plan_.buffers.size() <= 2000; ++other)
      if (plan_.buffers[other].name == buffer.name)
        return fail(ErrorCode::kInvalid, "two buffers are called '{}'", buffer.name);
    if (buffer.bytes > kMaxBufferBytes)
      return fail(ErrorCode::kLimit, "buffer '{}': {} bytes is more than {}", buffer.name, buffer.bytes, kMaxBufferBytes);
    if (buffer.dtype.empty()) {
      if (buffer.role != Role::kWorkspace)
        return fail(ErrorCode::kInvalid, "buffer '{}': an {} needs a dtype, a shape and strides", buffer.name, name_of(buffer.role));
      return {};
    }
    auto bytes = bytes_of(buffer.dtype, buffer.shape, buffer.strides);
    if (!bytes) return fail(ErrorCode::kInvalid, "buffer '{}': {}", buffer.name, bytes.error().message);
    if (*bytes > buffer.bytes)
      return fail(ErrorCode::kInvalid, "buffer '{}': its shape and strides span {} bytes but it has {}", buffer.name, *bytes,
                  buffer.bytes);
    return {};
  }

  // The size of what `address` points into, by name for messages.
  struct Object {
    std::string name;
    uint64_t bytes = 0;
    bool read_only = false;
  };
  Result<Object> object(const std::string& where, const Address& address) const {
    if (address.in_buffer()) {
      if (address.buffer >= plan_.buffers.size()) return fail(ErrorCode::kInvalid, "{}: there is no buffer {}", where, address.buffer);
      const Buffer& buffer = plan_.buffers[address.buffer];
      return Object{fmt::format("buffer '{}'", buffer.name), buffer.bytes, buffer.role == Role::kInput};
    }
    if (address.module >= plan_.modules.size()) return fail(ErrorCode::kInvalid, "{}: there is no module {}", where, address.module);
    const VariableOutline* variable = outlines_[address.module]->find_variable(address.variable);
    if (variable == nullptr || variable->is_extern)
      return fail(ErrorCode::kInvalid, "{}: module {} defines no variable '{}'", where, address.module, address.variable);
    return Object{fmt::format("variable '{}'", address.variable), variable->bytes, false};
  }

  // [address, address + rows) must lie inside its object.
  Status range(const std::string& where, const Address& address, uint64_t row_bytes, uint64_t rows, uint64_t pitch,
               bool written) const {
    KW_TRY(const Object target, object(where, address));
    if (written && target.read_only)
      return fail(ErrorCode::kInvalid, "{}: writes to {}, which is an input; take it as kw::InOut if the problem updates it in place",
                  where, target.name);
    if (rows > 1 && pitch < row_bytes)
      return fail(ErrorCode::kInvalid, "{}: a pitch of {} bytes is less than a row of {}", where, pitch, row_bytes);
    if (rows == 0 || row_bytes == 0) return {};
    uint64_t extent = 0;
    if (__builtin_mul_overflow(rows - 1, pitch, &extent) || __builtin_add_overflow(extent, row_bytes, &extent) ||
        address.offset < 0 || static_cast<uint64_t>(address.offset) > target.bytes ||
        extent > target.bytes - static_cast<uint64_t>(address.offset))
      return fail(ErrorCode::kInvalid, "{}: {} bytes at offset {} lie outside {} ({} bytes)", where, extent, address.offset,
                  target.name, target.bytes);
    return {};
  }

  Status relocations(const std::string& where, const std::vector<Relocation>& list, const std::vector<uint8_t>& block) const {
    uint64_t next = 0;
    for (const Relocation& relocation : list) {
      if (relocation.offset < next)
        return fail(ErrorCode::kInvalid, "{}: pointers must be sorted and must not overlap (offset {})", where, relocation.offset);
      next = uint64_t{relocation.offset} + 8;
      if (next > block.size())
        return fail(ErrorCode::kInvalid, "{}: a pointer at offset {} does not fit a block of {} bytes", where, relocation.offset,
                    block.size());
      for (size_t i = relocation.offset; i < next; ++i)
        if (block[i] != 0)
          return fail(ErrorCode::kInvalid, "{}: the bytes of the pointer at offset {} must be zero", where, relocation.offset);
      KW_TRY(const Object target, object(where, relocation.target));
      (void)target;
      if (relocation.target.offset < -kMaxPointerOffset || relocation.target.offset > kMaxPointerOffset)
        return fail(ErrorCode::kInvalid, "{}: the pointer at offset {} is {} bytes away from its buffer", where,
                    relocation.offset, relocation.target.offset);
    }
    return {};
  }

  Status step(size_t index) const {
    const Step& step = plan_.steps[index];
    std::string where = fmt::format("step {}", index);
    if (step.source_line != 0) where += fmt::format(" ({}:{})", step.source_file, step.source_line);
    for (const uint32_t before : step.after)
      if (before >= index)
        return fail(ErrorCode::kInvalid, "{}: comes after step {}, which is not an earlier one", where, before);
    if (const auto* launch = std::get_if<Launch>(&step.action)) return this->launch(where, *launch);
    if (const auto* fill = std::get_if<Fill>(&step.action)) {
      if (fill->pattern.size() != 1 && fill->pattern.size() != 2 && fill->pattern.size() != 4)
        return fail(ErrorCode::kInvalid, "{}: a fill pattern has 1, 2 or 4 bytes, not {}", where, fill->pattern.size());
      if (fill->row_bytes % fill->pattern.size() != 0)
        return fail(ErrorCode::kInvalid, "{}: {} bytes are not a multiple of the pattern's {}", where, fill->row_bytes, fill->pattern.size());
      return range(where, fill->to, fill->row_bytes, fill->rows, fill->pitch, true);
    }
    if (const auto* copy = std::get_if<Copy>(&step.action)) {
      KW_TRY_VOID(range(where, copy->from, copy->row_bytes, copy->rows, copy->from_pitch, false));
      return range(where, copy->to, copy->row_bytes, copy->rows, copy->to_pitch, true);
    }
    const auto& write = std::get<Write>(step.action);
    KW_TRY_VOID(range(where, write.to, write.data.size(), 1, 0, true));
    return relocations(where, write.relocations, write.data);
  }

  Status launch(const std::string& where, const Launch& launch) const {
    if (launch.module >= plan_.modules.size()) return fail(ErrorCode::kInvalid, "{}: there is no module {}", where, launch.module);
    const EntryOutline* entry = outlines_[launch.module]->find_entry(launch.kernel);
    if (entry == nullptr)
      return fail(ErrorCode::kInvalid, "{}: module {} has no kernel '{}'", where, launch.module, readable_name(launch.kernel));
    if (launch.params.size() != entry->param_bytes)
      return fail(ErrorCode::kInvalid, "{}: {} takes {} bytes of parameters, not {}", where, readable_name(launch.kernel), entry->param_bytes,
                  launch.params.size());
    KW_TRY_VOID(relocations(where, launch.relocations, launch.params));
    for (const uint32_t offset : launch.tensor_maps)
      if (offset % 64 != 0 || uint64_t{offset} + 128 > launch.params.size())
        return fail(ErrorCode::kInvalid, "{}: a tensor map at offset {} does not fit the parameter block", where, offset);
    return check_launch(where, launch, *entry, *target_);
  }

  const Plan& plan_;
  const arch::Target* target_ = nullptr;
  std::vector<std::shared_ptr<const PtxOutline>> outlines_;
};

}  // namespace

Status check(const Plan& plan) { return Checker(plan).run(); }

}  // namespace kw::plan
