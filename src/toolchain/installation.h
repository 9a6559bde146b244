// Where this program's own files are: candidate.h, the recording and the emulated runtime. Beside the running
// program when installed (../include, ../lib), else where the build put them. Internal to toolchain.
#pragma once

#include <string>

#include "base/result.h"

namespace kw::toolchain {

Result<std::string> include_folder();       // holds kernelwright/candidate.h
Result<std::string> record_library();       // libkw_record.so
Result<std::string> emulated_library();     // libkw_cuda_emulated.so

}  // namespace kw::toolchain
