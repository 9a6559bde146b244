// The matrix products, called as handlers on hand-made warps: against results from hardware
// (tests/golden/mma.golden, made on an H200), against a plain product written from the ISA's layout
// formulas, and the fast paths against the path that serves every form.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>

#include "../../tests/golden/mma_case.h"
#include "emu/mma_plan.h"
#include "tensor/dtype.h"

namespace kw::emu {
namespace {

using golden::MmaCase;

// A warp whose bank holds the operands of one mma, D's registers first.
struct Bench {
  explicit Bench(const MmaForm& form) : plan(mma_plan(form)) {
    uint32_t at = 0;
    for (const Part part : {Part::kD, Part::kA, Part::kB, Part::kC}) add(part, at);
    if (form.sparse) {
      operands.push_back(at);
      at += 128;
    }
    bank.resize(at + 32, 0);
    uint8_t* aligned = bank.data();
    while (reinterpret_cast<uintptr_t>(aligned) % 32 != 0) ++aligned;
    warp.bank = aligned;
    warp.exec = warp.live = kFull;
    warp.block = &block;
    insn.imm = reinterpret_cast<uint64_t>(&plan);
    insn.more = operands.data();
    insn.more_count = static_cast<uint16_t>(operands.size());
  }
  void add(Part part, uint32_t& at) {
    for (unsigned reg = 0; reg < plan.of(part).registers; ++reg) {
      operands.push_back(at);
      at += 32 * plan.of(part).register_bytes;
    }
  }
  uint8_t* at(Part part, unsigned reg) { return warp.bank + operands[plan.first(part) + reg]; }
  size_t bytes(Part part) const { return size_t{plan.of(part).registers} * plan.of(part).register_bytes * 32; }
  std::vector<uint8_t> result() {
    const uint8_t* const d = at(Part::kD, 0);
    return {d, d + bytes(Part::kD)};
  }
  void clear_result() { std::memset(at(Part::kD, 0), 0, bytes(Part::kD)); }
  // Sets one element wherever the fragment holds it.
  void set(Part part, unsigned row, unsigned column, uint64_t bits) {
    const FragmentSize size = plan.of(part);
    const unsigned width = bits_of(element_of(plan.form, part));
    for (unsigned reg = 0; reg < size.registers; ++reg)
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned e = 0; e < size.per_register; ++e) {
          const Position at_position = position_of(plan.form, part, lane, reg, e);
          if (at_position.row != row || at_position.column != column) continue;
          uint64_t word = 0;
          uint8_t* const to = at(part, reg) + lane * size.register_bytes;
          std::memcpy(&word, to, size.register_bytes);
          const uint64_t mask = (width == 64 ? ~0ull : (1ull << width) - 1) << (e * width);
          word = (word & ~mask) | (bits << (e * width) & mask);
          std::memcpy(to, &word, size.register_bytes);
        }
  }
  float f32_result(unsigned row, unsigned column) {
    const unsigned lane = row % 8 * 4 + column / 2, reg = row / 8 * 2 + column % 2;   // C of m16n8, from the ISA
    float value = 0;
    std::memcpy(&value, at(Part::kD, reg) + 4 * lane, 4);
    return value;
  }

  const MmaPlan& plan;
  BlockContext block;
  Warp warp;
  Insn insn;
  std::vector<uint32_t> operands;
  std::vector<uint8_t> bank;
};

Handler fast_handler(const MmaForm& form) {
  const Handler handler = fast_float_mma(form);
  return handler != nullptr ? handler : fast_integer_mma(form);
}

MmaForm named(std::string_view name) {
  const auto parts = golden::split_name(name);
  const auto form = mma_form(parts[0], std::span(parts).subspan(1));
  EXPECT_TRUE(form) << name;
  return form.value_or(MmaForm{});
}

void load_inputs(Bench& bench, const MmaCase& mma) {
  const std::vector<uint8_t> input = golden::input_bytes(mma);
  std::memcpy(bench.at(Part::kA, 0), input.data(), input.size());
}

std::map<std::string, std::vector<uint8_t>> read_golden() {
  std::map<std::string, std::vector<uint8_t>> result;
  std::ifstream file(std::string(KW_SOURCE_DIR) + "/tests/golden/mma.golden");
  std::string name, selector, hex;
  while (file >> name >> selector >> hex) {
    std::vector<uint8_t>& bytes = result[name + " " + selector];
    for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return result;
}

TEST(Mma, EveryFormMatchesHardware) {
  const auto expected = read_golden();
  const auto cases = golden::all_mma_cases();
  ASSERT_EQ(expected.size(), cases.size());
  for (const MmaCase& mma : cases) {
    ASSERT_NE(mma.name.substr(0, 7), "unknown") << mma.name;
    const auto found = expected.find(mma.name + " " + std::to_string(mma.form.selector));
    ASSERT_NE(found, expected.end()) << mma.name;
    Bench bench(mma.form);
    load_inputs(bench, mma);
    run_mma_generic(bench.warp, bench.insn);
    EXPECT_EQ(bench.result(), found->second) << mma.name << " selector " << int{mma.form.selector};
    EXPECT_EQ(bench.block.counters.tensor_operations, mma.form.operations());
    if (const Handler fast = fast_handler(mma.form)) {
      bench.clear_result();
      fast(bench.warp, bench.insn);
      EXPECT_EQ(bench.result(), found->second) << "fast " << mma.name;
      EXPECT_EQ(bench.block.counters.tensor_operations, 2 * mma.form.operations());
    }
  }
}

// The layout formulas again, as the ISA prints them, for the shapes that kernels use most.
TEST(Mma, LayoutsAreTheIsas) {
  struct Formula {
    const char* name;
    Part part;
    unsigned (*row)(unsigned g, unsigned t, unsigned i);
    unsigned (*column)(unsigned g, unsigned t, unsigned i);
  };
  const char* const f16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  const char* const s8 = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32";
  const char* const tf32 = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32";
  const char* const s4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32";
  using U = unsigned;
  const Formula formulas[] = {
      {f16, Part::kA, [](U g, U, U i) { return i < 2 || (i >= 4 && i < 6) ? g : g + 8; },
       [](U, U t, U i) { return i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8; }},
      {f16, Part::kB, [](U, U t, U i) { return i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8; }, [](U g, U, U) { return g; }},
      {f16, Part::kC, [](U g, U, U i) { return i < 2 ? g : g + 8; }, [](U, U t, U i) { return t * 2 + (i & 1); }},
      {s8, Part::kA, [](U g, U, U i) { return i < 4 || (i >= 8 && i < 12) ? g : g + 8; },
       [](U, U t, U i) { return i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16; }},
      {s8, Part::kB, [](U, U t, U i) { return i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16; }, [](U g, U, U) { return g; }},
      {tf32, Part::kA, [](U g, U, U i) { return i == 0 || i == 2 ? g : g + 8; }, [](U, U t, U i) { return i < 2 ? t : t + 4; }},
      {tf32, Part::kB, [](U, U t, U i) { return i == 0 ? t : t + 4; }, [](U g, U, U) { return g; }},
      {s4, Part::kA, [](U g, U, U i) { return i < 8 || (i >= 16 && i < 24) ? g : g + 8; },
       [](U, U t, U i) { return i < 16 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32; }},
      {s4, Part::kB, [](U, U t, U i) { return i < 8 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32; }, [](U g, U, U) { return g; }},
  };
  for (const Formula& formula : formulas) {
    const auto parts = golden::split_name(formula.name);
    const auto form = mma_form(parts[0], std::span(parts).subspan(1));
    ASSERT_TRUE(form);
    const FragmentSize size = fragment_size(*form, formula.part);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < size.registers * size.per_register; ++i) {
        const Position at = position_of(*form, formula.part, lane, i / size.per_register, i % size.per_register);
        EXPECT_EQ(at.row, formula.row(lane / 4, lane % 4, i)) << formula.name << " lane " << lane << " i " << i;
        EXPECT_EQ(at.column, formula.column(lane / 4, lane % 4, i)) << formula.name << " lane " << lane << " i " << i;
      }
  }
}

TEST(Mma, EveryFragmentHoldsEveryElement) {
  for (const MmaCase& mma : golden::all_mma_cases())
    for (const Part part : {Part::kA, Part::kB, Part::kC, Part::kD}) {
      const FragmentSize size = fragment_size(mma.form, part);
      const Extent extent = extent_of(mma.form, part);
      std::vector<unsigned> seen(mma.form.products() * extent.rows * extent.columns, 0);
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned reg = 0; reg < size.registers; ++reg)
          for (unsigned e = 0; e < size.per_register; ++e) {
            const Position at = position_of(mma.form, part, lane, reg, e);
            ASSERT_LT(at.row, extent.rows);
            ASSERT_LT(at.column, extent.columns);
            ++seen[(at.product * extent.rows + at.row) * extent.columns + at.column];
          }
      for (const unsigned count : seen) ASSERT_EQ(count, seen[0]) << mma.name;
      EXPECT_GT(seen[0], 0u);
    }
}

// Random bits, including infinities, NaN and denormals: both paths give the same bits.
TEST(Mma, FastPathsGiveTheBitsOfTheGenericPath) {
  uint64_t seed = 1;
  int checked = 0;
  for (const MmaCase& mma : golden::all_mma_cases()) {
    const Handler fast = fast_handler(mma.form);
    if (fast == nullptr) continue;
    for (int round = 0; round < 20; ++round) {
      Bench bench(mma.form);
      for (const Part part : {Part::kA, Part::kB, Part::kC})
        for (size_t i = 0; i < bench.bytes(part); i += 4) {
          const auto word = static_cast<uint32_t>(golden::mixed(seed++));
          std::memcpy(bench.at(part, 0) + i, &word, 4);
        }
      run_mma_generic(bench.warp, bench.insn);
      const auto expected = bench.result();
      bench.clear_result();
      fast(bench.warp, bench.insn);
      ASSERT_EQ(bench.result(), expected) << mma.name << " round " << round;
    }
    ++checked;
  }
  if (fast_float_mma(named("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")) != nullptr) {
    EXPECT_GE(checked, 80);   // a build for processors with AVX2
  }
}

TEST(Mma, LanesThatAreOffKeepTheirRegisters) {
  const std::string name = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  const auto parts = golden::split_name(name);
  const MmaForm form = *mma_form(parts[0], std::span(parts).subspan(1));
  Bench bench(form);
  bench.set(Part::kC, 0, 0, std::bit_cast<uint32_t>(3.0f));
  bench.set(Part::kC, 1, 0, std::bit_cast<uint32_t>(4.0f));
  bench.warp.exec = 0x0000000f;   // lanes of row 0
  run_mma_generic(bench.warp, bench.insn);
  EXPECT_EQ(bench.f32_result(0, 0), 3.0f);
  EXPECT_EQ(bench.f32_result(1, 0), 0.0f);
}

// Every pair of fp8 values in every combination of types: one product each, exact.
TEST(Mma, Fp8PairsAreExact) {
  for (const char* a : {"e4m3", "e5m2"})
    for (const char* b : {"e4m3", "e5m2"}) {
      const MmaForm form = named(std::string("mma.sync.aligned.m16n8k32.row.col.f32.") + a + "." + b + ".f32");
      const auto value = [](const char* type, unsigned bits) {
        return tensor::decode(bits, type == std::string("e4m3") ? tensor::DType::kE4M3 : tensor::DType::kE5M2);
      };
      Bench bench(form);
      const Handler fast = fast_handler(form);
      for (unsigned x0 = 0; x0 < 256; x0 += 16)
        for (unsigned y0 = 0; y0 < 256; y0 += 8) {
          for (unsigned i = 0; i < 16; ++i) bench.set(Part::kA, i, (x0 + i) % 32, x0 + i);
          // One nonzero in each row of A, at another k each; columns of B are constant.
          for (unsigned reg = 0; reg < 2; ++reg)
            for (unsigned lane = 0; lane < 32; ++lane) {
              const uint32_t word = (y0 + lane / 4) * 0x01010101u;   // lane / 4 is the column
              std::memcpy(bench.at(Part::kB, reg) + 4 * lane, &word, 4);
            }
          for (const Handler handler : {Handler{&run_mma_generic}, fast}) {
            if (handler == nullptr) continue;
            handler(bench.warp, bench.insn);
            for (unsigned i = 0; i < 16; ++i)
              for (unsigned j = 0; j < 8; ++j) {
                const double expected = value(a, x0 + i) * value(b, y0 + j);
                const float got = bench.f32_result(i, j);
                // The zeros elsewhere in the row of A make NaN of an infinite B.
                if (std::isnan(expected) || !std::isfinite(value(b, y0 + j))) {
                  ASSERT_TRUE(std::isnan(got)) << x0 + i << " " << y0 + j;
                  continue;
                }
                ASSERT_EQ(static_cast<double>(got), expected) << a << " " << x0 + i << " " << b << " " << y0 + j;
              }
          }
          for (unsigned i = 0; i < 16; ++i) bench.set(Part::kA, i, (x0 + i) % 32, 0);
        }
    }
}

TEST(Mma, AccumulatesUpwardsInK) {
  const MmaForm form = named("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  // 2^24 + 1 - 2^24: in order the 1 is lost, 2^24 - 2^24 + 1 keeps it.
  for (const bool lost : {true, false}) {
    Bench bench(form);
    const uint64_t big = 0x6c00 /* 4096 */, one = 0x3c00, minus_big = 0xec00;
    bench.set(Part::kA, 3, 0, big);
    bench.set(Part::kB, 0, 5, big);
    bench.set(Part::kA, 3, lost ? 7 : 9, one);
    bench.set(Part::kB, lost ? 7 : 9, 5, one);
    bench.set(Part::kA, 3, 8, minus_big);
    bench.set(Part::kB, 8, 5, big);
    run_mma_generic(bench.warp, bench.insn);
    EXPECT_EQ(bench.f32_result(3, 5), lost ? 0.0f : 1.0f);
  }
}

TEST(Mma, SaturatesOnlyWhenAsked) {
  for (const bool saturate : {false, true}) {
    const MmaForm form = named(std::string("mma.sync.aligned.m16n8k32.row.col") + (saturate ? ".satfinite" : "") + ".s32.s8.s8.s32");
    for (const bool fast : {false, true}) {
      const Handler handler = fast ? fast_handler(form) : Handler{&run_mma_generic};
      if (handler == nullptr) continue;
      Bench bench(form);
      bench.set(Part::kA, 2, 9, 100);
      bench.set(Part::kB, 9, 3, 100);
      bench.set(Part::kC, 2, 3, 0x7fffffff);
      bench.set(Part::kB, 9, 4, 0x9c);   // -100
      bench.set(Part::kC, 2, 4, 0x80000000);
      handler(bench.warp, bench.insn);
      const auto got = [&](unsigned column) { return std::bit_cast<uint32_t>(bench.f32_result(2, column)); };
      EXPECT_EQ(got(3), saturate ? 0x7fffffffu : 0x7fffffffu + 10000u);
      EXPECT_EQ(got(4), saturate ? 0x80000000u : 0x80000000u - 10000u);
    }
  }
}

// Sparse: a dense product of the matrix that stored values and metadata describe.
TEST(Mma, SparseIsTheDenseProductOfTheExpandedMatrix) {
  const MmaForm sparse = named("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32");
  Bench bench(sparse);
  double a[16][32] = {}, b[32][8];
  static constexpr unsigned kChoices[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  uint32_t metadata[32] = {};
  uint64_t seed = 77;
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned group = 0; group < 8; ++group) {
      const auto& choice = kChoices[golden::mixed(seed++) % 6];
      // ISA: lanes 0 and 1 of the quad hold, for the first and second 16 columns, row g in the low and row g + 8
      // in the high half.
      metadata[row % 8 * 4 + group / 4] |= (choice[0] | choice[1] << 2) << (row / 8 * 16 + group % 4 * 4);
      for (unsigned i = 0; i < 2; ++i) {
        const int value = static_cast<int>(golden::mixed(seed++) % 9) - 4;
        a[row][group * 4 + choice[i]] = value;
        bench.set(Part::kA, row, group * 2 + i, golden::float_bits(Element::kF16, value));
      }
    }
  for (unsigned k = 0; k < 32; ++k)
    for (unsigned n = 0; n < 8; ++n) {
      const int value = static_cast<int>(golden::mixed(seed++) % 9) - 4;
      b[k][n] = value;
      bench.set(Part::kB, k, n, golden::float_bits(Element::kF16, value));
    }
  std::memcpy(bench.warp.bank + bench.operands.back(), metadata, sizeof metadata);
  run_mma_generic(bench.warp, bench.insn);
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned n = 0; n < 8; ++n) {
      double expected = 0;
      for (unsigned k = 0; k < 32; ++k) expected += a[row][k] * b[k][n];
      EXPECT_EQ(bench.f32_result(row, n), expected) << row << " " << n;
    }
}

TEST(Mma, DoublesRoundAsAsked) {
  // 1 + 2^-60 lies between 1 and the next double.
  for (const auto& [rounding, up] : {std::pair{".rn", false}, {".rz", false}, {".rm", false}, {".rp", true}}) {
    const MmaForm form = named(std::string("wmma.mma.sync.aligned.row.col.m8n8k4") + rounding + ".f64.f64.f64.f64");
    Bench bench(form);
    bench.set(Part::kA, 5, 2, std::bit_cast<uint64_t>(0x1p-30));
    bench.set(Part::kB, 2, 3, std::bit_cast<uint64_t>(0x1p-30));
    bench.set(Part::kC, 5, 3, std::bit_cast<uint64_t>(1.0));
    run_mma_generic(bench.warp, bench.insn);
    double got = 0;
    std::memcpy(&got, bench.at(Part::kD, 1) + 8 * (5 * 4 + 1), 8);
    EXPECT_EQ(got, up ? std::nextafter(1.0, 2.0) : 1.0) << rounding;
  }
}

TEST(Mma, ResultsThatAreNotNumbersAreCanonical) {
  for (const char* name : {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"}) {
    const MmaForm form = named(name);
    for (const Handler handler : {Handler{&run_mma_generic}, fast_handler(form)}) {
      if (handler == nullptr) continue;
      Bench bench(form);
      bench.set(Part::kC, 0, 0, 0xffc00001);
      handler(bench.warp, bench.insn);
      EXPECT_EQ(std::bit_cast<uint32_t>(bench.f32_result(0, 0)), 0x7fffffffu);
    }
  }
}

TEST(Mma, UnknownFormsAreRefused) {
  for (const char* name :
       {"mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32", "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64",
        "mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32",
        "mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32", "mma.sync.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.or.popc", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor",
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16",
        "wmma.mma.sync.aligned.col.col.m8n8k32.s32.s4.s4.s32", "wmma.mma.sync.aligned.row.col.m16n16k16.f32",
        "mma.sync.aligned.m99999999n8k16.row.col.f32.f16.f16.f32", "mma"}) {
    const auto parts = golden::split_name(name);
    EXPECT_FALSE(mma_form(parts[0], std::span(parts).subspan(1))) << name;
  }
}

}  // namespace
}  // namespace kw::emu
