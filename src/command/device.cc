#include <sys/stat.h>

#include "command/command.h"
#include "device/device_process.h"

namespace kw::command {
namespace {

Result<int> list(const Invocation&, const Output& output) {
  KW_TRY(const auto gpus, device::list_gpus());
  for (size_t i = 0; i < gpus.size(); ++i) {
    const device::GpuInfo& gpu = gpus[i];
    output.out(fmt::format("{}: {}, {}, {} multiprocessors, {:.1f} GiB, driver for CUDA {}\n", i, gpu.name, gpu.target, gpu.multiprocessors,
                           static_cast<double>(gpu.memory_bytes) / (1 << 30), gpu.driver_version));
  }
  return 0;
}

Result<int> serve(const Invocation& invocation, const Output&) {
  struct stat descriptor;
  if (::fstat(3, &descriptor) != 0 || !S_ISSOCK(descriptor.st_mode))
    return fail(ErrorCode::kInvalid, "nobody asks: kw starts this itself, with a socket as descriptor 3; `kw judge --gpu` is what you want");
  return device::serve_device(invocation.text("kind") == "gpu" ? device::make_gpu(static_cast<int>(invocation.integer("number")))
                                                               : Result<std::unique_ptr<device::Device>>(device::make_emulator()));
}

}  // namespace

std::vector<Command> device_commands() {
  return {{{"device", "list"}, "list this machine's GPUs", "", {}, list},
          {{"device", "serve"},
           "execute plans for another kw, over file descriptor 3; kw starts this itself",
           "",
           {{"kind", ArgumentKind::kText, true, true, "", "what executes them", {"gpu", "emulator"}},
            {"number", ArgumentKind::kInteger, false, false, "0", "which GPU", {}}},
           serve}};
}

}  // namespace kw::command
