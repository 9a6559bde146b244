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

// Elements of 32-bit registers, kBits each, to the places that the plan gives them.
template <unsigned kBits>
void scatter(const Call& call, Part part, uint32_t* matrix) {
  constexpr uint32_t kLow = kBits == 32 ? ~0u : (1u << kBits) - 1;
  // The registers of a wmma fragment beyond these repeat them.
  const Extent extent = call.plan.extent[static_cast<size_t>(part)];
  const unsigned registers = call.plan.form.products() * extent.rows * extent.columns * kBits / (32 * kLanes);
  const uint16_t* at = call.plan.element[static_cast<size_t>(part)].data();
  for (unsigned reg = 0; reg < registers; ++reg) {
    const uint32_t* const words = call.warp.reg<uint32_t>(call.registers(part)[reg]);
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint32_t word = words[lane];
      for (unsigned e = 0; e < 32 / kBits; ++e) matrix[*at++] = word >> (e * kBits) & kLow;
    }
  }
}

// The bits of every element of a part, in matrix order; their number.
unsigned unpack_bits(const Call& call, Part part, uint32_t* matrix) {
  switch (bits_of(element_of(call.plan.form, part))) {
    case 4: scatter<4>(call, part, matrix); break;
    case 8: scatter<8>(call, part, matrix); break;
    case 16: scatter<16>(call, part, matrix); break;
    default: scatter<32>(call, part, matrix); break;
  }
  const Extent extent = call.plan.extent[static_cast<size_t>(part)];
  return call.plan.form.products() * extent.rows * extent.columns;
}

void unpack_floats(const Call& call, Part part, float* matrix) {
  uint32_t bits[kMostMultiplicands];
  const unsigned count = unpack_bits(call, part, bits);
  const auto convert = [&](auto decode) {
    for (unsigned i = 0; i < count; ++i) matrix[i] = decode(bits[i]);
  };
  switch (element_of(call.plan.form, part)) {
    case Element::kF16: return convert([](uint32_t x) { return tensor::f16_to_f32(static_cast<uint16_t>(x)); });
    case Element::kBF16: return convert([](uint32_t x) { return tensor::bf16_to_f32(static_cast<uint16_t>(x)); });
    case Element::kTF32: return convert([](uint32_t x) { return std::bit_cast<float>(x & 0xffffe000u); });
    case Element::kE4M3:
      return convert([table = tensor::decode_table(tensor::DType::kE4M3)](uint32_t x) { return table[x]; });
    case Element::kE5M2:
      return convert([table = tensor::decode_table(tensor::DType::kE5M2)](uint32_t x) { return table[x]; });
    default: return convert([](uint32_t x) { return std::bit_cast<float>(x); });
  }
}

void unpack_integers(const Call& call, Part part, int32_t* matrix) {
  uint32_t bits[kMostMultiplicands];
  const unsigned count = unpack_bits(call, part, bits);
  const Element element = element_of(call.plan.form, part);
  const uint32_t sign = element == Element::kS8 ? 0x80 : element == Element::kS4 ? 8 : 0;
  for (unsigned i = 0; i < count; ++i) matrix[i] = static_cast<int32_t>((bits[i] ^ sign) - sign);
}

void unpack_doubles(const Call& call, Part part, double* matrix) {
  const uint16_t* at = call.plan.element[static_cast<size_t>(part)].data();
  for (unsigned reg = 0; reg < call.plan.of(part).registers; ++reg)
    for (int lane = 0; lane < kLanes; ++lane) matrix[*at++] = call.warp.reg<double>(call.registers(part)[reg])[lane];
}

// D's elements of kBits each, from matrix order to 32-bit registers.
template <unsigned kBits>
void gather(const Call& call, const uint32_t* matrix) {
  const unsigned registers = call.plan.of(Part::kD).registers;
  const uint16_t* at = call.plan.element[static_cast<size_t>(Part::kD)].data();
  for (unsigned reg = 0; reg < registers; ++reg) {
    uint32_t* const words = call.warp.reg<uint32_t>(call.registers(Part::kD)[reg]);
    for (int lane = 0; lane < kLanes; ++lane) {
      uint32_t word = 0;
      for (unsigned e = 0; e < 32 / kBits; ++e) word |= matrix[*at++] << (e * kBits);
      if (call.warp.exec >> lane & 1) words[lane] = word;
    }
  }
}

void pack_doubles(const Call& call, const double* matrix) {
  const uint16_t* at = call.plan.element[static_cast<size_t>(Part::kD)].data();
  for (unsigned reg = 0; reg < call.plan.of(Part::kD).registers; ++reg)
    for (int lane = 0; lane < kLanes; ++lane) {
      const double x = matrix[*at++];
      if ((call.warp.exec >> lane & 1) == 0) continue;
      call.warp.reg<uint64_t>(call.registers(Part::kD)[reg])[lane] =
          std::isnan(x) ? 0x7fffffffffffffffull : std::bit_cast<uint64_t>(x);
    }
}

// c[product][m][n] accumulates `step(a, b, c)` along k. Sparse: `column` says which row of B each stored
// element of A meets.
template <unsigned kN, typename T, typename Step>
void multiply_wide(const MmaPlan& plan, const T* a, const T* b, T* c, const uint8_t* column, Step step) {
  const Extent extent = plan.extent[static_cast<size_t>(Part::kA)];
  const unsigned stored = extent.columns;
  for (unsigned product = 0; product < plan.form.products(); ++product) {
    for (unsigned row = 0; row < extent.rows; ++row) {
      T sums[kN];
      for (unsigned i = 0; i < kN; ++i) sums[i] = c[row * kN + i];
      for (unsigned j = 0; j < stored; ++j) {
        const T left = a[row * stored + j];
        const T* const right = b + (column == nullptr ? j : column[row * stored + j]) * kN;
        for (unsigned i = 0; i < kN; ++i) sums[i] = step(left, right[i], sums[i]);
      }
      for (unsigned i = 0; i < kN; ++i) c[row * kN + i] = sums[i];
    }
    a += extent.rows * stored;
    b += plan.form.shape.k * kN;
    c += extent.rows * kN;
  }
}

template <typename T, typename Step>
void multiply(const MmaPlan& plan, const T* a, const T* b, T* c, const uint8_t* column, Step step) {
  switch (plan.form.shape.n) {
    case 8: return multiply_wide<8>(plan, a, b, c, column, step);
    case 16: return multiply_wide<16>(plan, a, b, c, column, step);
    default: return multiply_wide<32>(plan, a, b, c, column, step);
  }
}

// The row of B that each stored element of a sparse A meets.
void choose_columns(const Call& call, uint8_t* column) {
  const uint32_t* const words = call.warp.reg<uint32_t>(call.insn.more[call.plan.metadata_operand()]);
  const unsigned stored = call.plan.extent[static_cast<size_t>(Part::kA)].columns;
  const MetadataBits* bits = call.plan.metadata.data();
  for (unsigned row = 0; row < call.plan.form.shape.m; ++row)
    for (unsigned j = 0; j < stored; ++j, ++bits)
      *column++ = call.plan.column[j * 16 + (words[bits->lane] >> bits->shift & 15)];
}

void pack_floats(const Call& call, float* matrix) {
  const MmaForm& form = call.plan.form;
  const unsigned count = form.products() * form.shape.m * form.shape.n;
  uint32_t bits[kMostResults];
  if (form.saturate) {   // wmma of f16: infinities to the largest number, NaN to zero
    const float most = form.d == Element::kF16 ? 65504.0f : std::numeric_limits<float>::max();
    for (unsigned i = 0; i < count; ++i)
      matrix[i] = std::isnan(matrix[i]) ? 0.0f : std::fmin(std::fmax(matrix[i], -most), most);
  }
  if (form.d == Element::kF16) {
    for (unsigned i = 0; i < count; ++i) bits[i] = tensor::f32_to_f16(matrix[i]);
    return gather<16>(call, bits);
  }
  for (unsigned i = 0; i < count; ++i)
    bits[i] = std::isnan(matrix[i]) ? 0x7fffffffu : std::bit_cast<uint32_t>(matrix[i]);
  gather<32>(call, bits);
}

void run_float(const Call& call) {
  const MmaForm& form = call.plan.form;
  alignas(32) float a[kMostMultiplicands], b[kMostMultiplicands], c[kMostResults];
  uint8_t column[kMostMultiplicands];
  unpack_floats(call, Part::kA, a);
  unpack_floats(call, Part::kB, b);
  unpack_floats(call, Part::kC, c);
  if (form.sparse) choose_columns(call, column);
  multiply(call.plan, a, b, c, form.sparse ? column : nullptr,
           [](float x, float y, float z) { return std::fma(x, y, z); });
  pack_floats(call, c);
}

void run_double(const Call& call) {
  static constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  double a[32], b[32], c[64];
  unpack_doubles(call, Part::kA, a);
  unpack_doubles(call, Part::kB, b);
  unpack_doubles(call, Part::kC, c);
  if (call.plan.form.rounding == MmaForm::Rounding::kNearest) {
    multiply(call.plan, a, b, c, nullptr, [](double x, double y, double z) { return std::fma(x, y, z); });
  } else {
    const int before = std::fegetround();
    std::fesetround(kModes[static_cast<size_t>(call.plan.form.rounding)]);
    // Through a volatile pointer: nothing of the product may move out of the chosen rounding mode.
    double (*const volatile fused)(double, double, double) = [](double x, double y, double z) { return std::fma(x, y, z); };
    multiply(call.plan, a, b, c, nullptr, [&](double x, double y, double z) { return fused(x, y, z); });
    std::fesetround(before);
  }
  pack_doubles(call, c);
}

// c + sums, wrapping or clamped.
void pack_integers(const Call& call, const int32_t* c, const int32_t* sums) {
  const MmaForm& form = call.plan.form;
  uint32_t bits[kMostResults];
  for (unsigned i = 0; i < static_cast<unsigned>(form.shape.m) * form.shape.n; ++i) {
    int64_t sum = static_cast<int64_t>(c[i]) + sums[i];
    if (form.saturate) {
      sum = std::min<int64_t>(std::max<int64_t>(sum, std::numeric_limits<int32_t>::min()),
                              std::numeric_limits<int32_t>::max());
    }
    bits[i] = static_cast<uint32_t>(sum);
  }
  gather<32>(call, bits);
}

void run_integer(const Call& call) {
  const MmaForm& form = call.plan.form;
  int32_t a[kMostMultiplicands], b[kMostMultiplicands], sums[kMostResults] = {}, c[kMostResults];
  uint8_t column[kMostMultiplicands];
  unpack_integers(call, Part::kA, a);
  unpack_integers(call, Part::kB, b);
  unpack_integers(call, Part::kC, c);
  if (form.sparse) choose_columns(call, column);
  // At most 128 products of at most 255²: no overflow.
  multiply(call.plan, a, b, sums, form.sparse ? column : nullptr,
           [](int32_t x, int32_t y, int32_t z) { return x * y + z; });
  pack_integers(call, c, sums);
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
  unpack_integers(call, Part::kC, c);
  int32_t counts[kMostResults];
  for (unsigned row = 0; row < form.shape.m; ++row)
    for (unsigned column = 0; column < form.shape.n; ++column) {
      int count = 0;
      for (unsigned word = 0; word < per_line; ++word) {
        const uint32_t x = a[row * per_line + word], y = b[column * per_line + word];
        count += std::popcount(form.bitwise == MmaForm::Bitwise::kXor ? x ^ y : x & y);
      }
      counts[row * form.shape.n + column] = count;
    }
  pack_integers(call, c, counts);
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
