// This machine's GPU, as commands use it. Internal to command.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "command/command.h"
#include "device/calibration.h"
#include "device/device.h"

namespace kw::command {

// In a process of its own: a kernel may hang the GPU, or make this process unable to use it. `number` as `kw device list` has it.
Result<std::unique_ptr<device::Device>> own_gpu(const std::string& number = "0");

// Judges (judge::Options) or works (judge::WorkerOptions) there too, and with `time` measures, with what is known of how its processes differ.
template <typename Options>
Status judge_on_own_gpu(Options& options, bool time, const std::string& number = "0") {
  KW_TRY(options.gpu, own_gpu(number));
  options.time = time;
  if (!time) return {};
  KW_TRY(options.process_spread, device::stored_process_spread(options.gpu->capabilities().name));
  return {};
}

// What --against names, with commas between; empty where it is not given. kInvalid: it is, and names nothing.
Result<std::vector<std::string>> rivals_of(const Invocation& invocation);

}  // namespace kw::command
