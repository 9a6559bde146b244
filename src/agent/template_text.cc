#include "agent/template_text.h"

#include <fmt/args.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace kw::agent {
namespace {

using problem::DType;
using problem::Op;

constexpr const char* kMinimum = "({0} < {1} || {0} != {0} ? {0} : {1})", *kMaximum = "({0} > {1} || {0} != {0} ? {0} : {1})";   // NaN comes through

// In fp32, of operands {0}, {1}, …
const std::map<Op, const char*>& expressions() {
  static const std::map<Op, const char*> table = {
      {Op::kNegate, "-{0}"}, {Op::kAbs, "fabsf({0})"}, {Op::kFloor, "floorf({0})"}, {Op::kCeil, "ceilf({0})"}, {Op::kTrunc, "truncf({0})"}, {Op::kRound, "rintf({0})"},
      {Op::kSign, "({0} > 0 ? 1.0f : {0} < 0 ? -1.0f : {0})"}, {Op::kNot, "!{0}"}, {Op::kIsNan, "({0} != {0})"}, {Op::kIsFinite, "(fabsf({0}) <= 3.402823466e38f)"},
      {Op::kMinimum, kMinimum}, {Op::kMaximum, kMaximum}, {Op::kEqual, "{0} == {1}"}, {Op::kNotEqual, "{0} != {1}"}, {Op::kLess, "{0} < {1}"},
      {Op::kLessEqual, "{0} <= {1}"}, {Op::kGreater, "{0} > {1}"}, {Op::kGreaterEqual, "{0} >= {1}"}, {Op::kAnd, "{0} && {1}"}, {Op::kOr, "{0} || {1}"},
      {Op::kWhere, "{0} ? {1} : {2}"}, {Op::kBroadcast, "{0}"}, {Op::kStore, "{0}"}, {Op::kAdd, "{0} + {1}"}, {Op::kSubtract, "{0} - {1}"}, {Op::kMultiply, "{0} * {1}"},
      {Op::kDivide, "{0} / {1}"}, {Op::kPower, "powf({0}, {1})"}, {Op::kExp, "expf({0})"}, {Op::kExp2, "exp2f({0})"}, {Op::kExpm1, "expm1f({0})"}, {Op::kLog, "logf({0})"},
      {Op::kLog2, "log2f({0})"}, {Op::kLog1p, "log1pf({0})"}, {Op::kSqrt, "sqrtf({0})"}, {Op::kRsqrt, "rsqrtf({0})"}, {Op::kTanh, "tanhf({0})"}, {Op::kErf, "erff({0})"},
      {Op::kSin, "sinf({0})"}, {Op::kCos, "cosf({0})"}, {Op::kTan, "tanf({0})"}, {Op::kAsin, "asinf({0})"}, {Op::kAcos, "acosf({0})"}, {Op::kAtan, "atanf({0})"},
      {Op::kAtan2, "atan2f({0}, {1})"}, {Op::kSinh, "sinhf({0})"}, {Op::kCosh, "coshf({0})"}, {Op::kAsinh, "asinhf({0})"}, {Op::kAcosh, "acoshf({0})"}, {Op::kAtanh, "atanhf({0})"},
      {Op::kErfc, "erfcf({0})"}, {Op::kLog10, "log10f({0})"}, {Op::kLgamma, "lgammaf({0})"}, {Op::kCbrt, "cbrtf({0})"}, {Op::kHypot, "hypotf({0}, {1})"}};
  return table;
}

std::string number(double value) {
  if (std::isnan(value)) return "__int_as_float(0x7fffffff)";
  if (std::isinf(value)) return value > 0 ? "__int_as_float(0x7f800000)" : "__int_as_float(0xff800000)";
  return fmt::format("static_cast<float>({:.17g})", value);
}

}  // namespace

const char* type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "float";
    case DType::kF16: return "__half";
    case DType::kBF16: return "__nv_bfloat16";
    default: return nullptr;
  }
}

tl::unexpected<Error> no_template(const problem::Problem& problem, std::string why) {
  return fail(Error{ErrorCode::kUnsupported, fmt::format("there is no template for {}: {}", problem.file, why), {}, {}, {"give a kernel to start from: --from KERNEL.cu; or let a language model write the first one: --llm"}});
}

bool all_one(const problem::SymbolicShape& shape) { return std::all_of(shape.begin(), shape.end(), is_one); }

Status has_names_free(const problem::Problem& problem, std::initializer_list<std::string_view> taken) {
  const auto check = [&](const std::string& name) -> Status {
    if (std::find(taken.begin(), taken.end(), name) != taken.end()) return no_template(problem, fmt::format("the kernel would need the name '{}' for itself", name));
    return {};
  };
  for (const auto* tensors : {&problem.inputs, &problem.outputs})
    for (const problem::TensorDecl& tensor : *tensors) KW_TRY_VOID(check(tensor.name));
  for (const problem::Axis& axis : problem.axes) KW_TRY_VOID(check(axis.name));
  return {};
}

std::vector<bool> needed_nodes(const problem::Problem& problem) {
  const auto& nodes = problem.graph.nodes;
  std::vector<bool> needed(nodes.size(), false);
  for (const auto& output : problem.outputs) needed[static_cast<size_t>(output.node)] = true;
  for (size_t i = nodes.size(); i-- > 0;)
    if (needed[i])
      for (const problem::NodeId operand : nodes[i].operands) needed[static_cast<size_t>(operand)] = true;
  return needed;
}

bool only_adds_ones(const problem::SymbolicShape& from, const problem::SymbolicShape& to) {
  problem::SymbolicShape a, b;
  std::copy_if(from.begin(), from.end(), std::back_inserter(a), [](const problem::Dim& dim) { return !is_one(dim); });
  std::copy_if(to.begin(), to.end(), std::back_inserter(b), [](const problem::Dim& dim) { return !is_one(dim); });
  return a == b;
}

Result<std::string> number_of(const problem::Problem& problem, const problem::Node& node, std::vector<std::string>& axes) {
  if (node.op == Op::kConstant) return node.kind == problem::Kind::kBoolean ? std::string(node.value != 0 ? "true" : "false") : number(node.value);
  if (node.start.constant()) return number(static_cast<double>(*node.start.constant()));
  std::vector<std::string> names;
  node.start.collect_axes(names);
  if (names.size() != 1 || node.start != problem::Dim::axis(names[0])) return no_template(problem, "it computes with a size that is no axis");
  if (std::find(axes.begin(), axes.end(), names[0]) == axes.end()) axes.push_back(names[0]);
  return "static_cast<float>(axis_" + names[0] + ")";
}

Result<std::string> expression_of(const problem::Problem& problem, const problem::Node& node, const std::vector<std::string>& operands) {
  std::string form;
  if (const auto found = expressions().find(node.op); found != expressions().end()) form = found->second;
  if (node.op == Op::kCast && node.dtype && type_of(*node.dtype) != nullptr && !node.saturate && node.rounding == tensor::Rounding::kNearestEven)
    form = fmt::format("kw::to_float(kw::from_float<{}>({{0}}))", type_of(*node.dtype));
  if (form.empty()) return no_template(problem, fmt::format("'{}' is not done element by element here", problem::op_name(node.op)));
  const auto computes_with_integers = [&](const problem::Node& each) { return each.kind == problem::Kind::kInteger && !is_number(each); };
  const auto& nodes = problem.graph.nodes;
  if (computes_with_integers(node) || std::any_of(node.operands.begin(), node.operands.end(), [&](problem::NodeId id) { return computes_with_integers(nodes[static_cast<size_t>(id)]); }))
    return no_template(problem, "it computes with integers");
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const std::string& operand : operands) arguments.push_back(operand);
  return fmt::vformat(form, arguments);
}

Status Signature::add(const problem::Problem& problem, const problem::TensorDecl& tensor, bool output) {
  const char* type = type_of(tensor.dtype);
  if (type == nullptr) return no_template(problem, fmt::format("{} {} is {}", output ? "output" : "input", tensor.name, tensor::name_of(tensor.dtype)));
  if (std::find(tensors_.begin(), tensors_.end(), tensor.name) != tensors_.end()) return {};
  tensors_.push_back(tensor.name);
  widest = std::max(widest, tensor::bits_of(tensor.dtype) / 8);
  parameters += fmt::format("{}{}* {}, ", output ? "" : "const ", type, tensor.name);
  arguments += fmt::format("{}.data<{}>(), ", tensor.name, type);
  entry += fmt::format("kw::{} {}, ", output ? "Out" : "In", tensor.name);
  return {};
}

Status Signature::add_input(const problem::Problem& problem, const problem::TensorDecl& input) { return add(problem, input, false); }
Status Signature::add_output(const problem::Problem& problem, const problem::TensorDecl& output) { return add(problem, output, true); }

void Signature::add_size(const std::string& name, const std::string& value) {
  parameters += fmt::format("int64_t {}, ", name);
  arguments += value + ", ";
}

void Signature::add_axes(const std::vector<std::string>& axes) {
  for (const std::string& axis : axes) {
    add_size("axis_" + axis, axis);
    entry += fmt::format("int64_t {}, ", axis);
  }
}

std::string Signature::vectors() const {
  std::string out;
  for (unsigned elements = 1; elements * widest <= 16; elements *= 2) out += fmt::format(" {}", elements);
  return out;
}

}  // namespace kw::agent
