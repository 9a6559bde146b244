#include "command/own_gpu.h"

#include "device/device_process.h"

namespace kw::command {

Result<std::unique_ptr<device::Device>> own_gpu(const std::string& number) {
  return device::make_device_process({.argv = {"/proc/self/exe", "device", "serve", "gpu", "--number", number}});
}

Result<std::vector<std::string>> rivals_of(const Invocation& invocation) {
  std::vector<std::string> out;
  const std::string against = invocation.text("against");
  for (std::string_view rest = against; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    if (comma > 0) out.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (out.empty() && invocation.has("against")) return fail(ErrorCode::kInvalid, "--against names no rival: a candidate's path, eager, compile, cublaslt or cudnn; or leave it out");
  return out;
}

}  // namespace kw::command
