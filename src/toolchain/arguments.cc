#include "toolchain/arguments.h"

#include <cmath>

#include "base/check.h"

namespace kw::toolchain {
namespace {

Argument tensor_argument(Argument::Kind kind, const problem::TensorDecl& declaration, const problem::Workload& workload) {
  Argument argument;
  argument.kind = kind;
  argument.name = declaration.name;
  argument.dtype = std::string(tensor::name_of(declaration.dtype));
  auto shape = problem::shape_of(declaration, workload);
  KW_CHECK(shape.has_value());  // the workload was checked
  argument.shape = *shape;
  return argument;
}

}  // namespace

Workload arguments_of(const problem::Problem& problem, const problem::Workload& workload) {
  using Kind = Argument::Kind;
  Workload out;
  for (const auto& input : problem.inputs) out.arguments.push_back(tensor_argument(Kind::kInput, input, workload));
  for (const auto& output : problem.outputs) out.arguments.push_back(tensor_argument(Kind::kOutput, output, workload));
  for (const auto& piece : problem.pieces) out.arguments.push_back(tensor_argument(Kind::kPiece, piece, workload));
  for (const auto& [name, value] : workload.axes) {
    Argument argument;
    argument.kind = Kind::kInteger;
    argument.name = name;
    argument.integer = value;
    out.arguments.push_back(argument);
  }
  for (const auto& attribute : problem.attributes) {
    Argument argument;
    argument.name = attribute.name;
    argument.kind = Kind::kReal;
    argument.real = attribute.value;
    if (std::abs(attribute.value) < 0x1p53 && attribute.value == std::trunc(attribute.value)) {
      argument.kind = Kind::kInteger;  // a float or double parameter takes it too
      argument.integer = static_cast<int64_t>(attribute.value);
    }
    out.arguments.push_back(argument);
  }
  return out;
}

}  // namespace kw::toolchain
