#include "problem/evaluate.h"

#include <new>

#include "base/parallel.h"
#include "problem/interpreter.h"
#include "problem/python_calls.h"

namespace kw::problem {
namespace {

Status check_inputs(const Problem& problem, const Workload& workload,
                    const std::vector<tensor::Tensor>& inputs) {
  if (inputs.size() != problem.inputs.size())
    return fail(ErrorCode::kInvalid, "'{}' takes {} inputs, {} were given", problem.name,
                problem.inputs.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    KW_TRY(const tensor::Shape shape, shape_of(problem.inputs[i], workload));
    if (inputs[i].dtype() != problem.inputs[i].dtype || inputs[i].shape() != shape)
      return fail(ErrorCode::kInvalid, "input '{}' of workload '{}' is {}{}, but {} was given",
                  problem.inputs[i].name, workload.name, tensor::name_of(problem.inputs[i].dtype),
                  tensor::shape_text(shape), inputs[i].description());
  }
  return {};
}

// After all that can be checked before anything is allocated.
Result<NodeShapes> plan_of(const Problem& problem, const Workload& workload, const std::vector<tensor::Tensor>& inputs,
                           const EvaluateOptions& options, std::int64_t slice_bytes = 0) {
  KW_TRY_VOID(check_workload(problem, workload));
  KW_TRY_VOID(check_inputs(problem, workload, inputs));
  KW_TRY(NodeShapes plan, node_shapes(problem, workload.axes, options.keep_names, {slice_bytes, threads_of(options)}));
  if (plan.peak_bytes > static_cast<double>(options.memory_limit))
    return fail(ErrorCode::kLimit,
                "the fp64 reference of '{}' on workload '{}' needs {:.0f} MiB, more than the limit of {} "
                "MiB; choose a smaller workload",
                problem.name, workload.name, plan.peak_bytes / (1 << 20), options.memory_limit >> 20);
  if (plan.operations > options.operation_limit)
    return fail(ErrorCode::kLimit,
                "the fp64 reference of '{}' on workload '{}' takes {:.1f} G operations, more than the limit "
                "of {:.1f} G; choose a smaller "
                "workload",
                problem.name, workload.name, plan.operations / 1e9, options.operation_limit / 1e9);
  return plan;
}

template <typename Run>
auto with_memory(const Problem& problem, const Workload& workload, const Run& run) -> decltype(run()) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kLimit,
                "no memory for the reference of '{}' on workload '{}'; choose a smaller workload",
                problem.name, workload.name);
  }
}

}  // namespace

int threads_of(const EvaluateOptions& options) { return options.threads > 0 ? options.threads : available_cores(); }

Result<double> seconds_left(const EvaluateOptions& options) {
  const std::chrono::duration<double> left = options.deadline - std::chrono::steady_clock::now();
  if (left.count() <= 0) return fail(ErrorCode::kLimit, "the time for the reference is over");
  return left.count();
}

std::shared_ptr<PythonCalls> make_python_calls() { return std::make_shared<PythonCalls>(); }

Result<Evaluation> evaluate(const Problem& problem, const Workload& workload,
                            const std::vector<tensor::Tensor>& inputs, const EvaluateOptions& options) {
  KW_TRY(NodeShapes plan, plan_of(problem, workload, inputs, options, options.slice_bytes));
  return with_memory(problem, workload, [&] { return Interpreter(problem, workload, inputs, options).run(std::move(plan)); });
}

Result<NodeValues> evaluate_nodes(const Problem& problem, const Workload& workload,
                                  const std::vector<tensor::Tensor>& inputs, const EvaluateOptions& options) {
  KW_TRY(NodeShapes plan, plan_of(problem, workload, inputs, options));
  double bytes = 0;
  for (std::size_t i = 0; i < plan.counts.size(); ++i) bytes += plan.live[i] ? 8.0 * static_cast<double>(plan.counts[i]) : 0;
  if (bytes > static_cast<double>(options.memory_limit))
    return fail(ErrorCode::kLimit, "the values of '{}' take {:.0f} MiB together, more than the limit of {} MiB", problem.name,
                bytes / (1 << 20), options.memory_limit >> 20);
  return with_memory(problem, workload, [&] { return Interpreter(problem, workload, inputs, options).run_and_keep(std::move(plan)); });
}

Result<Evaluation> evaluate_changed(const Problem& problem, const Workload& workload,
                                    const std::vector<tensor::Tensor>& inputs, const EvaluateOptions& options,
                                    const NodeValues& before, const std::vector<NodeId>& changed) {
  KW_TRY(NodeShapes plan, plan_of(problem, workload, inputs, options));
  return with_memory(problem, workload, [&] {
    return Interpreter(problem, workload, inputs, options).run_changed(std::move(plan), before, changed);
  });
}

}  // namespace kw::problem
