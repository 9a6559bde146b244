#include "toolchain/installation.h"

#include <filesystem>

namespace kw::toolchain {
namespace {

namespace fs = std::filesystem;

Result<std::string> find(const std::string& installed, const std::string& built, const char* what) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path beside = program.parent_path().parent_path() / installed;
  if (!program.empty() && fs::exists(beside, ignored)) return fs::canonical(beside, ignored).string();
  if (!built.empty() && fs::exists(built, ignored)) return fs::canonical(built, ignored).string();
  return fail(ErrorCode::kNotFound, "{} is not here: neither {} nor {} exists; build the program where the CUDA toolkit's headers are",
              what, beside.string(), built.empty() ? "a built one" : built);
}

}  // namespace

Result<std::string> include_folder() {
  KW_TRY(const std::string header, find("include/kernelwright/candidate.h", KW_BUILT_INCLUDE "/kernelwright/candidate.h", "candidate.h"));
  return fs::path(header).parent_path().parent_path().string();
}
Result<std::string> record_library() { return find("lib/libkw_record.so", KW_BUILT_RECORD, "the recording runtime"); }
Result<std::string> emulated_library() { return find("lib/libkw_cuda_emulated.so", KW_BUILT_EMULATED, "the emulated CUDA runtime"); }

}  // namespace kw::toolchain
