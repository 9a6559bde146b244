#include "profile/roofline.h"

#include <fmt/format.h>

#include <algorithm>

namespace kw::profile {
namespace {

constexpr double kDecided = 2;   // times as long

Class class_of(double memory, double compute, double latency) {
  if (latency > kDecided * std::max(memory, compute)) return Class::kLatency;
  if (memory > kDecided * compute) return Class::kMemory;
  if (compute > kDecided * memory) return Class::kCompute;
  return Class::kMixed;
}

Class class_by_counters(const Subject& subject, Time::Resource& bound) {
  std::array<double, Time::kResources> sum{};
  for (const Kernel& kernel : subject.kernels) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += kernel.time.seconds[i];
  }
  bound = static_cast<Time::Resource>(std::max_element(sum.begin(), sum.end()) - sum.begin());
  double compute = 0;
  for (int i = Time::kIssue; i <= Time::kTensor; ++i) compute = std::max(compute, sum[static_cast<size_t>(i)]);
  const double memory = std::max({sum[Time::kDram], sum[Time::kL2], sum[Time::kLsu], sum[Time::kAtomics]});
  const double launches = static_cast<double>(subject.launches + subject.other_steps) * kLaunchSeconds;
  return class_of(memory, compute, std::max({sum[Time::kLatency], sum[Time::kStarts], launches}));
}

// What a node's values are kept in, as far as the reference says: through what only moves them.
std::optional<tensor::DType> dtype_of(const problem::Problem& problem, problem::NodeId id) {
  for (;;) {
    const problem::Node& node = problem.graph.nodes[static_cast<size_t>(id)];
    if (node.dtype) return node.dtype;
    if (node.op == problem::Op::kInput) return problem.inputs[static_cast<size_t>(node.input)].dtype;
    if (problem::op_group(node.op) != problem::OpGroup::kMove || node.operands.size() != 1) return std::nullopt;
    id = node.operands.front();
  }
}

// Over the time of all kernels. Both far below their peaks: what takes the time is waiting.
std::optional<Class> class_by_gpu(const Subject& subject, Roofline& out) {
  constexpr double kIdle = 0.4, kClear = 1.5;
  double memory = 0, compute = 0, seconds = 0;
  for (const Kernel& kernel : subject.kernels) {
    if (!kernel.hardware || !(*kernel.hardware)[Counter::kMemoryShare] || !(*kernel.hardware)[Counter::kComputeShare]) return std::nullopt;
    const double each = kernel.hardware->of(Counter::kSeconds);
    memory += each * kernel.hardware->memory_share();
    compute += each * kernel.hardware->of(Counter::kComputeShare);
    seconds += each;
  }
  if (seconds <= 0) return std::nullopt;
  out.memory_share = memory / seconds;
  out.compute_share = compute / seconds;
  if (std::max(memory, compute) < kIdle * seconds) return Class::kLatency;
  return memory >= kClear * compute ? Class::kMemory : compute >= kClear * memory ? Class::kCompute : Class::kMixed;
}

}  // namespace

std::optional<tensor::DType> matmul_dtype(const problem::Problem& problem, const problem::Cost& cost) {
  if (cost.matmul_operations < 0.5 * cost.operations || cost.operations <= 0) return std::nullopt;
  std::optional<tensor::DType> widest;
  for (const problem::Node& node : problem.graph.nodes) {
    if (node.op != problem::Op::kMatmul && node.op != problem::Op::kConv && node.op != problem::Op::kConvTranspose) continue;
    for (size_t i = 0; i < 2 && i < node.operands.size(); ++i) {
      const auto dtype = dtype_of(problem, node.operands[i]);
      if (dtype && (!widest || tensor::bits_of(*dtype) > tensor::bits_of(*widest))) widest = dtype;
    }
  }
  return widest;
}

std::string_view name_of(Class each) {
  switch (each) {
    case Class::kCompute: return "compute-bound";
    case Class::kMemory: return "memory-bound";
    case Class::kLatency: return "latency-bound";
    case Class::kMixed: return "mixed";
  }
  return "unknown";
}

std::string Roofline::why_by_counters() const {
  if (!memory_share) return fmt::format("most of the time goes to {}", name_of(bound));
  return fmt::format("on the GPU the memory system reaches {:.0f} % of its peak, the SMs {:.0f} %", 100 * *memory_share, 100 * *compute_share);
}

double Roofline::floor_seconds() const { return std::max(memory_seconds, compute_seconds); }

Roofline roofline(const Subject& subject, const std::optional<device::Calibration>& measured) {
  Roofline out;
  const arch::ReferencePart& part = subject.target->part;
  struct Peak {
    double rate = 0;
    bool measured = false;
  };
  const auto peak = [&](const char* name, double specified) {
    const device::Rate* rate = measured ? measured->best(name) : nullptr;
    return rate != nullptr ? Peak{rate->median, true} : Peak{specified, false};
  };
  out.bytes = subject.cost.input_bytes + subject.cost.output_bytes;
  out.needed_bytes = subject.cost.needed_bytes;
  out.operations = subject.cost.operations;
  out.matmul_operations = subject.cost.matmul_operations;
  const Peak dram = peak("DRAM read", part.dram_gbps * 1e9);
  out.bytes_per_second = dram.rate;
  const bool f64 = subject.has_dtype(tensor::DType::kF64);
  const Peak scalar = f64 && part.fp64_tflops > 0 ? peak("fp64 FMA", part.fp64_tflops * 1e12) : peak("fp32 FMA", part.fp32_tflops * 1e12);
  out.peak = f64 ? "fp64" : "fp32";
  Peak matrix = scalar;
  if (subject.matmul_dtype) {
    const bool by_mma = subject.target->number() < 90 || subject.target->number() >= 120;
    const tensor::DType dtype = *subject.matmul_dtype;
    const char* probe = by_mma && dtype == tensor::DType::kF16 ? "fp16 mma.sync" : by_mma && dtype == tensor::DType::kBF16 ? "bf16 mma.sync" : "";
    if (const Peak most = peak(probe, tensor_peak(*subject.target, dtype)); most.rate > scalar.rate) {
      matrix = most;
      out.peak = fmt::format("tensor cores, {}", tensor::name_of(*subject.matmul_dtype));
    }
  }
  if (out.bytes_per_second > 0) out.memory_seconds = out.bytes / out.bytes_per_second;
  if (scalar.rate > 0 && matrix.rate > 0) out.compute_seconds = (out.operations - out.matmul_operations) / scalar.rate + out.matmul_operations / matrix.rate;
  out.operations_per_second = out.compute_seconds > 0 ? out.operations / out.compute_seconds : scalar.rate;
  if (dram.measured) out.bytes_measured_on = measured->device;
  if (scalar.measured && matrix.measured) out.operations_measured_on = measured->device;

  out.by_problem = class_of(out.memory_seconds, out.compute_seconds, kLaunchSeconds);
  if (subject.uncounted.empty()) out.by_counters = class_by_counters(subject, out.bound);
  if (const auto by_gpu = class_by_gpu(subject, out)) out.by_counters = by_gpu;
  if (out.by_counters && out.by_problem != *out.by_counters) {
    out.conflict = fmt::format("the problem is {}, but this candidate spends its time as a {} one would ({}); the problem decides which tools run",
                               name_of(out.by_problem), name_of(*out.by_counters), out.why_by_counters());
  }
  return out;
}

Result<Roofline> roofline(const problem::Problem& problem, const problem::Workload& workload, const arch::Target& target) {
  Subject subject;
  subject.problem = &problem;
  subject.target = &target;
  subject.workload = workload;
  subject.uncounted = "no candidate";
  KW_TRY(subject.cost, problem::cost_of(problem, workload));
  subject.matmul_dtype = matmul_dtype(problem, subject.cost);
  return roofline(subject);
}

}  // namespace kw::profile
