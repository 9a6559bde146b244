#include "judge/torch_device.h"

#include "base/file.h"
#include "base/source_text.h"
#include "base/subprocess.h"
#include "device/device_process.h"
#include "problem/python_place.h"

namespace kw::judge {
namespace {

constexpr int kUntranslated = 3;  // exit code of the translation (to_torch.py)
constexpr double kLoad_s = 300;   // a load also compiles and calls a first time

// The process reads the problem's text when it starts, and again when it has to be started once more.
class TorchDevice final : public device::Device {
 public:
  TorchDevice(TempDir folder, std::unique_ptr<device::Device> process) : folder_(std::move(folder)), process_(std::move(process)) {}
  device::Capabilities capabilities() const override { return process_->capabilities(); }
  Result<std::unique_ptr<device::LoadedPlan>> load(plan::Plan plan, const device::LoadOptions& options) override {
    auto loaded = process_->load(std::move(plan), options);
    if (!loaded && loaded.error().code == ErrorCode::kLimit)
      return fail(ErrorCode::kLimit, "{} within {:.0f} s: {}", "not compiled and called a first time", kLoad_s, loaded.error().message);
    return loaded;
  }

 private:
  TempDir folder_;
  std::unique_ptr<device::Device> process_;
};

Result<std::vector<std::string>> python_argv(std::vector<std::string> arguments) {
  KW_TRY(const problem::PythonPlace python, problem::find_python());
  KW_TRY(const std::string package, problem::find_python_package());
  return problem::python_argv(python, package, std::move(arguments));
}

Status add_buffers(plan::Plan& plan, const std::vector<problem::TensorDecl>& tensors, plan::Role role, const problem::Workload& workload, bool as_doubles) {
  for (const problem::TensorDecl& tensor : tensors) {
    KW_TRY(auto shape, problem::shape_of(tensor, workload));
    const tensor::DType dtype = as_doubles ? tensor::DType::kF64 : tensor.dtype;
    KW_TRY(const int64_t count, tensor::element_count(shape));
    plan::Buffer buffer;
    buffer.name = tensor.name;
    buffer.role = role;
    buffer.bytes = static_cast<uint64_t>(tensor::byte_count(dtype, count));
    buffer.dtype = std::string(tensor::name_of(dtype));
    buffer.strides = plan::contiguous_strides(shape);
    buffer.shape = std::move(shape);
    plan.buffers.push_back(std::move(buffer));
  }
  return {};
}

}  // namespace

Result<std::string> torch_text(const problem::Problem& problem, std::string_view style) {
  KW_TRY(const TempDir folder, TempDir::create("kw-torch"));
  KW_TRY_VOID(write_file(folder / "text.problem", problem.text));
  Command command;
  KW_TRY(command.argv, python_argv({"torch", folder / "text.problem", std::string(style)}));
  KW_TRY(const ProcessOutcome outcome, run_process(command));
  if (outcome.succeeded()) return outcome.out;
  if (outcome.reason == StopReason::kExited && outcome.exit_code == kUntranslated)
    return fail(ErrorCode::kUnsupported, "{} has no translation to PyTorch: {}", problem.file, printable_text(outcome.err));
  return fail(ErrorCode::kIo, "the translation to PyTorch ended: {}: {}", describe(outcome), printable_text(outcome.err));
}

namespace {

Result<std::unique_ptr<device::Device>> make(const problem::Problem& problem, std::vector<std::string> words) {
  KW_TRY(TempDir folder, TempDir::create("kw-torch"));
  KW_TRY_VOID(write_file(folder / "text.problem", problem.text));
  device::DeviceProcessOptions options;
  options.answer_s = kLoad_s;
  words.insert(words.begin(), {"device", folder / "text.problem"});
  KW_TRY(options.argv, python_argv(std::move(words)));
  KW_TRY(auto process, device::make_device_process(std::move(options)));
  return std::unique_ptr<device::Device>(std::make_unique<TorchDevice>(std::move(folder), std::move(process)));
}

}  // namespace

Result<std::unique_ptr<device::Device>> make_torch_device(const problem::Problem& problem, std::string_view manner, bool on_gpu) {
  return make(problem, {std::string(manner), on_gpu ? "cuda" : "cpu"});
}

Result<std::unique_ptr<device::Device>> make_module_device(const problem::Problem& problem, const std::string& candidate_path, bool on_gpu) {
  return make(problem, {"module", on_gpu ? "cuda" : "cpu", candidate_path});
}

Result<plan::Plan> torch_plan(const problem::Problem& problem, const problem::Workload& workload, std::string_view style) {
  plan::Plan plan;
  plan.target = "sm_70";   // a plan has one; nothing here depends on it
  plan.candidate = fmt::format("style={}", style);
  for (const auto& [axis, size] : workload.axes) plan.candidate += fmt::format(", {}={}", axis, size);
  KW_TRY_VOID(add_buffers(plan, problem.inputs, plan::Role::kInput, workload, false));
  KW_TRY_VOID(add_buffers(plan, problem.outputs, plan::Role::kOutput, workload, style == kReference));
  return plan;
}

}  // namespace kw::judge
