// Which problems have the template, and what it says of the others; that its kernels are right is the judge's to say
// (tests/cli/optimize.test).
#include "agent/template_pointwise.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "agent/tunables.h"

namespace kw::agent {
namespace {

TEST(Pointwise, HasATemplateForWhatIsDoneElementByElement) {
  std::set<std::string> covered;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(KW_SOURCE_DIR) + "/problems")) {
    if (entry.path().extension() != ".problem") continue;
    const auto problem = problem::load_problem(entry.path().string());
    ASSERT_TRUE(problem);
    const auto source = pointwise_kernel(*problem);
    if (!source) {
      EXPECT_EQ(source.error().code, ErrorCode::kUnsupported);
      EXPECT_NE(source.error().message.find("no template for"), std::string::npos);
      continue;
    }
    covered.insert(problem->name);
    const auto tunables = find_tunables(*source, "template");
    ASSERT_TRUE(tunables) << format_error(tunables.error()) << *source;
    EXPECT_EQ(tunables->size(), 3u);
  }
  EXPECT_EQ(covered, (std::set<std::string>{"adamw", "bias_gelu", "geglu", "gelu", "silu", "vector_add"}));
}

std::string why_not(const char* inputs, const char* output, const char* reference) {
  const auto problem = problem::parse_problem(fmt::format("problem p: \"p\"\n\naxes:\n  M >= 1\n  N >= 1\n\ninputs:\n{}\noutputs:\n{}\nreference:\n{}\nworkloads:\n  smallest one: M=1, N=1\n",
                                                          inputs, output, reference), "p.problem");
  if (!problem) return format_error(problem.error());
  const auto source = pointwise_kernel(*problem);
  return source ? "" : source.error().message;
}

TEST(Pointwise, InputsMayBeTheFirstOrTheLastAxesOrOneElement) {
  EXPECT_EQ(why_not("  x: f32[M, N]\n  r: f32[N]\n  c: f32[M, 1]\n  s: f32[1]\n", "  y: f32[M, N]\n", "  y = where(x > r, c * s, max_(x))\n").empty(), false) << "max_ is no function";
  EXPECT_EQ(why_not("  x: f32[M, N]\n  r: f32[N]\n  c: f32[M, 1]\n  s: f32[1]\n", "  y: f32[M, N]\n", "  y = where(x > r, c * s, exp(x))\n"), "");
  EXPECT_NE(why_not("  x: f32[M, N]\n  c: f32[1, N, 1]\n", "  y: f32[M, N, 2]\n", "  y = x[:, :, None] + c\n"), "");
  EXPECT_NE(why_not("  x: f32[M, N]\n", "  y: f32[N]\n", "  y = sum(x, axis=0)\n").find("input x is neither"), std::string::npos);
  EXPECT_NE(why_not("  x: f32[N]\n", "  y: f32[N]\n", "  y = cumsum(x)\n").find("'cumsum' is not done element by element"), std::string::npos);
  EXPECT_NE(why_not("  x: i8[N] ~ integers(0, 3)\n", "  y: f32[N]\n", "  y = x * 2\n").find("input x is"), std::string::npos);
  EXPECT_NE(why_not("  x: f32[N]\n", "  y: f32[N]\n", "  y = x * arange(N)\n"), "");
}

}  // namespace
}  // namespace kw::agent
