// The other side of a device process, as the argument says: a device, or one of the ways to be a bad one.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "device/device_process.h"
#include "device/frame.h"

namespace kw::device {
namespace {

class BadPlan final : public LoadedPlan {
 public:
  BadPlan(plan::Plan plan, bool dies) : plan_(std::move(plan)), dies_(dies) {}
  const plan::Plan& plan() const override { return plan_; }
  Status write(std::string_view, std::span<const uint8_t>) override { return {}; }
  Status read(std::string_view, std::span<uint8_t>) const override { return {}; }
  Result<std::optional<uint64_t>> first_unwritten(std::string_view) const override { return std::nullopt; }
  Status reset() override { return {}; }
  Result<RunReport> run(const RunOptions&) override {
    if (dies_) std::abort();
    for (;;) ::pause();
  }
  Result<CallReport> call(const CallOptions&) override {
    if (dies_) std::abort();
    for (;;) ::pause();
  }

 private:
  plan::Plan plan_;
  bool dies_;
};

class BadDevice final : public Device {
 public:
  BadDevice(bool dies, bool shrinks) : dies_(dies), shrinks_(shrinks) {}
  Capabilities capabilities() const override { return {.name = "bad"}; }
  Result<std::unique_ptr<LoadedPlan>> load(plan::Plan plan, const LoadOptions&) override {
    if (shrinks_) plan.buffers.front().bytes = 4;
    return std::unique_ptr<LoadedPlan>(std::make_unique<BadPlan>(std::move(plan), dies_));
  }

 private:
  bool dies_, shrinks_;
};

Result<std::unique_ptr<Device>> device_of(const std::string& manner) {
  if (manner == "gpu") return make_gpu();
  if (manner == "emulator") return make_emulator();
  if (manner == "hangs" || manner == "dies" || manner == "shrinks")
    return std::unique_ptr<Device>(std::make_unique<BadDevice>(manner == "dies", manner == "shrinks"));
  Error error{ErrorCode::kNotFound, "there is no device", {}, {}, {}};
  error.notes.push_back("buy one");
  return fail(error);
}

}  // namespace
}  // namespace kw::device

int main(int argc, char** argv) {
  const std::string manner = argc > 1 ? argv[1] : "";
  if (manner == "nowhere") return 0;
  if (manner == "silent") {
    char byte;
    while (::recv(3, &byte, 1, 0) > 0) continue;
    return 0;
  }
  if (manner == "confused" || manner == "nameless") {   // messages whose fields are of other types
    for (;;) {
      const auto request = kw::device::receive_frame(3, 0, 1 << 20);
      if (!request) return 0;
      nlohmann::json answer = {{"sm_mhz", "fast"}, {"watts", nlohmann::json::array()}, {"error", {{"code", "x"}, {"message", 4}, {"notes", 1}}}};
      const std::string what = request->head.value("do", "");
      if (what == "capabilities") answer = {{"name", manner == "nameless" ? nlohmann::json(3) : nlohmann::json("confused")}};
      if (what == "conditions" || what == "idle_power") answer.erase("error");
      if (!kw::device::send_frame(3, answer, {})) return 0;
    }
  }
  if (manner == "garbage" || manner == "huge") {
    const std::string bytes(64, manner == "huge" ? '\x7f' : '\0');   // sizes of 9e18; sizes of 0 and an empty head
    return ::send(3, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0;
  }
  return kw::device::serve_device(kw::device::device_of(manner));
}
