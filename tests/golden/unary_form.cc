#include "unary_form.h"

#include <fmt/format.h>

#include <cstring>

#include "sweep.h"

namespace kw::golden {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : text) {
    if (c != ' ') word += c;
    else if (!word.empty()) out.push_back(std::move(word)), word.clear();
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

std::vector<std::string> split(std::string_view name) {
  std::vector<std::string> parts;
  while (true) {
    const size_t dot = name.find('.');
    parts.emplace_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    name.remove_prefix(dot + 1);
  }
}

// Forms of cvt by what comes between "cvt" and the types; '-' stands for nothing. Types are destination.source.
struct Group { std::string_view modifiers, types; };
constexpr Group kConversions[] = {
    {"-",
     "u8.u8 s8.s8 u16.u8 u16.u16 s16.u8 s16.s8 s16.s16 u32.u8 u32.u16 u32.u32 s32.u8 s32.s8 s32.u16 s32.s16 s32.s32 "
     "u64.u8 u64.u16 u64.u32 u64.u64 s64.u8 s64.s8 s64.u16 s64.s16 s64.u32 s64.s32 s64.s64"},
    {"- sat",
     "u8.s8 u8.u16 u8.s16 u8.u32 u8.s32 u8.u64 u8.s64 s8.u8 s8.u16 s8.s16 s8.u32 s8.s32 s8.u64 s8.s64 u16.s8 u16.s16 "
     "u16.u32 u16.s32 u16.u64 u16.s64 s16.u16 s16.u32 s16.s32 s16.u64 s16.s64 u32.s8 u32.s16 u32.s32 u32.u64 u32.s64 "
     "s32.u32 s32.u64 s32.s64 u64.s8 u64.s16 u64.s32 u64.s64 s64.u64 f64.f16"},
    {"rni rni.sat rzi rzi.sat rmi rmi.sat rpi rpi.sat",
     "u8.f16 u8.f64 s8.f16 s8.f64 u16.f16 u16.f64 s16.f16 s16.f64 u32.f16 u32.f64 s32.f16 s32.f64 u64.f16 u64.f64 s64.f16 "
     "s64.f64 f16.f16 f64.f64"},
    {"rni rni.sat rni.ftz rni.ftz.sat rzi rzi.sat rzi.ftz rzi.ftz.sat rmi rmi.sat rmi.ftz rmi.ftz.sat rpi rpi.sat rpi.ftz "
     "rpi.ftz.sat",
     "u8.f32 s8.f32 u16.f32 s16.f32 u32.f32 s32.f32 u64.f32 s64.f32 f32.f32"},
    {"rni rzi rmi rpi", "u16.bf16 s16.bf16 u32.bf16 s32.bf16 u64.bf16 s64.bf16 bf16.bf16"},
    {"rn rn.sat rz rz.sat rm rm.sat rp rp.sat",
     "f16.u8 f16.s8 f16.u16 f16.s16 f16.u32 f16.s32 f16.u64 f16.s64 f16.f64 f64.u8 f64.s8 f64.u16 f64.s16 f64.u32 f64.s32 "
     "f64.u64 f64.s64 f32.u8 f32.s8 f32.u16 f32.s16 f32.u32 f32.s32 f32.u64 f32.s64 f32.f64 f16.f32"},
    {"rn.ftz rn.ftz.sat rz.ftz rz.ftz.sat rm.ftz rm.ftz.sat rp.ftz rp.ftz.sat",
     "f32.u8 f32.s8 f32.u16 f32.s16 f32.u32 f32.s32 f32.u64 f32.s64 f32.f64 f16.f32"},
    {"rn rz rm rp", "bf16.u16 bf16.s16 bf16.u32 bf16.s32 bf16.u64 bf16.s64 bf16.f64 f16.bf16 bf16.f16 f64.bf16 f32.bf16 bf16.f32"},
    {"rn.ftz rz.ftz rm.ftz rp.ftz", "f32.bf16 bf16.f32"},
    {"-", "f16.f16 f64.f64 bf16.bf16 f32.f32 f16.bf16 bf16.f16 f64.bf16 f32.f16 f64.f32 f32.bf16"},
    {"sat", "f16.f16 f64.f64 f32.f32 f32.f16 f64.f32"},
    {"ftz", "f32.bf16 f32.f32 f32.f16 f64.f32"},
    {"ftz.sat", "f32.f32 f32.f16 f64.f32"},
    {"rn.satfinite rn.relu rn.relu.satfinite rz.satfinite rz.relu rz.relu.satfinite", "f16.f32 bf16.f32 f16x2.f32 bf16x2.f32"},
    {"rn rz", "f16x2.f32 bf16x2.f32"},
    {"rn rn.relu rz rz.relu rna rna.satfinite", "tf32.f32"},
    {"rn rn.relu", "f16x2.e4m3x2 f16x2.e5m2x2"},
    {"rn.satfinite rn.relu.satfinite", "e4m3x2.f32 e5m2x2.f32 e4m3x2.f16x2 e5m2x2.f16x2"},
};

// Instructions with one type, or with a result of 32 bits.
constexpr std::string_view kOthers =
    "neg.f16 neg.ftz.f16 neg.f16x2 neg.ftz.f16x2 neg.bf16 neg.bf16x2 neg.f32 neg.ftz.f32 neg.f64 "
    "abs.f16 abs.ftz.f16 abs.f16x2 abs.ftz.f16x2 abs.bf16 abs.bf16x2 abs.f32 abs.ftz.f32 abs.f64 "
    "neg.s16 neg.s32 neg.s64 abs.s16 abs.s32 abs.s64 not.b16 not.b32 not.b64 cnot.b16 cnot.b32 cnot.b64 "
    "brev.b32 brev.b64 popc.b32 popc.b64 clz.b32 clz.b64 "
    "bfind.u32 bfind.s32 bfind.u64 bfind.s64 bfind.shiftamt.u32 bfind.shiftamt.s32 bfind.shiftamt.u64 bfind.shiftamt.s64 "
    "rcp.rn.f32 rcp.rz.f32 rcp.rm.f32 rcp.rp.f32 rcp.rn.ftz.f32 rcp.rz.ftz.f32 rcp.rm.ftz.f32 rcp.rp.ftz.f32 "
    "sqrt.rn.f32 sqrt.rz.f32 sqrt.rm.f32 sqrt.rp.f32 sqrt.rn.ftz.f32 sqrt.rz.ftz.f32 sqrt.rm.ftz.f32 sqrt.rp.ftz.f32 "
    "rcp.rn.f64 rcp.rz.f64 rcp.rm.f64 rcp.rp.f64 sqrt.rn.f64 sqrt.rz.f64 sqrt.rm.f64 sqrt.rp.f64 "
    "ex2.approx.f16 ex2.approx.f16x2 ex2.approx.ftz.bf16 ex2.approx.ftz.bf16x2 ex2.approx.f32 ex2.approx.ftz.f32 "
    "tanh.approx.f16 tanh.approx.f16x2 tanh.approx.bf16 tanh.approx.bf16x2 tanh.approx.f32 "
    "rcp.approx.f32 rcp.approx.ftz.f32 sqrt.approx.f32 sqrt.approx.ftz.f32 rsqrt.approx.f32 rsqrt.approx.ftz.f32 "
    "lg2.approx.f32 lg2.approx.ftz.f32 rcp.approx.ftz.f64 rsqrt.approx.f64 rsqrt.approx.ftz.f64";

// Instructions of two operands, and fma with the least normal number as third.
constexpr std::string_view kPairs =
    "mul.f32 mul.rn.ftz.f32 mul.rz.ftz.f32 mul.rm.ftz.f32 mul.rp.ftz.f32 mul.rn.ftz.sat.f32 "
    "div.rn.f32 div.rn.ftz.f32 div.rz.ftz.f32 div.rm.ftz.f32 div.rp.ftz.f32 "
    "fma.rn.f32 fma.rn.ftz.f32 fma.rz.ftz.f32 fma.rm.ftz.f32 fma.rp.ftz.f32 fma.rn.ftz.sat.f32 "
    "mul.f16 mul.ftz.f16 mul.ftz.sat.f16 fma.rn.f16 fma.rn.ftz.f16 fma.rn.ftz.sat.f16 fma.rn.ftz.relu.f16";

unsigned register_bits(std::string_view type) {
  if (type == "u16" || type == "s16" || type == "b16" || type == "f16" || type == "bf16" || type.substr(0, 1) == "e") return 16;
  return type.size() > 2 && type.substr(1) == "64" ? 64 : 32;   // a byte lives in a wider register
}

std::string sweep_of(const UnaryForm& form) {
  const std::string& t = form.from;
  if (t == "u8" || t == "s8") return "b8";
  if (t == "f16x2" || t == "bf16x2") return "b16x2";
  if (form.from_bits == 16) return "b16";
  if (t == "f64") return "f64";
  if (t != "f32") return form.from_bits == 64 ? "i64" : "i32";
  if (form.opcode == "ex2") return "f32<160";
  if (form.opcode == "tanh") return "f32<12";
  return form.has("approx") ? "f32+" : "f32";
}

UnaryForm make(std::string name) {
  UnaryForm form;
  const std::vector<std::string> parts = split(name);
  form.name = std::move(name);
  form.opcode = parts.front();
  form.from = parts.back();
  const bool to_word = form.opcode == "popc" || form.opcode == "clz" || form.opcode == "bfind";
  form.to = form.opcode == "cvt" ? parts[parts.size() - 2] : to_word ? "u32" : form.from;
  form.to_bits = register_bits(form.to);
  form.from_bits = register_bits(form.from);
  form.pair = form.from == "f32" && form.to.size() > 2 && form.to.substr(form.to.size() - 2) == "x2";
  form.sweep = sweep_of(form);
  return form;
}

// The operands of all executions side by side.
std::vector<uint64_t> operands(const UnaryForm& form) {
  std::vector<uint64_t> values = sweep(form.sweep);
  const bool is_pairs = form.sweep.find(':') != std::string::npos;
  const size_t multiple = is_pairs ? 2 * kBlock : kBlock;
  values.resize((values.size() + multiple - 1) / multiple * multiple, values.front());
  if (!form.pair || is_pairs) return values;
  std::vector<uint64_t> pairs;
  for (size_t i = 0; i < values.size(); ++i) {
    pairs.push_back(values[i]);
    pairs.push_back(values[values.size() - 1 - i]);
  }
  return pairs;
}

}  // namespace

bool UnaryForm::has(std::string_view modifier) const {
  for (const std::string& part : split(name))
    if (part == modifier) return true;
  return false;
}

std::vector<UnaryForm> all_unary_forms() {
  std::vector<UnaryForm> forms;
  for (const Group& group : kConversions)
    for (const std::string& types : words(group.types))
      for (const std::string& modifiers : words(group.modifiers))
        forms.push_back(make("cvt." + (modifiers == "-" ? types : modifiers + "." + types)));
  for (const std::string& name : words(kOthers)) forms.push_back(make(name));
  // Where the ISA states an error for a range, a sweep of that range.
  for (const char* name : {"sin.approx.f32", "sin.approx.ftz.f32", "cos.approx.f32", "cos.approx.ftz.f32"})
    for (const char* range : {"f32<6.28318", "f32<314.159"}) {
      forms.push_back(make(name));
      forms.back().sweep = range;
    }
  for (const std::string& name : words(kPairs)) {
    UnaryForm form = make(name);
    form.pair = true;
    form.sweep = form.from + (form.opcode == "mul" ? ":a*b" : form.opcode == "div" ? ":a/b" : ":a*b+c");
    forms.push_back(form);
  }
  return forms;
}

size_t executions(const UnaryForm& form, const std::vector<uint8_t>& input) {
  return input.size() / (form.from_bits / 8 * (form.pair ? 2 : 1));
}

std::vector<uint8_t> input_bytes(const UnaryForm& form) {
  const std::vector<uint64_t> values = operands(form);
  const size_t size = form.from_bits / 8;
  std::vector<uint8_t> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(bytes.data() + i * size, &values[i], size);
  return bytes;
}

std::string kernel_text(const UnaryForm& form) {
  const auto reg = [](unsigned bits, int index) { return fmt::format("%{}{}", bits == 16 ? 'h' : bits == 32 ? 'r' : 'd', index); };
  const std::string result = reg(form.to_bits, 10), a = reg(form.from_bits, 11), b = reg(form.from_bits, 12);
  const unsigned stride = form.from_bits / 8 * (form.pair ? 2 : 1);
  std::string text =
      ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      "  .reg .b16 %h<16>; .reg .b32 %r<16>; .reg .b64 %d<16>;\n"
      "  ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out];\n"
      "  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r0, %r1, %r2;\n";
  text += fmt::format("  mul.wide.u32 %d2, %r3, {}; add.u64 %d2, %d0, %d2;\n", stride);
  text += fmt::format("  mul.wide.u32 %d3, %r3, {}; add.u64 %d3, %d1, %d3;\n", form.to_bits / 8);
  text += fmt::format("  ld.global.b{} {}, [%d2];\n", form.from_bits, a);
  if (form.pair) text += fmt::format("  ld.global.b{} {}, [%d2+{}];\n", form.from_bits, b, form.from_bits / 8);
  const bool fused = form.opcode == "fma";
  const std::string c = reg(form.from_bits, 13);
  if (fused) text += fmt::format("  mov.b{} {}, {};\n", form.from_bits, c, form.from == "f16" ? "0x0400" : "0x00800000");
  text += fmt::format("  {} {}, {}{}{};\n", form.name, result, a, form.pair ? ", " + b : "", fused ? ", " + c : "");
  text += fmt::format("  st.global.b{} [%d3], {};\n  ret;\n}}\n", form.to_bits, result);
  return text;
}

}  // namespace kw::golden
