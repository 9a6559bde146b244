// python(…): a value of a function of section python.
#include "problem/function.h"

namespace kw::problem {
namespace {

constexpr std::int64_t kMostOutputs = 64;

Result<NodeId> make_python(Call& call) {
  std::vector<NodeId> operands;
  for (std::size_t i = 1; i < call.positional(); ++i) {
    KW_TRY(const NodeId operand, call.tensor(i));
    operands.push_back(operand);
  }
  KW_TRY(SymbolicShape shape, call.shape(call.positional()));
  const Argument* dtype = call.find(call.positional(), "dtype");
  if (dtype != nullptr && !dtype->dtype)
    return fail(ErrorCode::kInvalid, "dtype says of what kind the values are, as in dtype=f32, dtype=i64, dtype=bool");
  KW_TRY(const auto output, call.axes(call.positional(), "output"));
  if (output && (output->size() != 1 || output->front() < 0 || output->front() >= kMostOutputs))
    return fail(ErrorCode::kInvalid, "output says which of the values that the function gives, as in output=0; below {}",
                kMostOutputs);
  return call.builder.python(*call.find(0, "")->function, std::move(operands),
                             output ? static_cast<std::int32_t>(output->front()) : 0,
                             dtype != nullptr ? kind_of(*dtype->dtype) : Kind::kReal, std::move(shape));
}

constexpr Function kFunctions[] = {
    {"python", "python(function, a, b, …, shape=[sizes], dtype=f32, output=0)", 1, kMostArguments, "shape dtype output", make_python},
};

}  // namespace

std::span<const Function> python_functions() { return kFunctions; }

}  // namespace kw::problem
