// Every form of unary.golden on the emulator against what hardware gave. A hash cannot say which operand differs: run
// kw_make_unary_golden where there is a GPU.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "run_emulated.h"
#include "sweep.h"
#include "unary_golden.h"

namespace kw::golden {
namespace {

std::string read_text() {
  std::ifstream file(KW_GOLDEN_FILE, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

GoldenLine emulate(const UnaryForm& form) {
  const auto input = input_bytes(form);
  const size_t count = executions(form, input);
  const auto output = run_emulated(kernel_text(form), input, count * (form.to_bits / 8), static_cast<unsigned>(count / kBlock), kBlock);
  EXPECT_TRUE(output) << form.name << ": " << format_error(output.error());
  return output ? line_of(form, input, *output) : GoldenLine{};
}

void expect_agreement(const GoldenLine& hardware, const GoldenLine& emulator) {
  const std::string place = text_of(hardware) + "\nemulator: " + text_of(emulator);
  EXPECT_EQ(hardware.executions, emulator.executions) << place;
  EXPECT_EQ(hardware.hash, emulator.hash) << place;
  EXPECT_EQ(hardware.approximate, emulator.approximate) << place;
  if (!hardware.approximate) return;
  EXPECT_EQ(hardware.measure, emulator.measure) << place;
  EXPECT_EQ(hardware.exceptions, emulator.exceptions) << place;
  EXPECT_LE(hardware.worst, hardware.limit * 0x1.09p0) << place;   // the ISA's exponents are rounded to a tenth
  EXPECT_LE(emulator.worst, emulator.limit) << place;
}

TEST(UnaryGolden, EmulatorAgreesWithHardware) {
  std::map<std::string, GoldenLine> golden;
  for (const GoldenLine& line : read_golden(read_text())) golden[line.form + " " + line.sweep] = line;
  const auto forms = all_unary_forms();
  EXPECT_EQ(golden.size(), forms.size());
  for (const UnaryForm& form : forms) {
    const auto found = golden.find(form.name + " " + form.sweep);
    if (found == golden.end()) {
      ADD_FAILURE() << form.name << ' ' << form.sweep << ": not in unary.golden";
      continue;
    }
    expect_agreement(found->second, emulate(form));
  }
}

TEST(UnaryGolden, LinesReadBack) {
  const std::string text = read_text();
  std::string again;
  for (const GoldenLine& line : read_golden(text)) again += text_of(line) + "\n";
  std::string rows;
  std::istringstream in(text);
  for (std::string row; std::getline(in, row);)
    if (row[0] != '#') rows += row + "\n";
  EXPECT_EQ(again, rows);
}

// One wrong bit anywhere in a sweep changes the line.
TEST(UnaryGolden, OneWrongResultIsSeen) {
  for (const UnaryForm& form : all_unary_forms()) {
    if (form.name != "cvt.rni.f16.f16" && form.name != "tanh.approx.f16") continue;
    const auto input = input_bytes(form);
    auto output = run_emulated(kernel_text(form), input, 0x20000, 0x10000 / kBlock, kBlock);
    ASSERT_TRUE(output);
    const GoldenLine right = line_of(form, input, *output);
    for (const size_t index : {size_t{0}, size_t{0x7c00}, size_t{0xffff}}) {   // zero, infinity, a NaN
      auto wrong = *output;
      wrong[2 * index] ^= 1;
      EXPECT_NE(line_of(form, input, wrong).hash, right.hash) << form.name << ' ' << index;
    }
    if (!right.approximate) continue;
    auto wrong = *output;
    wrong[2 * 0x3c00 + 1] ^= 0x40;   // of 1.0
    EXPECT_GT(line_of(form, input, wrong).worst, right.limit);
  }
}

TEST(Sweep, UnknownIsEmpty) { EXPECT_TRUE(sweep("f8").empty()); }

}  // namespace
}  // namespace kw::golden
