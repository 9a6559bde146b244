// Tools about what the instructions are: lanes that idle, work that the problem does not ask for, slow forms.
#include <fmt/format.h>

#include <algorithm>

#include "profile/tools.h"

namespace kw::profile {
namespace {

using C = emu::Counters;

bool is(const Site& site, std::string_view opcode) {
  const std::string& text = site.party.instruction;
  size_t at = 0;
  if (text.starts_with('@')) at = text.find(' ') + 1;
  return text.compare(at, opcode.size(), opcode) == 0;
}

// The source line that does most of what `weight` says.
template <typename Weight>
const Site* heaviest(const Subject& subject, const Kernel& kernel, Weight weight, double* sum = nullptr) {
  std::map<std::pair<std::string, uint32_t>, double> by_line;
  std::map<std::pair<std::string, uint32_t>, const Site*> first;
  for (const Site& site : kernel.sites) {
    const double each = weight(site);
    if (each <= 0) continue;
    if (sum != nullptr) *sum += each;
    const Advice place = advice_at(subject, site.party);
    by_line[{place.file, place.line}] += each;
    first.try_emplace({place.file, place.line}, &site);
  }
  const auto most = std::max_element(by_line.begin(), by_line.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == by_line.end() ? nullptr : first[most->first];
}

// Trigger: of the lanes of full warps, a quarter or more sit out. Gain: the same lanes in fewer warp instructions.
std::optional<Advice> divergence(const Subject& subject, const Kernel& kernel) {
  double idle = 0, lanes = 0;
  const double full = std::min(1.0, kernel.counted_launched.threads / (32.0 * ((kernel.counted_launched.threads + 31) / 32)));
  for (const Site& site : kernel.sites) lanes += 32 * full * site.warps;
  const Site* worst = heaviest(subject, kernel, [&](const Site& site) { return std::max(0.0, 32 * full * site.warps - site.threads); }, &idle);
  if (worst == nullptr || idle < 0.25 * lanes || kernel.counters.divergent_branches == 0) return std::nullopt;
  Advice advice = advice_at(subject, worst->party);
  advice.saw = fmt::format("{:.0f} % of the lanes are idle: {} of {} branches split their warp", 100 * idle / lanes, kernel.counters.divergent_branches, kernel.counters.branches);
  advice.try_this = "let the condition be the same for all threads of a warp: order the work so that neighbours take the same way, or replace the branch by a select";
  Work work = kernel.work;
  for (double& n : work.instructions) n *= 1 - idle / lanes;
  advice.gain = subject.gain(kernel, work);
  return advice;
}

// Trigger: divisions and remainders of integers, at what they expand to, are a tenth of the instructions or more.
// (About 20 instructions for 32 bits and 70 for 64: the routines that nvcc puts there.) Gain: without them.
std::optional<Advice> integer_division(const Subject& subject, const Kernel& kernel) {
  double expanded = 0;
  const Site* most = heaviest(subject, kernel, [](const Site& site) {
    if (site.instruction_class != C::kInteger || (!is(site, "div.") && !is(site, "rem."))) return 0.0;
    return site.warps * (site.party.instruction.find("64") != std::string::npos ? 70 : 20);
  }, &expanded);
  if (most == nullptr || expanded < 0.1 * (kernel.totals.instructions + expanded)) return std::nullopt;
  Advice advice = advice_at(subject, most->party);
  advice.saw = fmt::format("integer division and remainder come to {:.0f} % of the instructions executed", 100 * expanded / (kernel.totals.instructions + expanded));
  advice.try_this = "take indices apart by blockIdx and threadIdx instead of dividing; divide by constants or powers of two; 32 bits where they suffice; or advance the index from the last one";
  Work slow = kernel.work;   // the emulator counts a division as one instruction
  slow.instructions[C::kInteger] += expanded;
  advice.gain = subject.gain_from(kernel, slow);
  return advice;
}

// Trigger: more than half of the instructions are integer arithmetic, though the problem computes on real numbers, and
// no resource takes twice as long as issuing them. (Beside tensor cores the index arithmetic of a loop costs nothing.)
// Gain: half of it gone.
std::optional<Advice> address_arithmetic(const Subject& subject, const Kernel& kernel) {
  const double integers = kernel.totals.warps[C::kInteger];
  if (integers < 0.5 * kernel.totals.instructions || kernel.work.tensor_operations > 0) return std::nullopt;
  const auto& t = kernel.time.seconds;
  const double others = *std::max_element(t.begin(), t.begin() + Time::kLatency);
  if (std::max(t[Time::kIssue], t[Time::kInteger]) < 0.5 * others) return std::nullopt;
  const auto& outputs = subject.problem->outputs;
  if (!std::all_of(outputs.begin(), outputs.end(), [](const auto& output) { return tensor::is_float(output.dtype) && tensor::bits_of(output.dtype) >= 16; })) return std::nullopt;
  const Site* most = heaviest(subject, kernel, [](const Site& site) { return site.instruction_class == C::kInteger ? site.warps : 0.0; });
  if (most == nullptr) return std::nullopt;
  Advice advice = advice_at(subject, most->party);
  advice.saw = fmt::format("{:.0f} % of the instructions compute addresses and indices", 100 * integers / kernel.totals.instructions);
  advice.try_this = "advance pointers instead of computing them anew, use 32-bit offsets, let a thread do several elements an index apart, unroll with constant strides";
  Work work = kernel.work;
  work.instructions[C::kInteger] /= 2;
  advice.gain = subject.gain(kernel, work);
  return advice;
}

// Trigger: conversions are a fifth of the instructions or more. Gain: half of them, by packed forms.
std::optional<Advice> conversions(const Subject& subject, const Kernel& kernel) {
  const double all = kernel.totals.warps[C::kConversion];
  if (all < 0.2 * kernel.totals.instructions) return std::nullopt;
  const Site* most = heaviest(subject, kernel, [](const Site& site) { return site.instruction_class == C::kConversion ? site.warps : 0.0; });
  if (most == nullptr) return std::nullopt;
  Advice advice = advice_at(subject, most->party);
  advice.saw = fmt::format("{:.0f} % of the instructions convert between types", 100 * all / kernel.totals.instructions);
  advice.try_this = "convert two at a time (__float22half2_rn, __half22float2), convert once and keep the result, avoid detours over double or int";
  Work work = kernel.work;
  work.instructions[C::kConversion] /= 2;
  advice.gain = subject.gain(kernel, work);
  return advice;
}

// Trigger: exact division and roots, at what they expand to (about 10 instructions, with a call for rare cases), are a
// twentieth of the instructions or more. Gain: one or two instructions each.
std::optional<Advice> exact_division(const Subject& subject, const Kernel& kernel) {
  constexpr double kExpanded = 10;
  double slow = 0;
  const Site* most = heaviest(subject, kernel, [](const Site& site) {
    for (const char* form : {"div.rn.f32", "div.rn.ftz.f32", "sqrt.rn.f32", "sqrt.rn.ftz.f32", "rcp.rn.f32", "rcp.rn.ftz.f32"}) {
      if (is(site, form)) return site.warps * kExpanded;
    }
    return 0.0;
  }, &slow);
  if (most == nullptr || slow < 0.05 * (kernel.totals.instructions + slow)) return std::nullopt;
  Advice advice = advice_at(subject, most->party);
  advice.saw = fmt::format("correctly rounded division and roots come to {:.0f} % of the instructions executed", 100 * slow / (kernel.totals.instructions + slow));
  advice.try_this = "multiply by a reciprocal computed once, or use __fdividef or rsqrtf, which are a few units in the last place off (__frcp_rn is exact, and as slow): the judge's budget tells whether that may be";
  Work work = kernel.work;
  work.instructions[C::kFloat32] += slow;
  advice.gain = subject.gain_from(kernel, work);
  return advice;
}

// Trigger: fp64 arithmetic in a problem without fp64 tensors. Gain: the same in fp32.
std::optional<Advice> double_precision(const Subject& subject, const Kernel& kernel) {
  const double doubles = kernel.totals.warps[C::kFloat64];
  if (doubles == 0 || subject.has_dtype(tensor::DType::kF64)) return std::nullopt;
  const Site* most = heaviest(subject, kernel, [](const Site& site) { return site.instruction_class == C::kFloat64 ? site.warps : 0.0; });
  if (most == nullptr) return std::nullopt;
  Advice advice = advice_at(subject, most->party);
  advice.saw = fmt::format("{:.0f} % of the instructions are fp64 arithmetic; no tensor of the problem is fp64", 100 * doubles / kernel.totals.instructions);
  advice.try_this = "write constants with an f (1.0f), call the functions with an f (expf), accumulate in float, where long sums need it in several of them";
  Work work = kernel.work;
  work.instructions[C::kFloat32] += work.instructions[C::kFloat64];
  work.instructions[C::kFloat64] = 0;
  work.instructions[C::kConversion] /= 2;
  advice.gain = subject.gain(kernel, work);
  return advice;
}

bool has_tensor_form(const arch::Target& target, tensor::DType dtype) {
  using arch::Feature;
  switch (dtype) {
    case tensor::DType::kF16: return true;   // sm_70
    case tensor::DType::kBF16:
    case tensor::DType::kTF32: return target.has(Feature::kMmaBf16);
    case tensor::DType::kI8:
    case tensor::DType::kU8: return target.has(Feature::kMmaInt8);
    case tensor::DType::kI4:
    case tensor::DType::kU4: return target.has(Feature::kMmaInt4);
    case tensor::DType::kF64: return target.has(Feature::kMmaF64);
    case tensor::DType::kE4M3:
    case tensor::DType::kE5M2: return target.has(Feature::kFp8);
    default: return false;
  }
}

Work on_tensor_cores(const Subject& subject, const Kernel& kernel, tensor::DType dtype) {
  Work work = kernel.work;
  const double operations = subject.cost.matmul_operations * kernel.share;
  work.tensor_operations = operations;
  work.tensor_dtype = dtype;
  // An FMA of a warp is 64 operations; they go, and with them what fed them: an m16n8k16 does the work of 64 of them, and
  // a tile of 64 by 64 reads each operand 16 times less often than a thread that computes four outputs, and each element of
  // either operand once for 64 outputs.
  const double fmas = operations / 64, had = std::max(1.0, work.instructions[C::kFloat32] + work.instructions[C::kHalf] + work.instructions[C::kFloat64]);
  const double left = std::max(0.0, 1 - fmas / had);
  for (const auto each : {C::kFloat32, C::kHalf, C::kFloat64, C::kLoad, C::kConversion, C::kInteger, C::kMove, C::kControl, C::kPredicate}) {
    work.instructions[each] *= std::max(left, 1.0 / 32);
  }
  work.line_passes /= 16;
  work.l2_bytes = std::min(work.l2_bytes, operations / 64 * tensor::bits_of(dtype) / 8);
  work.shared_passes /= 8;
  work.load_waits /= 16;
  work.shared_loads /= 16;
  return work;
}

// Trigger: matrix products on a type that tensor cores take, and no tensor instruction; where memory would be too slow to
// keep even the other units busy, tensor cores are of no use. Gain: the products at their peak.
std::optional<Advice> tensor_cores(const Subject& subject, const Kernel& kernel) {
  if (!subject.matmul_dtype || !has_tensor_form(*subject.target, *subject.matmul_dtype)) return std::nullopt;
  if (std::any_of(subject.kernels.begin(), subject.kernels.end(), [](const Kernel& k) { return k.counters.tensor_operations > 0 || !k.ptx.tensor.empty(); })) return std::nullopt;
  if (!kernel.counted || &kernel != &subject.kernels.front()) return std::nullopt;
  const arch::ReferencePart& part = subject.target->part;
  const double bytes = subject.cost.input_bytes + subject.cost.output_bytes;
  if (subject.cost.matmul_operations * part.dram_gbps < bytes * part.fp32_tflops * 1e3) return std::nullopt;
  const Site* most = heaviest(subject, kernel, [](const Site& site) {
    return site.instruction_class == C::kFloat32 || site.instruction_class == C::kHalf || site.instruction_class == C::kFloat64 ? site.warps : 0.0;
  });
  Advice advice = most == nullptr ? advice_at_launch(kernel) : advice_at(subject, most->party);
  advice.saw = fmt::format("{:.0f} % of the problem's operations are products of {} matrices, and none runs on tensor cores",
                           100 * share_of(subject.cost.matmul_operations, subject.cost.operations), tensor::name_of(*subject.matmul_dtype));
  advice.try_this = "compute tiles with mma.sync (or wmma), operands through shared memory by ldmatrix, accumulators in registers";
  advice.gain = subject.gain(kernel, on_tensor_cores(subject, kernel, *subject.matmul_dtype));
  return advice;
}

// Trigger: fp32 matrix products on a target that has tf32. A question: the answer changes the result.
std::optional<Advice> precision(const Subject& subject, const Kernel& kernel) {
  if (subject.matmul_dtype != tensor::DType::kF32 || !has_tensor_form(*subject.target, tensor::DType::kTF32)) return std::nullopt;
  if (!kernel.counted || &kernel != &subject.kernels.front() || kernel.counters.tensor_operations > 0) return std::nullopt;
  Advice advice = advice_at_launch(kernel);
  advice.question = true;
  advice.saw = "the matrix products are fp32, which tensor cores do not take";
  advice.try_this = "may the operands be rounded to tf32 (10 bits of mantissa)? Only whoever owns the problem can say; as it stands the judge holds candidates to fp32";
  advice.gain = subject.gain(kernel, on_tensor_cores(subject, kernel, tensor::DType::kTF32));
  return advice;
}

}  // namespace

std::vector<Tool> instruction_tools() {
  return {
      {"divergence", "lanes that sit out while others take another way", kAll, divergence},
      {"integer_division", "division and remainder of indices", kAll, integer_division},
      {"address_arithmetic", "more index arithmetic than anything else", kAll, address_arithmetic},
      {"conversions", "conversions between types", kAll, conversions},
      {"exact_division", "correctly rounded division and roots", kAll, exact_division},
      {"double_precision", "fp64 that the problem does not ask for", kAll, double_precision},
      {"tensor_cores", "matrix products that leave the tensor cores idle", kCompute | kMemory | kMixed, tensor_cores},
      {"precision", "a type that would be faster, if the problem's owner allows it", kCompute | kMixed, precision},
  };
}

}  // namespace kw::profile
