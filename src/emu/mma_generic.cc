// The path that serves every form: registers → matrices by the plan's tables, a plain product, and back.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "emu/mma_plan.h"
#include "tensor/dtype.h"

namespace kw::emu {
namespace {

constexpr unsigned kMostMultiplicands = 1024;   // m16n8k128: A as stored, and B
constexpr unsigned kMostResults = 512;

struct Call {
  Warp& warp;
  const Insn& insn;
  const MmaPlan& plan;
  const uint32_t* registers(Part part) const { return insn.more + plan.first(part); }
};

// matrix[…] = decode(bits) for every element of a part.
template <typename T, typename Decode>
void unpack(const Call& call, Part part, T* matrix, Decode decode) {
  const FragmentSize size = call.plan.of(part);
  const uint16_t* at = call.plan.element[static_cast<size_t>(part)].data();
  const unsigned bits = bits_of(element_of(call.plan.form, part));
  const uint64_t low = bits == 64 ? ~0ull : (1ull << bits) - 1;
  for (unsigned reg = 0; reg < size.registers; ++reg) {
    const uint32_t offset = call.registers(part)[reg];
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t word =
          size.register_bytes == 8 ? call.warp.reg<uint64_t>(offset)[lane] : call.warp.reg<uint32_t>(offset)[lane];
      for (unsigned e = 0; e < size.per_register; ++e) matrix[*at++] = decode(word >> (e * bits) & low);
    }
  }
}

template <typename T, typename Encode>
void pack(const Call& call, const T* matrix, Encode encode) {
  const FragmentSize size = call.plan.of(Part::kD);
  const uint16_t* at = call.plan.element[static_cast<size_t>(Part::kD)].data();
  const unsigned bits = bits_of(call.plan.form.d);
  for (unsigned reg = 0; reg < size.registers; ++reg) {
    const uint32_t offset = call.registers(Part::kD)[reg];
    for (int lane = 0; lane < kLanes; ++lane) {
      uint64_t word = 0;
      for (unsigned e = 0; e < size.per_register; ++e) word |= encode(matrix[*at++]) << (e * bits);
      if ((call.warp.exec >> lane & 1) == 0) continue;
      if (size.register_bytes == 8) call.warp.reg<uint64_t>(offset)[lane] = word;
      else call.warp.reg<uint32_t>(offset)[lane] = static_cast<uint32_t>(word);
    }
  }
}

float to_float(Element element, uint64_t bits) {
  switch (element) {
    case Element::kF16: return tensor::f16_to_f32(static_cast<uint16_t>(bits));
    case Element::kBF16: return tensor::bf16_to_f32(static_cast<uint16_t>(bits));
    case Element::kTF32: return std::bit_cast<float>(static_cast<uint32_t>(bits) & 0xffffe000u);
    case Element::kE4M3: return tensor::decode_table(tensor::DType::kE4M3)[bits];
    case Element::kE5M2: return tensor::decode_table(tensor::DType::kE5M2)[bits];
    default: return std::bit_cast<float>(static_cast<uint32_t>(bits));
  }
}

int32_t to_integer(Element element, uint64_t bits) {
  switch (element) {
    case Element::kS8: return static_cast<int8_t>(bits);
    case Element::kS4: return static_cast<int32_t>(bits ^ 8) - 8;
    default: return static_cast<int32_t>(bits);
  }
}

// c[product][m][n] accumulates `step(a, b, c)` along k. Sparse: `column` says which row of B each stored
// element of A meets.
template <typename T, typename Step>
void multiply(const MmaPlan& plan, const T* a, const T* b, T* c, const uint8_t* column, Step step) {
  const Extent extent = plan.extent[static_cast<size_t>(Part::kA)];
  const unsigned n = plan.form.shape.n, stored = extent.columns;
  for (unsigned product = 0; product < plan.form.products(); ++product) {
    for (unsigned row = 0; row < extent.rows; ++row)
      for (unsigned j = 0; j < stored; ++j) {
        const unsigned k = column == nullptr ? j : column[row * stored + j];
        const T left = a[row * stored + j];
        const T* const right = b + k * n;
        T* const sums = c + row * n;
#pragma GCC ivdep
        for (unsigned i = 0; i < n; ++i) sums[i] = step(left, right[i], sums[i]);
      }
    a += extent.rows * stored;
    b += plan.form.shape.k * n;
    c += extent.rows * n;
  }
}

// The row of B that each stored element of a sparse A meets.
void choose_columns(const Call& call, uint8_t* column) {
  const uint32_t* const words = call.warp.reg<uint32_t>(call.insn.more[call.plan.metadata_operand()]);
  const unsigned stored = call.plan.extent[static_cast<size_t>(Part::kA)].columns;
  for (size_t i = 0; i < call.plan.metadata.size(); ++i) {
    const MetadataBits bits = call.plan.metadata[i];
    column[i] = static_cast<uint8_t>(
        dense_column(call.plan.form, static_cast<unsigned>(i) % stored, words[bits.lane] >> bits.shift & 15));
  }
}

uint64_t float_result(const MmaForm& form, float x) {
  if (form.saturate) {   // wmma of f16: infinities to the largest number, NaN to zero
    const float most = form.d == Element::kF16 ? 65504.0f : std::numeric_limits<float>::max();
    x = std::isnan(x) ? 0.0f : std::fmin(std::fmax(x, -most), most);
  }
  if (form.d == Element::kF16) return tensor::f32_to_f16(x);
  return std::isnan(x) ? 0x7fffffffu : std::bit_cast<uint32_t>(x);
}

void run_float(const Call& call) {
  const MmaForm& form = call.plan.form;
  alignas(32) float a[kMostMultiplicands], b[kMostMultiplicands], c[kMostResults];
  uint8_t column[kMostMultiplicands];
  unpack(call, Part::kA, a, [&](uint64_t bits) { return to_float(form.a, bits); });
  unpack(call, Part::kB, b, [&](uint64_t bits) { return to_float(form.b, bits); });
  unpack(call, Part::kC, c, [&](uint64_t bits) { return to_float(form.c, bits); });
  if (form.sparse) choose_columns(call, column);
  multiply(call.plan, a, b, c, form.sparse ? column : nullptr,
           [](float x, float y, float z) { return std::fma(x, y, z); });
  pack(call, c, [&](float x) { return float_result(form, x); });
}

void run_double(const Call& call) {
  static constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  double a[32], b[32], c[64];
  const auto decode = [](uint64_t bits) { return std::bit_cast<double>(bits); };
  unpack(call, Part::kA, a, decode);
  unpack(call, Part::kB, b, decode);
  unpack(call, Part::kC, c, decode);
  const int before = std::fegetround();
  std::fesetround(kModes[static_cast<size_t>(call.plan.form.rounding)]);
  // Through a volatile pointer: nothing of the product may move out of the chosen rounding mode.
  double (*const volatile fused)(double, double, double) = [](double x, double y, double z) { return std::fma(x, y, z); };
  multiply(call.plan, a, b, c, nullptr, [&](double x, double y, double z) { return fused(x, y, z); });
  std::fesetround(before);
  pack(call, c, [](double x) { return std::isnan(x) ? 0x7fffffffffffffffull : std::bit_cast<uint64_t>(x); });
}

uint64_t integer_result(const MmaForm& form, int64_t sum) {
  if (form.saturate) {
    sum = std::min<int64_t>(std::max<int64_t>(sum, std::numeric_limits<int32_t>::min()),
                            std::numeric_limits<int32_t>::max());
  }
  return static_cast<uint32_t>(sum);
}

void run_integer(const Call& call) {
  const MmaForm& form = call.plan.form;
  int32_t a[kMostMultiplicands], b[kMostMultiplicands], sums[kMostResults] = {}, c[kMostResults];
  uint8_t column[kMostMultiplicands];
  unpack(call, Part::kA, a, [&](uint64_t bits) { return to_integer(form.a, bits); });
  unpack(call, Part::kB, b, [&](uint64_t bits) { return to_integer(form.b, bits); });
  unpack(call, Part::kC, c, [](uint64_t bits) { return static_cast<int32_t>(bits); });
  if (form.sparse) choose_columns(call, column);
  // At most 128 products of at most 255²: no overflow.
  multiply(call.plan, a, b, sums, form.sparse ? column : nullptr,
           [](int32_t x, int32_t y, int32_t z) { return x * y + z; });
  int64_t d[kMostResults];
  for (unsigned i = 0; i < form.shape.m * static_cast<unsigned>(form.shape.n); ++i)
    d[i] = static_cast<int64_t>(sums[i]) + c[i];
  pack(call, d, [&](int64_t sum) { return integer_result(form, sum); });
}

void run_bits(const Call& call) {
  const MmaForm& form = call.plan.form;
  const unsigned per_line = form.shape.k / 32;
  uint32_t a[kMostMultiplicands], b[kMostMultiplicands];
  const auto unpack_words = [&](Part part, uint32_t* words) {
    const uint16_t* at = call.plan.element[static_cast<size_t>(part)].data();
    for (unsigned reg = 0; reg < call.plan.of(part).registers; ++reg)
      for (int lane = 0; lane < kLanes; ++lane) words[*at++] = call.warp.reg<uint32_t>(call.registers(part)[reg])[lane];
  };
  unpack_words(Part::kA, a);
  unpack_words(Part::kB, b);
  int32_t c[kMostResults];
  unpack(call, Part::kC, c, [](uint64_t bits) { return static_cast<int32_t>(bits); });
  int64_t d[kMostResults];
  for (unsigned row = 0; row < form.shape.m; ++row)
    for (unsigned column = 0; column < form.shape.n; ++column) {
      int count = 0;
      for (unsigned word = 0; word < per_line; ++word) {
        const uint32_t x = a[row * per_line + word], y = b[column * per_line + word];
        count += std::popcount(form.bitwise == MmaForm::Bitwise::kXor ? x ^ y : x & y);
      }
      d[row * form.shape.n + column] = static_cast<int64_t>(c[row * form.shape.n + column]) + count;
    }
  pack(call, d, [&](int64_t sum) { return integer_result(form, sum); });
}

}  // namespace

void run_mma_generic(Warp& warp, const Insn& insn) {
  const Call call{warp, insn, plan_of(insn)};
  warp.block->counters.tensor_operations += call.plan.operations;
  switch (call.plan.form.a) {
    case Element::kF64: return run_double(call);
    case Element::kB1: return run_bits(call);
    case Element::kS8: case Element::kU8: case Element::kS4: case Element::kU4: return run_integer(call);
    default: return run_float(call);
  }
}

}  // namespace kw::emu
