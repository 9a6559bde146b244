// A problem computed by PyTorch, as a device: a process of its own (device_process.h) that runs our translation of the problem's text
// (python/kernelwright/to_torch.py) on the CPU or on the GPU. Its plans have buffers and no steps.
// Unsealed: Python, outside of the jail; no candidate's code runs in it.
// Errors: kNotFound without Python, torch or a GPU that torch sees, each with what to do; kUnsupported for what has no translation.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "device/device.h"
#include "problem/problem.h"

namespace kw::judge {

// Manners, as --against names them: PyTorch's own, and a vendor's library for the part of a problem that it has
// (python/kernelwright/library_rival.py). A problem of which it has none is refused when it is loaded.
inline constexpr std::string_view kEager = "eager", kCompile = "compile", kCublaslt = "cublaslt", kCudnn = "cudnn";
inline bool is_torch_manner(std::string_view name) { return name == kEager || name == kCompile || name == kCublaslt || name == kCudnn; }

// In what an expression is computed between the tensors that are kept. As PyTorch does by itself; in f32 where they are narrower;
// in f64, outputs too.
inline constexpr std::string_view kStored = "stored", kWide = "wide", kReference = "reference";

// The function's source.
Result<std::string> torch_text(const problem::Problem& problem, std::string_view style);

Result<std::unique_ptr<device::Device>> make_torch_device(const problem::Problem& problem, std::string_view manner, bool on_gpu);

// The same with a candidate in Python (python/kernelwright/torch_module.py), which is run outside of the jail.
Result<std::unique_ptr<device::Device>> make_module_device(const problem::Problem& problem, const std::string& candidate_path, bool on_gpu);

// What such a device loads: this workload in this style.
Result<plan::Plan> torch_plan(const problem::Problem& problem, const problem::Workload& workload, std::string_view style);

}  // namespace kw::judge
