// One message between a caller and its device process: a JSON object and a block of bytes. Internal to device.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/result.h"

namespace kw::device {

struct Frame {
  nlohmann::json head = nlohmann::json::object();
  std::vector<uint8_t> body;
};

// Blocks until all is sent or received, or `deadline_s` has passed (0: none): kLimit. kIo when the other side is gone, kInvalid
// for what is not a frame or is larger than `most_bytes`.
Status send_frame(int socket, const Frame& frame);
Result<Frame> receive_frame(int socket, double deadline_s, uint64_t most_bytes);

}  // namespace kw::device
