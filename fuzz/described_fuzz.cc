// Any text as what a candidate in Python left of its recording: a plan that passes its checks, or a reason in words.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "toolchain/described.h"

using namespace kw;
using namespace kw::toolchain;

namespace {

constexpr const char* kPtx =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry add(.param .u64 x, .param .u64 y, .param .u32 n, .param .u64 scratch)\n.reqntid 128\n{\n  ret;\n}\n";

Argument tensor_of(const char* name, Argument::Kind kind) {
  Argument argument;
  argument.kind = kind;
  argument.name = name;
  argument.dtype = "f32";
  argument.shape = {1000};
  return argument;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Workload workload;
  workload.arguments = {tensor_of("x", Argument::Kind::kInput), tensor_of("y", Argument::Kind::kOutput)};
  const Description description{std::string(reinterpret_cast<const char*>(data), size), "/there/add.py", "sm_80", "add.py"};
  const auto made = plan_of(description, workload, [](const std::string&) -> Result<std::variant<DescribedKernel, Unrecordable>> {
    return DescribedKernel{"add", kPtx, 128, 0, {1, 1, 1}, false, false, {512}};
  });
  KW_CHECK(made.has_value());
  if (const auto* reason = std::get_if<Unrecordable>(&*made)) {
    KW_CHECK(!reason->message.empty());
  } else {
    KW_CHECK(plan::check(std::get<plan::Plan>(*made)).has_value());
  }
  return 0;
}
