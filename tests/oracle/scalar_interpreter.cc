#include "oracle/scalar_interpreter.h"

#include "oracle/scalar_machine.h"

namespace kw::oracle {
namespace {

constexpr uint64_t kMaxSteps = 2'000'000;

void flatten(const ptx::Block& block, Flat& flat) {
  for (const auto& statement : block.statements) {
    if (const auto* instruction = std::get_if<Instruction>(&statement)) {
      flat.code.push_back(instruction);
    } else if (const auto* label = std::get_if<ptx::LabelDefinition>(&statement)) {
      flat.labels[label->id] = flat.code.size();
    } else if (const auto* variable = std::get_if<const ptx::Variable*>(&statement)) {
      const uint64_t align = (*variable)->align_bytes();
      flat.shared_bytes = (flat.shared_bytes + align - 1) / align * align;
      flat.shared[*variable] = flat.shared_bytes;
      flat.shared_bytes += (*variable)->size_bytes();
    } else if (const auto* inner = std::get_if<ptx::BlockPtr>(&statement)) {
      flatten(**inner, flat);
    }
  }
}

Type last_type(const Instruction& i) {
  for (size_t k = i.modifiers.size(); k-- > 0;) {
    const Type type = ptx::type_named(i.modifiers[k]);
    if (type != Type::kNone) return type;
  }
  return Type::kNone;
}

}  // namespace

Status Machine::memory(Thread& t, const Instruction& i, Type type) {
  const bool store = i.opcode == "st";
  const Operand& place = i.operands[store ? 0 : 1];
  const unsigned bytes = bits(type) / 8;
  if (i.has("param")) {
    if (!store) write(t, i.operands[0], kBufferAddress, type);
    return {};
  }
  const Operand& base = place.elements.front();
  uint64_t address = read(t, base, Type::kU64) + static_cast<uint64_t>(place.offset);
  std::vector<uint8_t>& space = i.has("shared") ? shared : buffer;
  if (i.has("shared")) address = cut(address, 32);
  else address -= kBufferAddress;
  const Operand& value = i.operands[store ? 1 : 0];
  std::vector<Operand> one{value};
  const std::vector<Operand>& parts = value.kind == Operand::Kind::kVector ? value.elements : one;
  for (const Operand& part : parts) {
    if (address > space.size() || space.size() - address < bytes) return fail(ErrorCode::kInvalid, "oracle: out of bounds: {}", i.full_name());
    uint64_t raw = 0;
    if (store) {
      raw = read(t, part, type);
      std::memcpy(space.data() + address, &raw, bytes);
    } else {
      std::memcpy(&raw, space.data() + address, bytes);
      const unsigned held = bits(function.registers[part.id].type);
      t.registers[part.id] = is_signed(type) ? cut(static_cast<uint64_t>(sign_extended(raw, bits(type))), held) : raw;
    }
    address += bytes;
  }
  return {};
}

Status Machine::step(Thread& t) {
  const Instruction& i = *flat.code[t.pc];
  if (i.guard.present && ((t.registers[i.guard.register_id] != 0) == i.guard.negated)) {
    ++t.pc;
    return {};
  }
  const std::string_view op = i.opcode;
  if (op == "ret" || op == "exit") {
    t.done = true;
    return {};
  }
  if (op == "bar" || op == "shfl" || op == "vote") {
    t.waiting = true;
    return {};
  }
  if (op == "bra") {
    t.pc = flat.labels.at(i.operands[0].id);
    return {};
  }
  ++t.pc;
  const Type type = last_type(i);
  if (op == "ld" || op == "st") return memory(t, i, type);
  if (op == "cvt") return convert(t, i);
  if (op == "mov" && i.operands[1].kind != Operand::Kind::kVector && i.operands[0].kind != Operand::Kind::kVector) {
    write(t, i.operands[0], read(t, i.operands[1], type), type);
    return {};
  }
  if (op == "mov") {
    uint64_t whole = 0;
    const bool pack = i.operands[1].kind == Operand::Kind::kVector;
    const auto& parts = i.operands[pack ? 1 : 0].elements;
    const unsigned width = bits(type) / static_cast<unsigned>(parts.size());
    if (!pack) whole = read(t, i.operands[1], type);
    for (size_t k = 0; k < parts.size(); ++k) {
      if (pack) whole |= cut(read(t, parts[k], type), width) << (k * width);
      else if (parts[k].kind == Operand::Kind::kRegister) t.registers[parts[k].id] = cut(whole >> (k * width), width);
    }
    if (pack) write(t, i.operands[0], whole, type);
    return {};
  }
  if (op == "setp") {
    bool p = compare(i, read(t, i.operands[1], type), read(t, i.operands[2], type), type), q = !p;
    if (i.operands.size() > 3) {
      const bool c = truth(t, i.operands[3]);
      for (bool* x : {&p, &q}) *x = i.has("and") ? *x && c : i.has("or") ? *x || c : *x != c;
    }
    const Operand& d = i.operands[0];
    if (d.kind == Operand::Kind::kPair) {
      t.registers[d.elements[0].id] = p;
      t.registers[d.elements[1].id] = q;
    } else {
      t.registers[d.id] = p;
    }
    return {};
  }
  if (op == "selp") {
    write(t, i.operands[0], read(t, i.operands[truth(t, i.operands[3]) ? 1 : 2], type), type);
    return {};
  }
  if (type == Type::kPred) {
    const bool a = truth(t, i.operands[1]);
    const bool b = i.operands.size() > 2 && truth(t, i.operands[2]);
    if (op != "and" && op != "or" && op != "xor" && op != "not") return lacks(i);
    t.registers[i.operands[0].id] = op == "and" ? a && b : op == "or" ? a || b : op == "xor" ? a != b : !a;
    return {};
  }
  return is_float(type) ? float_arithmetic(t, i, type) : arithmetic(t, i, type);
}

// All threads of the warp stand at the same shuffle or vote.
Status Machine::collective(std::vector<Thread*>& warp) {
  const Instruction& i = *flat.code[warp.front()->pc];
  for (const Thread* t : warp) {
    if (t->pc != warp.front()->pc) return fail(ErrorCode::kUnsupported, "oracle: divergent collective");
  }
  std::vector<uint64_t> out(warp.size());
  if (i.opcode == "vote") {
    uint64_t ballot = 0;
    for (size_t k = 0; k < warp.size(); ++k) ballot |= uint64_t{truth(*warp[k], i.operands[1])} << k;
    const uint64_t all = warp.size() == 32 ? 0xffffffffu : (uint64_t{1} << warp.size()) - 1;
    const uint64_t value = i.has("ballot") ? ballot : i.has("all") ? ballot == all : i.has("any") ? ballot != 0 : ballot == all || ballot == 0;
    std::fill(out.begin(), out.end(), value);
  } else {
    for (size_t k = 0; k < warp.size(); ++k) {
      const uint64_t b = read(*warp[k], i.operands[2], Type::kB32) & 31, c = read(*warp[k], i.operands[3], Type::kB32);
      const uint64_t segment = (c >> 8) & 31, clamp = c & 31;
      const uint64_t top = (k & segment) | (clamp & ~segment), bottom = k & segment;
      int64_t from;
      bool valid;
      if (i.has("up")) { from = static_cast<int64_t>(k) - static_cast<int64_t>(b); valid = from >= static_cast<int64_t>(top); }
      else if (i.has("down")) { from = static_cast<int64_t>(k + b); valid = from <= static_cast<int64_t>(top); }
      else if (i.has("bfly")) { from = static_cast<int64_t>(k ^ b); valid = from <= static_cast<int64_t>(top); }
      else { from = static_cast<int64_t>(bottom | (b & ~segment)); valid = from <= static_cast<int64_t>(top); }
      if (!valid) from = static_cast<int64_t>(k);
      out[k] = read(*warp[static_cast<size_t>(from)], i.operands[1], Type::kB32);
    }
  }
  for (size_t k = 0; k < warp.size(); ++k) {
    warp[k]->registers[i.operands[0].id] = out[k];
    warp[k]->waiting = false;
    ++warp[k]->pc;
  }
  return {};
}

Status Machine::run() {
  uint64_t steps = 0;
  for (;;) {
    bool moved = false;
    for (Thread& t : threads) {
      while (!t.done && !t.waiting) {
        if (t.pc >= flat.code.size()) {
          t.done = true;
          break;
        }
        KW_TRY_VOID(step(t));
        moved = true;
        if (++steps > kMaxSteps) return fail(ErrorCode::kLimit, "oracle: too many steps");
      }
    }
    for (size_t begin = 0; begin < threads.size(); begin += 32) {
      std::vector<Thread*> warp;
      bool ready = true;
      for (size_t k = begin; k < std::min(threads.size(), begin + 32); ++k) {
        if (threads[k].done) continue;
        ready = ready && threads[k].waiting && flat.code[threads[k].pc]->opcode != "bar";
        warp.push_back(&threads[k]);
      }
      if (!ready || warp.empty()) continue;
      KW_TRY_VOID(collective(warp));
      moved = true;
    }
    if (moved) continue;
    bool any = false;
    for (Thread& t : threads) {
      if (t.done) continue;
      if (flat.code[t.pc]->opcode != "bar") return fail(ErrorCode::kInvalid, "oracle: stuck");
      any = true;
    }
    if (!any) return {};
    for (Thread& t : threads) {
      if (t.done) continue;
      t.waiting = false;
      ++t.pc;
    }
  }
}

Status run_scalar(const ptx::Module& module, uint32_t threads, std::vector<uint8_t>& buffer) {
  const ptx::Function* function = nullptr;
  for (const auto& f : module.functions) {
    if (f.is_entry && f.has_body) function = &f;
  }
  if (function == nullptr) return fail(ErrorCode::kInvalid, "oracle: no kernel");
  Machine machine{module, *function, {}, buffer, {}, {}};
  flatten(function->body, machine.flat);
  machine.shared.resize(machine.flat.shared_bytes);
  for (uint32_t k = 0; k < threads; ++k) {
    Thread thread;
    thread.index = k;
    thread.registers.resize(function->registers.size());
    machine.threads.push_back(std::move(thread));
  }
  return machine.run();
}

}  // namespace kw::oracle
