// kw problem evaluate: the reference's own answer, as files that NumPy and PyTorch read.
#include "command/command.h"
#include "command/problem_values.h"
#include "problem/admit.h"
#include "problem/inputs.h"

namespace kw::command {
namespace {

Result<int> run(const Invocation& invocation, const Output& output) {
  KW_TRY(const auto parsed, problem::load_problem(invocation.text("problem")));
  const problem::Workload* workload = invocation.has("workload") ? parsed.find_workload(invocation.text("workload"))
                                                                 : problem::admission_workload(parsed);
  if (workload == nullptr)
    return fail(ErrorCode::kNotFound, "{} has no workload '{}'", parsed.name, invocation.text("workload"));
  std::vector<tensor::Tensor> inputs;
  if (invocation.has("inputs")) {
    KW_TRY(inputs, read_inputs(parsed, *workload, invocation.text("inputs")));
  } else {
    KW_TRY(inputs, problem::make_inputs(parsed, *workload, invocation.integer("seed", 1)));
  }
  KW_TRY(const auto evaluation, problem::evaluate(parsed, *workload, inputs));
  const std::string folder = invocation.text("out");
  if (!invocation.has("inputs")) {
    for (size_t i = 0; i < inputs.size(); ++i) KW_TRY_VOID(write_tensor(folder + "/inputs", parsed.inputs[i].name, inputs[i]));
  }
  for (size_t i = 0; i < parsed.outputs.size(); ++i)
    KW_TRY_VOID(write_tensor(folder + "/outputs", parsed.outputs[i].name, evaluation.outputs[i]));
  output.out(fmt::format("{} on {}: {} inputs, {} outputs in {}\n", parsed.name, workload->name, inputs.size(),
                         evaluation.outputs.size(), folder));
  return 0;
}

}  // namespace

Command problem_evaluate_command() {
  return {{"problem", "evaluate"},
          "evaluate the reference in fp64; inputs and outputs as NumPy files",
          "Writes OUT/inputs/NAME.npy and OUT/outputs/NAME.npy; outputs are f64 and not rounded. With --inputs the values are\n"
          "read from there instead of being made from the seed.",
          {{"problem", ArgumentKind::kPath, true, true, "", "a problem file (docs/formats/problem.md)", {}},
           {"workload", ArgumentKind::kText, false, false, "", "its name; default: the one with the role emulator", {}},
           {"seed", ArgumentKind::kInteger, false, false, "1", "seed of the inputs", {}},
           {"inputs", ArgumentKind::kPath, false, false, "", "a folder with NAME.npy for every input", {}},
           {"out", ArgumentKind::kPath, false, true, "", "the folder to write", {}}},
          run};
}

}  // namespace kw::command
