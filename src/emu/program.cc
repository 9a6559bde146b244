// Loading a module: variables and their initial values, the functions, and kernels on first use.
#include "emu/program.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "base/check.h"
#include "base/demangle.h"
#include "emu/function_lowering.h"
#include "emu/warp.h"

namespace kw::emu {
namespace {

constexpr uint64_t kMaxVariableBytes = 4ull << 30;
constexpr uint32_t kRecursiveStackBytes = 32u << 10;   // per thread, for calls whose depth is not known

// ── Initial values (PTX ISA 5.4.4) ───────────────────────────────────────────────────────────────────────

struct InitialValue {
  const ProgramImage& image;
  const ptx::Variable& variable;
  std::vector<uint8_t>& bytes;
  uint32_t element_bytes = 1;

  Status element(const ptx::Initializer& value, uint64_t at) {
    using Kind = ptx::Initializer::Kind;
    uint64_t bits = value.bits;
    switch (value.kind) {
      case Kind::kInteger:
        if (variable.type == ptx::Type::kF32) {
          bits = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int64_t>(bits)));
        } else if (variable.type == ptx::Type::kF64) {
          bits = std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(bits)));
        }
        break;
      case Kind::kFloat:
        if (element_bytes == 4) bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
        break;
      case Kind::kSymbol:
      case Kind::kGenericSymbol:
      case Kind::kMaskedSymbol: {
        if (auto v = image.address_of.find(value.symbol); v != image.address_of.end()) {
          bits = v->second;
        } else if (auto f = image.function_index.find(value.symbol); f != image.function_index.end()) {
          bits = kCodeWindow + 16ull * f->second;
        } else {
          return fail(ErrorCode::kInvalid, "the initial value of '{}' names '{}', which is neither a global variable nor a function",
                      variable.name, value.symbol);
        }
        bits += static_cast<uint64_t>(value.offset);
        if (value.kind == Kind::kMaskedSymbol && value.mask != 0) bits = (bits & value.mask) >> std::countr_zero(value.mask);
        break;
      }
      case Kind::kList:
        return fail(ErrorCode::kInvalid, "the initial value of '{}' has a list where a value belongs", variable.name);
    }
    if (at + element_bytes > bytes.size()) {
      return fail(ErrorCode::kInvalid, "the initial value of '{}' has more elements than the variable", variable.name);
    }
    std::memcpy(bytes.data() + at, &bits, std::min<uint32_t>(element_bytes, 8));
    return {};
  }

  // `extent`: bytes that one item of a list at this level covers.
  Status fill(const ptx::Initializer& value, uint64_t at, std::span<const uint64_t> dims) {
    if (value.kind != ptx::Initializer::Kind::kList) return element(value, at);
    uint64_t extent = element_bytes;
    for (size_t i = 1; i < dims.size(); ++i) extent *= dims[i];
    for (const ptx::Initializer& item : value.list) {
      const bool nested = item.kind == ptx::Initializer::Kind::kList;
      if (nested && dims.size() < 2) {
        return fail(ErrorCode::kInvalid, "the initial value of '{}' is nested deeper than its dimensions", variable.name);
      }
      KW_TRY_VOID(fill(item, at, nested ? dims.subspan(1) : dims));
      at += nested ? extent : element_bytes;
    }
    return {};
  }
};

Result<std::vector<uint8_t>> initial_bytes(const ProgramImage& image, const ptx::Variable& variable) {
  std::vector<uint8_t> bytes(variable.size_bytes());
  if (!variable.has_initializer) return bytes;
  InitialValue value{image, variable, bytes, std::max(1u, ptx::size_bits(variable.type) / 8)};
  std::vector<uint64_t> dims = variable.dims;
  if (variable.vector > 1) dims.push_back(variable.vector);
  if (dims.empty()) dims.push_back(1);
  KW_TRY_VOID(value.fill(variable.initializer, 0, dims));
  return bytes;
}

// ── What a function refers to ────────────────────────────────────────────────────────────────────────────

struct References {
  std::vector<const ptx::Variable*> shared;
  std::vector<std::string_view> calls, addresses;
  bool indirect_calls = false;
  bool reserved_shared = false;
};

void collect(const ptx::Operand& operand, bool callee, References& out) {
  if (operand.kind == ptx::Operand::Kind::kVariable && operand.variable != nullptr &&
      operand.variable->space == ptx::Space::kShared) {
    out.shared.push_back(operand.variable);
  }
  if (operand.kind == ptx::Operand::Kind::kSpecial && operand.name.starts_with("%reserved_smem")) out.reserved_shared = true;
  if (operand.kind == ptx::Operand::Kind::kFunction) (callee ? out.calls : out.addresses).push_back(operand.name);
  for (const ptx::Operand& element : operand.elements) collect(element, false, out);
}

void collect(const ptx::Block& block, References& out) {
  for (const ptx::Statement& statement : block.statements) {
    if (const auto* nested = std::get_if<ptx::BlockPtr>(&statement)) {
      collect(**nested, out);
    } else if (const auto* instruction = std::get_if<ptx::Instruction>(&statement)) {
      bool callee = instruction->opcode == "call";
      for (const ptx::Operand& operand : instruction->operands) {
        const bool here = callee && operand.kind != ptx::Operand::Kind::kList;
        if (here && operand.kind == ptx::Operand::Kind::kRegister) out.indirect_calls = true;
        collect(operand, here, out);
        if (here) callee = false;
      }
    } else if (const auto* variable = std::get_if<const ptx::Variable*>(&statement)) {
      // Declared in the kernel: its space is taken whether or not an instruction names it.
      if ((*variable)->space == ptx::Space::kShared) out.shared.push_back(*variable);
    }
  }
}

void initializer_functions(const ProgramImage& image, const ptx::Initializer& value, std::vector<uint32_t>& out) {
  if (!value.symbol.empty()) {
    if (auto it = image.function_index.find(value.symbol); it != image.function_index.end()) out.push_back(it->second);
  }
  for (const ptx::Initializer& item : value.list) initializer_functions(image, item, out);
}

Result<SharedLayout> layout_shared(const std::vector<const ptx::Variable*>& variables) {
  SharedLayout layout;
  uint64_t end = 0;
  std::unordered_map<std::string_view, uint32_t> by_name;   // declarations of one extern array
  uint32_t dynamic_align = 16;
  for (const ptx::Variable* v : variables) {
    const uint32_t align = std::clamp<uint32_t>(v->align_bytes(), 1, 1024);
    if (v->size_bytes() == 0) { dynamic_align = std::max(dynamic_align, align); continue; }
    if (layout.offset.contains(v)) continue;
    end = (end + align - 1) / align * align;
    layout.offset.emplace(v, static_cast<uint32_t>(end));
    end += std::min<uint64_t>(v->size_bytes(), 1u << 30);
    if (end > (1u << 30)) return fail(ErrorCode::kLimit, "'{}' makes static shared memory larger than any GPU has", v->name);
  }
  const bool dynamic = std::any_of(variables.begin(), variables.end(), [](auto* v) { return v->size_bytes() == 0; });
  if (dynamic && end != 0) end = (end + dynamic_align - 1) / dynamic_align * dynamic_align;
  for (const ptx::Variable* v : variables) {
    if (v->size_bytes() == 0) layout.offset.emplace(v, static_cast<uint32_t>(end));
  }
  layout.static_bytes = static_cast<uint32_t>(end);
  return layout;
}

// Local memory per thread below `function`, its own frame included; 0 when the chain of calls may recur.
uint32_t stack_depth(const KernelImage& kernel, uint32_t function, std::vector<uint8_t>& on_path, uint32_t depth, uint32_t& budget) {
  const Code& code = *kernel.codes.at(function);
  if (on_path[function] != 0 || depth > 512 || budget == 0) return 0;
  --budget;
  on_path[function] = 1;
  uint32_t deepest = 0;
  bool recurs = false;
  for (uint32_t callee : code.callees) {
    const uint32_t below = stack_depth(kernel, callee, on_path, depth + 1, budget);
    recurs = recurs || below == 0;
    deepest = std::max(deepest, below);
  }
  on_path[function] = 0;
  if (recurs) return 0;
  return (code.local_bytes + 15) / 16 * 16 + 16 + deepest;
}

std::array<uint64_t, 3> limit_values(const ptx::Function& f, std::string_view name) {
  std::array<uint64_t, 3> values{0, 0, 0};
  for (const auto& limit : f.limits) {
    if (limit.name != name) continue;
    for (size_t i = 0; i < 3; ++i) values[i] = i < limit.values.size() ? limit.values[i] : 1;
  }
  return values;
}

void describe(KernelImage& kernel) {
  const ptx::Function& f = *kernel.function;
  KernelInfo& info = kernel.info;
  info.name = f.name;
  for (const ptx::Variable* v : f.params) {
    info.params.push_back({std::string(v->name), kernel.params.offset.at(v), static_cast<uint32_t>(v->size_bytes()), v->align_bytes()});
  }
  info.param_bytes = kernel.params.bytes;
  info.static_shared_bytes = kernel.shared.static_bytes;
  info.local_bytes = kernel.entry->local_bytes;
  for (const char* name : {"maxntid", "reqntid"}) {
    const auto v = limit_values(f, name);
    if (v[0] != 0) info.max_threads = static_cast<uint32_t>(std::min<uint64_t>(v[0] * v[1] * v[2], 1u << 20));
  }
  const auto cluster = limit_values(f, "reqnctapercluster");
  for (size_t i = 0; i < 3; ++i) info.required_cluster[i] = static_cast<uint32_t>(std::min<uint64_t>(cluster[i], 1u << 20));
  info.order_sensitive = kernel.order_sensitive;
  info.register_slots = kernel.entry->constant_begin / 128;
  info.register_bytes_per_warp = kernel.entry->bank_bytes;
}

Result<std::unique_ptr<KernelImage>> lower_kernel(const ProgramImage& image, uint32_t entry, bool observed) {
  auto kernel = std::make_unique<KernelImage>();
  kernel->function = image.functions[entry];
  kernel->params = layout_params(kernel->function->params);
  std::vector<uint32_t> order{entry};
  std::unordered_set<uint32_t> seen{entry};
  std::vector<const ptx::Variable*> shared;
  bool reserved = false;
  auto reach = [&](uint32_t index) {
    if (image.functions[index]->has_body && !image.functions[index]->is_entry && seen.insert(index).second) order.push_back(index);
  };
  for (size_t i = 0; i < order.size(); ++i) {
    References references;
    collect(image.functions[order[i]]->body, references);
    shared.insert(shared.end(), references.shared.begin(), references.shared.end());
    reserved = reserved || references.reserved_shared;
    for (std::string_view name : references.calls) {
      if (auto it = image.function_index.find(name); it != image.function_index.end()) reach(it->second);
    }
    if (references.indirect_calls) {
      kernel->has_indirect_calls = true;
      for (uint32_t index : image.address_taken) reach(index);
    }
  }
  KW_TRY(kernel->shared, layout_shared(shared));
  kernel->shared.reserved = reserved;
  for (uint32_t index : order) {
    KW_TRY(auto code, lower_function(image, kernel->shared, index, observed));
    kernel->order_sensitive = kernel->order_sensitive || code->communicates;
    kernel->max_bank_bytes = std::max(kernel->max_bank_bytes, code->bank_bytes);
    kernel->codes.emplace(index, std::move(code));
  }
  kernel->entry = kernel->codes.at(entry).get();
  std::vector<uint8_t> on_path(image.functions.size(), 0);
  uint32_t budget = 100'000;
  const uint32_t known = kernel->has_indirect_calls ? 0 : stack_depth(*kernel, entry, on_path, 0, budget);
  kernel->stack_bytes = known != 0 ? known : (kernel->entry->local_bytes + 15) / 16 * 16 + kRecursiveStackBytes;
  if (kernel->codes.size() == 1) kernel->stack_bytes = (kernel->entry->local_bytes + 15) / 16 * 16;
  const bool grows = std::any_of(kernel->codes.begin(), kernel->codes.end(), [](const auto& c) { return c.second->allocates_stack; });
  if (grows) kernel->stack_bytes += kRecursiveStackBytes;
  describe(*kernel);
  return kernel;
}

}  // namespace

Program::~Program() {
  if (impl_ == nullptr) return;
  for (const auto& global : impl_->globals) (void)impl_->image.memory->free(global.address);
}

Result<std::unique_ptr<Program>> Program::load(std::shared_ptr<const ptx::Module> module, Memory& memory) {
#ifdef KW_EMU_NEEDS_AVX2
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c")) {
    return fail(ErrorCode::kUnsupported, "this processor lacks AVX2, FMA or F16C; build with -DKW_BASELINE=ON to run here");
  }
#endif
  KW_CHECK(module != nullptr);
  if (module->address_size != 64) {
    return fail(ErrorCode::kUnsupported, "'{}' has .address_size {}; only 64 is supported", module->file_name, module->address_size);
  }
  std::unique_ptr<Program> program(new Program);
  program->impl_ = std::make_unique<Impl>();
  ProgramImage& image = program->impl_->image;
  image.module = module;
  image.memory = &memory;
  for (const ptx::Function& f : module->functions) {
    auto [it, fresh] = image.function_index.try_emplace(f.name, static_cast<uint32_t>(image.functions.size()));
    if (fresh) {
      image.functions.push_back(&f);
    } else if (f.has_body) {
      image.functions[it->second] = &f;
    }
  }
  for (const ptx::Variable& v : module->variables) {
    if (v.space != ptx::Space::kGlobal && v.space != ptx::Space::kConst) continue;
    if (v.is_extern || image.address_of.contains(v.name)) continue;
    if (v.size_bytes() > kMaxVariableBytes) {
      return fail(ErrorCode::kLimit, "variable '{}' has {} bytes; the limit is {}", v.name, v.size_bytes(), kMaxVariableBytes);
    }
    KW_TRY(uint64_t address, memory.allocate(v.size_bytes(), readable_name(v.name), std::max<uint64_t>(v.align_bytes(), 16),
                                             v.space == ptx::Space::kConst));
    image.address_of.emplace(v.name, address);
    program->impl_->globals.push_back({&v, address});
  }
  std::vector<uint32_t>& taken = image.address_taken;
  for (const ptx::Variable& v : module->variables) initializer_functions(image, v.initializer, taken);
  for (const ptx::Function& f : module->functions) {
    References references;
    collect(f.body, references);
    for (std::string_view name : references.addresses) {
      if (auto it = image.function_index.find(name); it != image.function_index.end()) taken.push_back(it->second);
    }
  }
  std::sort(taken.begin(), taken.end());
  taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
  KW_TRY_VOID(program->reset_variables());
  return program;
}

Status Program::reset_variables() {
  for (const Impl::Global& global : impl_->globals) {
    KW_TRY(auto bytes, initial_bytes(impl_->image, *global.variable));
    if (!bytes.empty()) KW_TRY_VOID(impl_->image.memory->write(global.address, bytes.data(), bytes.size()));
  }
  return {};
}

std::vector<std::string> Program::kernel_names() const {
  std::vector<std::string> names;
  for (const ptx::Function* f : impl_->image.functions) {
    if (f->is_entry && f->has_body) names.emplace_back(f->name);
  }
  return names;
}

Result<const KernelImage*> Program::Impl::kernel(std::string_view name, bool observed) {
  const std::lock_guard lock(mutex);
  auto key = std::make_pair(std::string(name), observed);
  if (auto it = kernels.find(key); it != kernels.end()) return it->second.get();
  auto it = image.function_index.find(name);
  if (it == image.function_index.end() || !image.functions[it->second]->is_entry || !image.functions[it->second]->has_body) {
    auto error = fail(ErrorCode::kNotFound, "there is no kernel '{}' in '{}'", name, image.module->file_name);
    std::string known;
    for (const ptx::Function* f : image.functions) {
      if (f->is_entry && known.size() < 500) known += fmt::format("{}{}", known.empty() ? "" : ", ", f->name);
    }
    error.value().notes.push_back(known.empty() ? "the module has no kernels" : "kernels: " + known);
    return error;
  }
  KW_TRY(auto kernel, lower_kernel(image, it->second, observed));
  return kernels.emplace(std::move(key), std::move(kernel)).first->second.get();
}

Result<KernelInfo> Program::kernel(std::string_view name) const {
  KW_TRY(const KernelImage* kernel, impl_->kernel(name, false));
  return kernel->info;
}

Result<Program::Symbol> Program::symbol(std::string_view name) const {
  for (const Impl::Global& global : impl_->globals) {
    if (global.variable->name == name) {
      return Symbol{global.address, global.variable->size_bytes(), global.variable->space == ptx::Space::kConst};
    }
  }
  return fail(ErrorCode::kNotFound, "there is no variable '{}' in '{}'", name, impl_->image.module->file_name);
}

const ptx::Module& Program::module() const { return *impl_->image.module; }
Memory& Program::memory() const { return *impl_->image.memory; }

}  // namespace kw::emu
