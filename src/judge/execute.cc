#include "judge/execute.h"

#include <cmath>

#include "judge/pattern.h"
#include "judge/values.h"
#include "problem/inputs.h"

namespace kw::judge {
namespace {

std::span<const uint8_t> as_u8(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

Result<Execution> call(device::LoadedPlan& loaded, const problem::Problem& problem, const Case& c,
                       const std::vector<tensor::Tensor>& inputs, const device::RunOptions& options) {
  KW_TRY_VOID(write_inputs(loaded, problem, c, inputs));
  Execution execution;
  KW_TRY(execution.report, loaded.run(options));
  if (execution.report.completed) KW_TRY_VOID(read_outputs(loaded, problem, c, execution));
  return execution;
}

}  // namespace

Case case_of(problem::Workload workload, bool chosen_by_judge) {
  WorkloadName name{workload.name, workload.axes, chosen_by_judge};
  return {std::move(workload), std::move(name), {}, false, {}, {}, {}};
}

Status write_inputs(device::LoadedPlan& loaded, const problem::Problem& problem, const Case& c, const std::vector<tensor::Tensor>& inputs) {
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    if (c.plan.find_buffer(problem.inputs[i].name) == nullptr) continue;
    KW_TRY_VOID(loaded.write(problem.inputs[i].name, as_u8(inputs[i].bytes())));
  }
  return {};
}

Status prepare(const problem::Problem& problem, Case& c, uint64_t seed, int threads, int64_t memory_limit) {
  if (c.prepared) return {};
  problem::EvaluateOptions options;
  options.threads = threads;
  options.memory_limit = memory_limit;
  KW_TRY(c.inputs, problem::make_inputs(problem, c.workload, seed));
  KW_TRY(c.reference, problem::evaluate(problem, c.workload, c.inputs, options));
  KW_TRY(c.tolerance, problem::derive_tolerance(problem, c.workload, c.inputs, &c.reference, options));
  c.prepared = true;
  return {};
}

bool is_representable(const problem::Problem& problem, const Case& c) {
  const bool specials = has_specials(c.workload);
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    if (!std::isfinite(c.tolerance.outputs[i].plain_error) || !std::isfinite(c.tolerance.outputs[i].disturbed_error)) return false;
    const tensor::FloatFormat* format = tensor::float_format(problem.outputs[i].dtype);
    const double largest = format == nullptr ? HUGE_VAL : tensor::decode(format->max_finite, problem.outputs[i].dtype);
    for (const double value : c.reference.outputs[i].f64()) {
      if (!(std::abs(value) <= largest) && !(specials && !std::isfinite(value))) return false;
    }
  }
  return true;
}

Result<Execution> execute(device::Device& device, const problem::Problem& problem, const Case& c,
                          const device::RunOptions& options, uint64_t layout_seed) {
  device::LoadOptions load_options;
  load_options.layout_seed = layout_seed;
  KW_TRY(auto loaded, device.load(c.plan, load_options));
  return call(*loaded, problem, c, c.inputs, options);
}

Result<Execution> execute(device::LoadedPlan& loaded, const problem::Problem& problem, const Case& c, const device::RunOptions& options) {
  return call(loaded, problem, c, c.inputs, options);
}

Status read_outputs(const device::LoadedPlan& loaded, const problem::Problem& problem, const Case& c, Execution& execution) {
  for (const auto& output : problem.outputs) {
    KW_TRY(auto shape, problem::shape_of(output, c.workload));
    KW_TRY(auto tensor, tensor::Tensor::zeros(output.dtype, shape));
    const auto bytes = tensor.bytes();
    KW_TRY_VOID(loaded.read(output.name, std::span<uint8_t>(reinterpret_cast<uint8_t*>(bytes.data()), bytes.size())));
    KW_TRY(const std::optional<uint64_t> byte, loaded.first_unwritten(output.name));
    std::optional<int64_t>& element = execution.unwritten.emplace_back();
    if (byte) element = static_cast<int64_t>(*byte * 8 / static_cast<uint64_t>(tensor::bits_of(output.dtype)));
    execution.outputs.push_back(std::move(tensor));
  }
  return {};
}

Result<std::vector<Execution>> execute_calls(device::Device& device, const problem::Problem& problem, const Case& c,
                                             std::span<const std::vector<tensor::Tensor>* const> inputs, const device::RunOptions& options) {
  KW_TRY(auto loaded, device.load(c.plan, {}));
  device::RunOptions run = options;
  std::vector<Execution> calls;
  for (const auto* each : inputs) {
    KW_TRY(auto call_made, call(*loaded, problem, c, *each, run));
    calls.push_back(std::move(call_made));
    if (!calls.back().report.clean()) break;
    run.keep_variables = true;
  }
  return calls;
}

Result<Comparison> compare(const problem::Problem& problem, const Case& c, const Execution& execution,
                           std::vector<Correct::Output>& metrics) {
  Comparison comparison;
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    // How a NaN gets from the inputs to the outputs is the kernel's affair: fmaxf may drop it on a way that meets it again.
    if (problem.outputs[i].piece && has_specials(c.workload)) continue;
    std::optional<Wrong>& wrong = problem.outputs[i].piece ? comparison.piece : comparison.output;
    const auto& got = execution.outputs[i];
    KW_TRY(auto measured, problem::compare_output(problem, c.workload, i, got, c.reference, c.tolerance));
    metrics.push_back({c.name, problem.outputs[i].name, measured});
    const std::optional<int64_t> unwritten = execution.unwritten[i];
    if ((measured.passed() && !unwritten) || wrong) continue;
    wrong.emplace();
    wrong->workload = c.name;
    wrong->first.tensor = problem.outputs[i].name;
    wrong->metrics = measured;
    wrong->tolerance = c.tolerance.outputs[i].text();
    KW_TRY(const auto failing, tensor::failing_elements(got, c.reference.outputs[i], c.tolerance.outputs[i].budget));
    wrong->pattern = pattern_of(got.shape(), failing);
    if (measured.first) {
      wrong->first.index = unflatten(got.shape(), measured.first->index);
      wrong->first.got = measured.first->got;
      wrong->first.expected = measured.first->reference;
      wrong->first.allowed = measured.first->allowed;
    }
    wrong->first.unwritten = unwritten && (!measured.first || *unwritten <= measured.first->index);
    if (wrong->first.unwritten && !measured.first) {   // it holds the right value, and not by any doing of the candidate's
      wrong->first.index = unflatten(got.shape(), *unwritten);
      wrong->first.got = got.at(*unwritten);
      wrong->first.expected = c.reference.outputs[i].at(*unwritten);
    }
  }
  if (comparison.output && comparison.piece) comparison.output->first_wrong_piece = comparison.piece->first;
  return comparison;
}

std::vector<int64_t> unflatten(const tensor::Shape& shape, int64_t flat) {
  std::vector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] <= 0) return index;
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return index;
}

}  // namespace kw::judge
