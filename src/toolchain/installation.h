// Where things are: this program's own files (candidate.h, the recording and the emulated runtime), beside the
// running program when installed (../include, ../lib), else where the build put them; and the toolkit's programs.
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace kw::toolchain {

Result<std::string> include_folder();       // holds kernelwright/candidate.h
Result<std::string> record_library();       // libkw_record.so
Result<std::string> emulated_library();     // libkw_cuda_emulated.so

// Where a program of the CUDA toolkit (nvcc, ptxas, nvdisasm, …) is, best place first: CUDA_HOME, CUDA_PATH,
// the wheels of .venv under the current folder and its parents, PATH. Empty when it is nowhere.
std::vector<std::string> toolkit_programs(const std::string& name);

}  // namespace kw::toolchain
