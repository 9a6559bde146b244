#include "toolchain/installation.h"

#include <filesystem>

#include "base/installed.h"

namespace kw::toolchain {
namespace {

Result<std::string> find(const std::string& installed, const std::string& built, const char* what) {
  return installed_or_built(installed, built, what, "build the program where the CUDA toolkit's headers are");
}

}  // namespace

Result<std::string> include_folder() {
  KW_TRY(const std::string header, find("include/kernelwright/candidate.h", KW_BUILT_INCLUDE "/kernelwright/candidate.h", "candidate.h"));
  return std::filesystem::path(header).parent_path().parent_path().string();
}
Result<std::string> record_library() { return find("lib/libkw_record.so", KW_BUILT_RECORD, "the recording runtime"); }
Result<std::string> emulated_library() { return find("lib/libkw_cuda_emulated.so", KW_BUILT_EMULATED, "the emulated CUDA runtime"); }

}  // namespace kw::toolchain
