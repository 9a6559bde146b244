// A device in a process of its own: kernels that hang, or fault so that the process can use the GPU no more, take that process
// with them and nothing else. The caller holds inputs, results and the clock; the other process executes plans.
//
//   KW_TRY(auto device, device::make_device_process({.argv = {"kw", "device", "serve", "gpu"}}));
//
// A plan whose run passes its deadline (RunOptions::deadline_s, with a little grace) is reported as not completed and the process
// is ended; plans loaded in it answer with errors from then on, and the next load() starts another.
// Between the two: frames over a socket, each a JSON object and a block of bytes. The other process is believed about results
// of kernels, not about sizes. One LoadedPlan is used by one thread at a time; calls of several are answered one after another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace kw::device {

struct DeviceProcessOptions {
  std::vector<std::string> argv;   // the program that calls serve_device; its socket is descriptor 3
  double answer_s = 120;           // for anything but run(): loading compiles
};
// Starts the process and asks for its capabilities. Errors: kNotFound, kIo; those of the device that it makes.
Result<std::unique_ptr<Device>> make_device_process(DeviceProcessOptions options);

// The other side: answers requests over `socket` until the caller closes it, or is gone. `device` may be an error, which every
// request is then answered with. Exit code.
int serve_device(Result<std::unique_ptr<Device>> device, int socket = 3);

}  // namespace kw::device
