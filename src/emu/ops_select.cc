// Selection by a predicate or a sign: selp and slct, PTX ISA section 9.7.6.
#include "emu/float_lane.h"
#include "emu/form.h"

namespace kw::emu {
namespace {

using ptx::Type;

template <typename T>
constexpr auto kSelp = [](T a, T b, bool p) -> T { return p ? a : b; };
#if defined(__AVX2__)
constexpr auto kSelp8 = [](__m256i a, __m256i b, __m256i p) -> __m256i { return _mm256_blendv_epi8(b, a, p); };
constexpr const LaneOp* kSelp32 = &vector_op<kSelp<uint32_t>, kSelp8>;
#else
constexpr const LaneOp* kSelp32 = &lane_op<kSelp<uint32_t>>;
#endif
template <typename T>
constexpr auto kSlctInteger = [](T a, T b, int32_t c) -> T { return c >= 0 ? a : b; };
template <typename T, bool kFtz>
constexpr auto kSlctFloat = [](T a, T b, float c) -> T { return flush_if<kFtz>(c) >= 0.0f ? a : b; };   // NaN: b

const LaneOp* selp_op(unsigned bits) {
  return bits == 16 ? &lane_op<kSelp<uint16_t>> : bits == 32 ? kSelp32
         : bits == 64 ? &lane_op<kSelp<uint64_t>> : nullptr;
}
bool is_selectable(Type type) {
  switch (type) {
    case Type::kB16: case Type::kB32: case Type::kB64: case Type::kU16: case Type::kU32: case Type::kU64:
    case Type::kS16: case Type::kS32: case Type::kS64: case Type::kF32: case Type::kF64: return true;
    default: return false;
  }
}

Status lower_selp(Lowering& l) {
  Form form(l.instruction());
  const Type type = form.take_type();
  const LaneOp* op = is_selectable(type) ? selp_op(ptx::size_bits(type)) : nullptr;
  if (!op || !form.done()) return l.unsupported();
  return emit_op(l, *op, Counters::kMove);
}

Status lower_slct(Lowering& l) {
  Form form(l.instruction());
  const bool ftz = form.take("ftz");
  const Type type = form.take_type(), by = form.take_type();
  if (!is_selectable(type) || !form.done()) return l.unsupported();
  const unsigned bits = ptx::size_bits(type);
  const LaneOp* op = nullptr;
  if (by == Type::kS32 && !ftz)
    op = bits == 16 ? &lane_op<kSlctInteger<uint16_t>> : bits == 32 ? &lane_op<kSlctInteger<uint32_t>> : &lane_op<kSlctInteger<uint64_t>>;
  else if (by == Type::kF32 && ftz)
    op = bits == 16 ? &lane_op<kSlctFloat<uint16_t, true>> : bits == 32 ? &lane_op<kSlctFloat<uint32_t, true>> : &lane_op<kSlctFloat<uint64_t, true>>;
  else if (by == Type::kF32)
    op = bits == 16 ? &lane_op<kSlctFloat<uint16_t, false>> : bits == 32 ? &lane_op<kSlctFloat<uint32_t, false>> : &lane_op<kSlctFloat<uint64_t, false>>;
  if (!op) return l.unsupported();
  return emit_op(l, *op, Counters::kMove);
}

constexpr OpEntry kOps[] = {{"selp", nullptr, lower_selp}, {"slct", nullptr, lower_slct}};

}  // namespace

std::span<const OpEntry> select_ops() { return kOps; }

}  // namespace kw::emu
