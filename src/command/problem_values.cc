#include "command/problem_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/file.h"
#include "tensor/npy.h"

namespace kw::command {
namespace {

constexpr uint64_t kLargestFile = uint64_t{8} << 30;

Result<tensor::Tensor> read_tensor(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name + ".npy";
  KW_TRY(const std::string bytes, read_file(path, kLargestFile));
  return tensor::parse_npy(bytes, path);
}

double rms(const std::vector<double>& values) {
  double sum = 0, count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value * value;
    ++count;
  }
  return count > 0 ? std::sqrt(sum / count) : 0;
}

}  // namespace

Result<std::vector<tensor::Tensor>> read_inputs(const problem::Problem& problem, const problem::Workload& workload,
                                                const std::string& folder) {
  std::vector<tensor::Tensor> inputs;
  for (const problem::TensorDecl& input : problem.inputs) {
    KW_TRY(tensor::Tensor given, read_tensor(folder, input.name));
    KW_TRY(const tensor::Shape shape, problem::shape_of(input, workload));
    if (given.shape() != shape)
      return fail(ErrorCode::kInvalid, "{}/{}.npy is {}; workload '{}' wants {}{}", folder, input.name, given.description(),
                  workload.name, tensor::name_of(input.dtype), tensor::shape_text(shape));
    if (given.dtype() != input.dtype) {
      KW_TRY(given, tensor::Tensor::from_doubles(input.dtype, shape, given.to_doubles()));
    }
    inputs.push_back(std::move(given));
  }
  return inputs;
}

Status write_tensor(const std::string& folder, const std::string& name, const tensor::Tensor& tensor) {
  auto bytes = tensor::npy_bytes(tensor);
  if (!bytes) {  // bf16, fp8, …: f64 holds them all
    KW_TRY(const tensor::Tensor wide, tensor::Tensor::from_doubles(tensor::DType::kF64, tensor.shape(), tensor.to_doubles()));
    bytes = tensor::npy_bytes(wide);
  }
  KW_TRY_VOID(make_folder(folder));
  return write_file(folder + "/" + name + ".npy", *bytes);
}

Result<double> difference(const problem::Problem& problem, const problem::Evaluation& got, const std::string& folder) {
  double worst = 0;
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    KW_TRY(const tensor::Tensor expected, read_tensor(folder, problem.outputs[i].name));
    if (expected.shape() != got.outputs[i].shape())
      return fail(ErrorCode::kInvalid, "output '{}' is {}, not {}", problem.outputs[i].name,
                  tensor::shape_text(got.outputs[i].shape()), tensor::shape_text(expected.shape()));
    const std::vector<double> want = expected.to_doubles(), have = got.outputs[i].to_doubles();
    const double scale = rms(want);
    for (size_t k = 0; k < want.size(); ++k) {
      if (want[k] == have[k] || (std::isnan(want[k]) && std::isnan(have[k]))) continue;
      const double off = std::abs(have[k] - want[k]) / (std::abs(want[k]) + scale);
      worst = std::max(worst, std::isnan(off) ? std::numeric_limits<double>::infinity() : off);
    }
  }
  return worst;
}

}  // namespace kw::command
