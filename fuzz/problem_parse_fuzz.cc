// Any bytes are a sound problem or errors that have a message; a sound small one is also filled and
// evaluated.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "problem/evaluate.h"
#include "problem/inputs.h"
#include "problem/problem.h"

using namespace kw;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Error& error : problem::check_text(text, "fuzz")) KW_CHECK(!error.message.empty());
  const auto parsed = problem::parse_problem(text, "fuzz");
  if (!parsed) {
    KW_CHECK(!format_error(parsed.error()).empty());
    return 0;
  }
  problem::EvaluateOptions options;
  options.memory_limit = 1 << 22;
  options.operation_limit = 1e6;
  options.threads = 1;
  const problem::Workload& workload = parsed->workloads.front();
  if (const auto inputs = problem::make_inputs(*parsed, workload, 1, 1 << 20))
    (void)problem::evaluate(*parsed, workload, *inputs, options);
  return 0;
}
