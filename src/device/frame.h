// One message between a caller and its device process: a JSON object and a block of bytes. Internal to device.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "base/fresh_memory.h"
#include "base/result.h"

namespace kw::device {

struct Frame {
  nlohmann::json head = nlohmann::json::object();
  FreshVector<uint8_t> body;       // gigabytes at times: nothing is copied or filled with zeros that need not be
  uint64_t body_bytes = 0;         // of a frame that was received
};

// Blocks until all is sent or received, or `deadline_s` has passed (0: none): kLimit. kIo when the other side is gone, kInvalid
// for what is not a frame or is larger than `most_bytes`.
Status send_frame(int socket, const nlohmann::json& head, std::span<const uint8_t> body);
// A body of just the size of `into` goes there, and the frame's own stays empty; `body_bytes` says what came. After an error anything may be there.
// `storage`: an earlier frame's body, for this one's: new memory takes longer to get than to fill.
Result<Frame> receive_frame(int socket, double deadline_s, uint64_t most_bytes, std::span<uint8_t> into = {}, FreshVector<uint8_t> storage = {});
// `storage` with so many bytes, which hold anything.
FreshVector<uint8_t> body_of(uint64_t bytes, FreshVector<uint8_t> storage);

}  // namespace kw::device
