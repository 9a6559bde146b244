// Any bytes are a plan that passes its checks or an error with a message. A plan is shown, and written and read again it is
// the same text. The bytes also stand for the PTX of a plan, whose hash would never fit by chance: whatever kernels the
// outline finds are launched, so that what checks and shows a launch relies on no text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "plan/plan.h"
#include "plan/ptx_outline.h"

using namespace kw;

namespace {

void launch_all(std::string_view text) {
  const plan::PtxOutline outline = plan::outline(text);
  plan::Plan plan;
  plan.target = outline.target;
  plan.modules.push_back({std::string(text), plan::hash_of(text)});
  plan.buffers.push_back({"w", plan::Role::kWorkspace, 64, "", {}, {}});
  for (size_t i = 0; i < outline.entries.size() && i < 16; ++i) {
    KW_CHECK(outline.entries[i].param_bytes <= 65536);
    plan::Launch launch;
    launch.kernel = outline.entries[i].name;
    launch.params.assign(outline.entries[i].param_bytes, 0);
    if (launch.params.size() >= 8) launch.relocations.push_back({0, {.buffer = 0}});
    plan.steps.push_back({launch, {}, "", 0});
  }
  if (const Status status = plan::check(plan); !status) KW_CHECK(!status.error().message.empty());
  KW_CHECK(!plan::show(plan).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  launch_all(text);
  const auto parsed = plan::parse(text, "fuzz.json");
  if (!parsed) {
    KW_CHECK(!format_error(parsed.error()).empty());
    return 0;
  }
  KW_CHECK(!plan::show(*parsed).empty());
  const std::string written = plan::write(*parsed);
  const auto again = plan::parse(written, "written.json");
  KW_CHECK(again && plan::write(*again) == written);
  return 0;
}
