// Matrix instructions in kernels, through parser, lowering and scheduler: the golden mma cases; ldmatrix, stmatrix,
// movmatrix and wmma against plain loops; what lanes that are missing or wrong operands get.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "../../tests/golden/mma_case.h"
#include "emu/emulator.h"
#include "ptx/parser.h"

namespace kw::emu {
namespace {

using golden::float_bits;
using golden::mixed;

struct Outcome {
  std::optional<Error> error;
  LaunchReport report;
  std::vector<uint8_t> out;
};

// Runs entry k(in, out).
Outcome run_kernel(const std::string& text, const std::vector<uint8_t>& input, size_t output_bytes, uint32_t threads = 32,
                   Options options = {}) {
  Outcome outcome;
  auto module = ptx::parse(text, "test.ptx");
  if (!module) return outcome.error = module.error(), outcome;
  auto memory = std::move(*Memory::create(uint64_t{1} << 30, options.check_uninitialised));
  auto program = Program::load(std::make_shared<const ptx::Module>(std::move(*module)), *memory);
  if (!program) return outcome.error = program.error(), outcome;
  const uint64_t in = *memory->allocate(input.size(), "in"), out = *memory->allocate(output_bytes, "out");
  EXPECT_TRUE(memory->write(in, input.data(), input.size()));
  outcome.out.assign(output_bytes, 0xee);
  EXPECT_TRUE(memory->write(out, outcome.out.data(), output_bytes));
  Launch launch;
  launch.program = program->get();
  launch.kernel = "k";
  launch.block = {threads, 1, 1};
  launch.params.resize(16);
  std::memcpy(launch.params.data(), &in, 8);
  std::memcpy(launch.params.data() + 8, &out, 8);
  auto report = run(launch, options);
  if (!report) return outcome.error = report.error(), outcome;
  outcome.report = std::move(*report);
  EXPECT_TRUE(memory->read(out, outcome.out.data(), output_bytes));
  return outcome;
}

std::string kernel(const std::string& body) {
  return ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         "  .reg .pred %p<9>; .reg .b32 %r<99>; .reg .b64 %d<40>; .reg .f32 %f<40>; .reg .f64 %fd<9>;\n"
         "  .shared .align 128 .b8 tile[2048];\n"
         "  ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x;\n"
         "  mul.wide.u32 %d2, %r0, 4; add.u64 %d3, %d1, %d2; add.u64 %d4, %d0, %d2;\n" +
         body + "\n  ret;\n}\n";
}

TEST(Matrix, GoldenKernels) {
  std::map<std::string, std::string> golden;
  std::ifstream file(std::string(KW_SOURCE_DIR) + "/tests/golden/mma.golden");
  std::string name, selector, hex;
  while (file >> name >> selector >> hex) golden[name + " " + selector] = hex;
  Options counted;
  counted.count = true;
  for (const golden::MmaCase& mma : golden::all_mma_cases()) {
    const auto outcome =
        run_kernel(golden::kernel_text(mma), golden::input_bytes(mma), golden::output_bytes(mma), 32, counted);
    ASSERT_FALSE(outcome.error) << format_error(*outcome.error);
    std::string got;
    for (const uint8_t byte : outcome.out) got += fmt::format("{:02x}", byte);
    ASSERT_EQ(got, golden[mma.name + " " + std::to_string(mma.form.selector)]) << mma.name;
    EXPECT_EQ(outcome.report.counters.tensor_operations, mma.form.operations()) << mma.name;
    EXPECT_TRUE(outcome.report.findings.empty());
  }
}

std::vector<uint8_t> numbered_halves(size_t count) {
  std::vector<uint8_t> bytes(2 * count);
  for (size_t i = 0; i < count; ++i) {
    bytes[2 * i] = static_cast<uint8_t>(i);
    bytes[2 * i + 1] = static_cast<uint8_t>(i >> 8);
  }
  return bytes;
}
uint16_t half_at(const std::vector<uint8_t>& bytes, size_t index) {
  return static_cast<uint16_t>(bytes[2 * index] | bytes[2 * index + 1] << 8);
}

// Copies 1024 bytes of input to the tile; lane i's row is at tile + 32·i (so rows are not adjacent).
const char* const kFill =
    "  mov.u64 %d10, 0; mov.u32 %r60, tile; mul.lo.u32 %r61, %r0, 32; add.u32 %r62, %r60, %r61; shl.b64 %d11, %d2, 3;\n"
    "  add.u64 %d12, %d0, %d11; ld.global.v4.b32 {%r1,%r2,%r3,%r4}, [%d12]; st.shared.v4.b32 [%r62], {%r1,%r2,%r3,%r4};\n"
    "  bar.sync 0;\n";

TEST(Matrix, LoadMatrixEveryForm) {
  for (const int count : {1, 2, 4})
    for (const bool transpose : {false, true})
      for (const bool generic : {false, true}) {
        std::string registers, stores;
        for (int m = 0; m < count; ++m) {
          registers += fmt::format("{}%r{}", m ? ", " : "", 10 + m);
          stores += fmt::format("  st.global.b32 [%d3+{}], %r{};\n", 128 * m, 10 + m);
        }
        const std::string address = generic ? "  cvta.shared.u64 %d20, %d21;\n" : "";
        const auto outcome = run_kernel(
            kernel(std::string(kFill) + "  cvt.u64.u32 %d21, %r62;\n" + address +
                   fmt::format("  ldmatrix.sync.aligned.m8n8.x{}{}{}.b16 {{{}}}, [{}];\n", count, transpose ? ".trans" : "",
                               generic ? "" : ".shared", registers, generic ? "%d20" : "%r62") + stores),
            numbered_halves(512), 128 * count);
        ASSERT_FALSE(outcome.error) << format_error(*outcome.error);
        ASSERT_TRUE(outcome.report.findings.empty()) << outcome.report.findings[0].message;
        for (int m = 0; m < count; ++m)
          for (int lane = 0; lane < 32; ++lane)
            for (int e = 0; e < 2; ++e) {
              const int row = transpose ? 2 * (lane % 4) + e : lane / 4, column = transpose ? lane / 4 : 2 * (lane % 4) + e;
              // Lane 8m + row gave the row's address; its sixteen bytes came from input row 8m + row of 32 bytes.
              const int expected = (8 * m + row) * 16 + column;
              EXPECT_EQ(half_at(outcome.out, 64 * m + 2 * lane + e), expected) << count << transpose << " lane " << lane;
            }
      }
}

TEST(Matrix, StoreMatrixUndoesLoadMatrix) {
  for (const char* trans : {"", ".trans"}) {
    const auto outcome = run_kernel(
        kernel(std::string(kFill) + fmt::format("  ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{%r10,%r11,%r12,%r13}}, [%r62];\n"
               "  stmatrix.sync.aligned.m8n8.x4{}.shared.b16 [%r62+1024], {{%r10,%r11,%r12,%r13}};\n", trans, trans) +
               "  bar.sync 0; ld.shared.v4.b32 {%r20,%r21,%r22,%r23}, [%r62+1024]; shl.b64 %d13, %d2, 2; add.u64 %d14, %d1, %d13;\n"
               "  st.global.v4.b32 [%d14], {%r20,%r21,%r22,%r23};\n"),
        numbered_halves(512), 512);
    ASSERT_FALSE(outcome.error) << format_error(*outcome.error);
    for (int row = 0; row < 32; ++row)
      for (int i = 0; i < 8; ++i) EXPECT_EQ(half_at(outcome.out, row * 8 + i), row * 16 + i);
  }
}

TEST(Matrix, MoveMatrixTransposes) {
  const auto outcome = run_kernel(kernel("  ld.global.b32 %r1, [%d4]; movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r1; st.global.b32 [%d3], %r1;"),
                                  numbered_halves(64), 128);
  ASSERT_FALSE(outcome.error) << format_error(*outcome.error);
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column) EXPECT_EQ(half_at(outcome.out, row * 8 + column), column * 8 + row);
}

// D = A·B + C through memory: load, multiply, store, in every layout.
TEST(Matrix, WmmaRoundTrips) {
  struct Form {
    const char* shape;
    const char* types;         // d.a.b.c
    Element a, c;
  };
  const Form forms[] = {
      {"m16n16k16", "f32.f32", Element::kF16, Element::kF32},   {"m8n32k16", "f32.f32", Element::kF16, Element::kF32},
      {"m32n8k16", "f16.f16", Element::kF16, Element::kF16},    {"m8n32k16", "f16.f16", Element::kF16, Element::kF16},
      {"m16n16k16", "f32.bf16.bf16.f32", Element::kBF16, Element::kF32},
      {"m32n8k16", "f32.bf16.bf16.f32", Element::kBF16, Element::kF32},
      {"m16n16k8", "f32.tf32.tf32.f32", Element::kTF32, Element::kF32},
      {"m8n8k4", "f64.f64.f64.f64", Element::kF64, Element::kF64},
      {"m16n16k16", "s32.s8.s8.s32", Element::kS8, Element::kS32}, {"m32n8k16", "s32.u8.u8.s32", Element::kU8, Element::kS32},
      {"m8n32k16", "s32.s8.s8.s32", Element::kS8, Element::kS32}, {"m8n8k32", "s32.s4.s4.s32", Element::kS4, Element::kS32},
      {"m8n8k128", "s32.b1.b1.s32", Element::kB1, Element::kS32},
  };
  for (const Form& form : forms)
    for (int layouts = 0; layouts < 16; ++layouts) {
      const bool narrow = bits_of(form.a) < 8;
      const bool a_row = (layouts & 1) == 0, b_row = (layouts & 2) != 0, c_row = (layouts & 4) == 0, d_row = (layouts & 8) == 0;
      if (narrow && (!a_row || b_row)) continue;
      const MmaShape shape = *shape_named(form.shape);
      // Matrices with values, each in its own 4 KiB of the input, with a leading dimension larger than needed.
      const bool integer = form.c == Element::kS32;
      std::vector<uint8_t> input(3 * 4096 + 64, 0);
      const auto fill = [&](size_t base, unsigned rows, unsigned columns, bool by_row, unsigned ld, Element element, uint64_t salt) {
        std::vector<int> values(rows * columns);
        for (unsigned r = 0; r < rows; ++r)
          for (unsigned c = 0; c < columns; ++c) {
            const uint64_t random = mixed(salt + r * 1000 + c);
            const int value = element == Element::kB1 ? static_cast<int>(random & 1)
                              : element == Element::kU8 ? static_cast<int>(random % 200) : static_cast<int>(random % 9) - 4;
            values[r * columns + c] = value;
            const unsigned bits = bits_of(element);
            const uint64_t coded = integer ? static_cast<uint32_t>(value) : float_bits(element, value);
            const size_t bit = base * 8 + static_cast<size_t>(by_row ? r * ld + c : c * ld + r) * bits;
            for (unsigned i = 0; i < bits; ++i)
              if (coded >> i & 1) input[(bit + i) / 8] |= static_cast<uint8_t>(1u << (bit + i) % 8);
          }
        return values;
      };
      const unsigned pad_a = narrow ? 128 : 16, pad_c = 4 * (form.c == Element::kF16 ? 2 : 1);
      // Strides are multiples of 16 bytes.
      const auto padded = [&](unsigned length) { return (length + pad_a + 15) / 16 * 16; };
      const unsigned lda = padded(a_row ? shape.k : shape.m), ldb = padded(b_row ? shape.n : shape.k);
      const unsigned ldc = (c_row ? shape.n : shape.m) + pad_c, ldd = (d_row ? shape.n : shape.m) + 2 * pad_c;
      const auto a = fill(0, shape.m, shape.k, a_row, lda, form.a, 1);
      const auto b = fill(4096, shape.k, shape.n, b_row, ldb, form.a, 2000000);
      const auto c = fill(8192, shape.m, shape.n, c_row, ldc, form.c, 4000000);
      const auto row_or_col = [](bool row) { return row ? "row" : "col"; };
      unsigned next = 10;
      const auto list = [&](Element element, Part part) {
        const FragmentSize size = wmma_fragment_size(shape, element, part);
        const char* prefix = element == Element::kF64 ? "%fd" : element == Element::kF32 ? "%f" : "%r";
        std::string text = "{";
        for (unsigned i = 0; i < size.registers; ++i)
          text += fmt::format("{}{}{}", i ? "," : "", prefix, element == Element::kF64 ? next++ - 10 : element == Element::kF32 ? next++ - 10 : next++);
        return text + "}";
      };
      const std::string ra = list(form.a, Part::kA), rb = list(form.a, Part::kB), rc = list(form.c, Part::kC), rd = list(form.c, Part::kD);
      const std::string type(name_of(form.a)), ctype(name_of(form.c));
      const std::string op = form.a == Element::kB1 ? ".and.popc" : "";
      const auto outcome = run_kernel(
          kernel(fmt::format("  add.u64 %d5, %d0, 4096; add.u64 %d6, %d0, 8192; cvta.to.global.u64 %d7, %d0; mov.u32 %r1, {}; mov.u32 %r2, {};\n"
                             "  wmma.load.a.sync.aligned.{}.{}.global.{} {}, [%d7], {};\n"
                             "  wmma.load.b.sync.aligned.{}.{}.{} {}, [%d5], {};\n"
                             "  wmma.load.c.sync.aligned.{}.{}.{} {}, [%d6], %r1;\n"
                             "  wmma.mma{}.sync.aligned.{}.{}.{}.{} {}, {}, {}, {};\n"
                             "  wmma.store.d.sync.aligned.{}.{}.{} [%d1], {}, %r2;\n",
                             ldc, ldd, row_or_col(a_row), form.shape, type, ra, lda, row_or_col(b_row), form.shape, type, rb, ldb,
                             row_or_col(c_row), form.shape, ctype, rc, op, row_or_col(a_row), row_or_col(b_row), form.shape,
                             form.types, rd, ra, rb, rc, row_or_col(d_row), form.shape, ctype, rd)),
          input, 8192);
      ASSERT_FALSE(outcome.error) << format_error(*outcome.error);
      ASSERT_TRUE(outcome.report.findings.empty()) << outcome.report.findings[0].message;
      for (unsigned m = 0; m < shape.m; ++m)
        for (unsigned n = 0; n < shape.n; ++n) {
          int64_t expected = c[m * shape.n + n];
          for (unsigned k = 0; k < shape.k; ++k) expected += static_cast<int64_t>(a[m * shape.k + k]) * b[k * shape.n + n];
          const unsigned bytes = bits_of(form.c) / 8;
          uint64_t got = 0;
          std::memcpy(&got, outcome.out.data() + static_cast<size_t>(d_row ? m * ldd + n : n * ldd + m) * bytes, bytes);
          const uint64_t coded = integer ? static_cast<uint32_t>(expected) : float_bits(form.c, static_cast<int>(expected));
          ASSERT_EQ(got, coded) << form.shape << "." << form.types << " layouts " << layouts << " at " << m << "," << n;
        }
    }
}

// D's registers name C's in another order, or A's: the result is that of separate registers.
TEST(Matrix, DestinationsMayBeAnySources) {
  const std::string load = "  ld.global.b32 %r1, [%d4]; ld.global.b32 %r2, [%d4+128]; ld.global.b32 %r3, [%d4+256]; ld.global.b32 %r4, [%d4+384];\n"
                           "  ld.global.b32 %r5, [%d4+512]; ld.global.b32 %r6, [%d4+640];\n";
  const auto mma = [&](const std::string& d) {
    return run_kernel(kernel(load + "  mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {" + d + "}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r2,%r1,%r4,%r3};\n" +
                             [&] {
                               std::string stores;
                               const auto names = golden::split_name(d);
                               size_t at = 0, i = 0;
                               while (at != std::string::npos) {
                                 const size_t comma = d.find(',', at);
                                 stores += fmt::format("  st.global.b32 [%d3+{}], {};\n", 128 * i++, d.substr(at, comma - at));
                                 at = comma == std::string::npos ? comma : comma + 1;
                               }
                               return stores;
                             }()),
                      [] {
                        std::vector<uint8_t> bytes(768);
                        for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(mixed(i));
                        return bytes;
                      }(), 512);
  };
  const auto expected = mma("%r10,%r11,%r12,%r13");
  ASSERT_FALSE(expected.error) << format_error(*expected.error);
  for (const char* d : {"%r1,%r2,%r3,%r4", "%r2,%r1,%r4,%r3", "%r4,%r3,%r2,%r1", "%r5,%r6,%r1,%r2"}) {
    const auto outcome = mma(d);
    ASSERT_FALSE(outcome.error) << format_error(*outcome.error);
    EXPECT_EQ(outcome.out, expected.out) << d;
  }
}

const char* const kMma = "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f4,%f5,%f6,%f7};\n";

TEST(Matrix, MissingLanesAreAFinding) {
  for (const std::string& text : {std::string(kMma), std::string("  mov.u32 %r10, tile; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r11}, [%r10];\n")}) {
    auto outcome = run_kernel(kernel(text), std::vector<uint8_t>(64), 64, 20);
    ASSERT_FALSE(outcome.error) << format_error(*outcome.error);
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].kind, Finding::Kind::kBarrierDivergence);
    EXPECT_NE(outcome.report.findings[0].message.find("needs all 32 lanes"), std::string::npos);
    EXPECT_FALSE(outcome.report.completed);
  }
}

TEST(Matrix, DivergedLanesMeetAtTheInstruction) {
  const auto outcome = run_kernel(kernel("  setp.lt.u32 %p1, %r0, 7; mov.f32 %f4, 0f00000000; mov.f32 %f5, %f4; mov.f32 %f6, %f4; mov.f32 %f7, %f4;\n"
                                         "  mov.b32 %r1, 0x3c003c00; mov.b32 %r2, %r1; mov.b32 %r3, %r1; mov.b32 %r4, %r1; mov.b32 %r5, %r1; mov.b32 %r6, %r1;\n"
                                         "  @%p1 bra JOIN; add.u32 %r0, %r0, 0; nanosleep.u32 10;\nJOIN:\n" + std::string(kMma) +
                                         "  st.global.f32 [%d3], %f3;\n"), std::vector<uint8_t>(64), 128);
  ASSERT_FALSE(outcome.error) << format_error(*outcome.error);
  ASSERT_TRUE(outcome.report.findings.empty()) << outcome.report.findings[0].message;
  for (int lane = 0; lane < 32; ++lane) {
    float value = 0;
    std::memcpy(&value, outcome.out.data() + 4 * lane, 4);
    EXPECT_EQ(value, 16.0f);
  }
}

TEST(Matrix, AddressesAreChecked) {
  struct Bad { const char* text; Finding::Kind kind; };
  for (const Bad& bad : {
           Bad{"  mov.u32 %r10, 2040; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r11}, [%r10];", Finding::Kind::kOutOfBounds},
           Bad{"  mov.u32 %r10, 8; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r11,%r12}, [%r10];", Finding::Kind::kMisaligned},
           Bad{"  ldmatrix.sync.aligned.m8n8.x1.b16 {%r11}, [%d0];", Finding::Kind::kInvalidOperand},
           Bad{"  wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%r1,%r2,%r3,%r4}, [%d0], 64;", Finding::Kind::kOutOfBounds},
           Bad{"  wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%r1,%r2,%r3,%r4}, [%d0], 1;", Finding::Kind::kMisaligned},
           Bad{"  wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%r1,%r2,%r3,%r4}, [%d4], 16;", Finding::Kind::kInvalidOperand},
           Bad{"  mov.u32 %r20, 0x7fffffff; wmma.load.b.sync.aligned.col.m8n8k4.global.f64 {%fd1}, [%d0], %r20;", Finding::Kind::kMisaligned},
       }) {
    const auto outcome = run_kernel(kernel(bad.text), std::vector<uint8_t>(512), 64);
    ASSERT_FALSE(outcome.error) << format_error(*outcome.error);
    ASSERT_EQ(outcome.report.findings.size(), 1u) << bad.text;
    EXPECT_EQ(name_of(outcome.report.findings[0].kind), name_of(bad.kind)) << bad.text << outcome.report.findings[0].message;
  }
}

TEST(Matrix, WrongOperandsAreErrors) {
  for (const char* text :
       {"  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f4,%f5,%f6,%f7};",
        "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, {%r5,%r6};",
        "  mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, {%f4,%f5,%f6,%f7}, %r9, 2;",
        "  mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, {%f4,%f5,%f6,%f7}, %r9, %r10;",
        "  mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f4,%f5,%f6,%f7};",
        "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2}, [%r0];", "  ldmatrix.sync.aligned.m8n16.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r0];",
        "  wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1,%r2,%r3,%r4}, [%d0], 16;",
        "  wmma.load.a.sync.aligned.row.m16n16k32.f16 {%r1,%r2,%r3,%r4}, [%d0], 16;"}) {
    const auto outcome = run_kernel(kernel(text), std::vector<uint8_t>(64), 64);
    EXPECT_TRUE(outcome.error) << text;
  }
}

}  // namespace
}  // namespace kw::emu
