#include "profile/estimate.h"

#include <algorithm>
#include <cmath>

namespace kw::profile {
namespace {

constexpr double kStreamShare = 0.9;
constexpr double kIssueClocks = 4, kL1Clocks = 35, kL2Clocks = 260, kDramClocks = 650, kSharedClocks = 25, kBarrierClocks = 30;
constexpr double kL2Slices = 64;   // lines that take atomics at once, at the most

// Results a clock and SM of classes that the specification does not tell apart: CUDA C++ Programming Guide.
constexpr double kIntegerLanes = 64, kConversionLanes = 64, kSpecialLanes = 16;

double lanes_of(double tflops, double sms, double clock, double otherwise) {
  return tflops > 0 ? tflops * 1e12 / (2 * sms * clock) : otherwise;
}

}  // namespace

double Work::issued() const {
  double sum = 0;
  for (const double n : instructions) sum += n;
  return sum;
}

Time::Resource Time::bound() const {
  return static_cast<Resource>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
}

std::string_view name_of(Time::Resource resource) {
  switch (resource) {
    case Time::kDram: return "DRAM";
    case Time::kL2: return "L2";
    case Time::kLsu: return "load/store path";
    case Time::kStarts: return "block starts";
    case Time::kIssue: return "instruction issue";
    case Time::kFp32: return "fp32";
    case Time::kFp64: return "fp64";
    case Time::kInteger: return "integer";
    case Time::kConversion: return "conversion";
    case Time::kSpecial: return "special functions";
    case Time::kTensor: return "tensor cores";
    case Time::kAtomics: return "atomics";
    case Time::kLatency: return "latency";
    case Time::kResources: break;
  }
  return "unknown";
}

// A part whose clock is not published: a common one.
double clock_hz(const arch::Target& target) { return (target.part.boost_mhz > 0 ? target.part.boost_mhz : 1700) * 1e6; }

double tensor_peak(const arch::Target& target, tensor::DType dtype) {
  using tensor::DType;
  const arch::ReferencePart& part = target.part;
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16: return part.tensor_fp16_tflops * 1e12;
    case DType::kTF32: return part.tensor_tf32_tflops * 1e12;
    case DType::kF64: return part.tensor_fp64_tflops * 1e12;
    case DType::kI8:
    case DType::kU8:
    case DType::kI4:
    case DType::kU4: return part.tensor_int8_tops * 1e12;
    case DType::kE4M3:
    case DType::kE5M2: return part.tensor_fp8_tflops * 1e12;
    case DType::kE3M2:
    case DType::kE2M3: return part.tensor_fp8_tflops * 1e12;
    case DType::kE2M1: return part.tensor_fp4_tflops * 1e12;
    default: return 0;
  }
}

Time estimate(const Work& work, const arch::Target& target) {
  using C = emu::Counters;
  const arch::ReferencePart& part = target.part;
  const double sms = std::max(1, part.sm_count), clock = clock_hz(target);
  const double launches = std::max(1.0, work.launches), blocks = std::max(1.0, work.blocks / launches);
  // Clocks of all SMs together → seconds on the SM with the most blocks.
  const double seconds = std::ceil(blocks / sms) / blocks / clock;
  const auto& n = work.instructions;

  Time time;
  auto& t = time.seconds;
  t[Time::kDram] = part.dram_gbps > 0 ? work.dram_bytes / (kStreamShare * part.dram_gbps * 1e9) : 0;
  t[Time::kL2] = (work.l2_bytes / kSectorBytes + 4 * work.l2_spills) * seconds;
  t[Time::kLsu] = (work.line_passes + work.spills + work.shared_passes) * seconds;
  t[Time::kStarts] = work.blocks / clock;
  t[Time::kIssue] = (work.issued() + work.spills) / target.limits.sub_partitions * seconds;
  t[Time::kFp32] = (n[C::kFloat32] + n[C::kHalf]) * 32 / lanes_of(part.fp32_tflops, sms, clock, 128) * seconds;
  t[Time::kFp64] = n[C::kFloat64] * 32 / lanes_of(part.fp64_tflops, sms, clock, 2) * seconds;
  t[Time::kInteger] = n[C::kInteger] * 32 / kIntegerLanes * seconds;
  t[Time::kConversion] = n[C::kConversion] * 32 / kConversionLanes * seconds;
  t[Time::kSpecial] = n[C::kSpecialFunction] * 32 / kSpecialLanes * seconds;
  if (const double peak = tensor_peak(target, work.tensor_dtype); work.tensor_operations > 0 && peak > 0) {
    t[Time::kTensor] = work.tensor_operations / peak * (std::ceil(blocks / sms) * sms / blocks);
  }
  t[Time::kAtomics] = work.atomic_updates / std::min(kL2Slices, std::max(1.0, work.atomic_lines)) / clock;

  const double warps = std::max(1.0, work.blocks * work.warps_per_block);
  const double of_a_load = work.l1_share * kL1Clocks + (1 - work.l1_share) * (work.l2_share * kL2Clocks + (1 - work.l2_share) * kDramClocks);
  const double of_a_warp = (work.issued() / warps * kIssueClocks + work.shared_loads * kSharedClocks / 4) * work.warp_imbalance +
                           work.load_waits * of_a_load * work.load_imbalance + work.barriers * kBarrierClocks;
  const double waves = std::ceil(blocks / (sms * std::max(1.0, work.blocks_per_sm)));
  t[Time::kLatency] = launches * (waves - 1 + work.block_imbalance) * of_a_warp / clock;

  double sum = 0;
  for (const double each : t) sum += each * each * each * each;
  time.launch = work.launches * kLaunchSeconds;
  time.total = std::sqrt(std::sqrt(sum)) + time.launch;
  return time;
}

}  // namespace kw::profile
