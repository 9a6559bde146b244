// Which problems have the template, and what it says of the others; that its kernels are right is the judge's to say
// (tests/cli/optimize.test).
#include "agent/template.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "agent/tunables.h"

namespace kw::agent {
namespace {

TEST(Template, KnowsItsProblems) {
  std::set<std::string> covered;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(KW_SOURCE_DIR) + "/problems")) {
    if (entry.path().extension() != ".problem") continue;
    const auto problem = problem::load_problem(entry.path().string());
    ASSERT_TRUE(problem);
    const auto source = template_kernel(*problem);
    if (!source) {
      EXPECT_EQ(source.error().code, ErrorCode::kUnsupported);
      EXPECT_NE(source.error().message.find("no template for"), std::string::npos);
      continue;
    }
    covered.insert(problem->name);
    const auto tunables = find_tunables(*source, "template");
    ASSERT_TRUE(tunables) << format_error(tunables.error()) << *source;
    EXPECT_GE(tunables->size(), 2u);
  }
  EXPECT_EQ(covered, (std::set<std::string>{"adamw", "attention_bias", "attention_causal", "attention_forward", "attention_scores", "bias_gelu", "geglu", "gelu", "gemm_batched",
                                            "gemm_bias_gelu", "gemm_f16", "gemm_f32", "gemm_skinny", "gemm_split_k", "gemm_tf32", "gemv", "layer_norm_backward", "layer_norm_residual",
                                            "log_softmax", "nhwc_to_nchw", "reduction", "rms_norm", "rms_norm_residual", "row_softmax", "silu", "transpose", "vector_add"}));
}

std::string why_not(const char* inputs, const char* output, const char* reference) {
  const auto problem = problem::parse_problem(fmt::format("problem p: \"p\"\n\naxes:\n  M >= 1\n  N >= 1\n\ninputs:\n{}\noutputs:\n{}\nreference:\n{}\nworkloads:\n  smallest one: M=1, N=1\n",
                                                          inputs, output, reference), "p.problem");
  if (!problem) return format_error(problem.error());
  const auto source = template_kernel(*problem);
  return source ? "" : source.error().message;
}

TEST(Pointwise, InputsMayBeTheFirstOrTheLastAxesOrOneElement) {
  EXPECT_EQ(why_not("  x: f32[M, N]\n  r: f32[N]\n  c: f32[M, 1]\n  s: f32[1]\n", "  y: f32[M, N]\n", "  y = where(x > r, c * s, max_(x))\n").empty(), false) << "max_ is no function";
  EXPECT_EQ(why_not("  x: f32[M, N]\n  r: f32[N]\n  c: f32[M, 1]\n  s: f32[1]\n", "  y: f32[M, N]\n", "  y = where(x > r, c * s, exp(x))\n"), "");
  EXPECT_NE(why_not("  x: f32[M, N]\n  c: f32[1, N, 1]\n", "  y: f32[M, N, 2]\n", "  y = x[:, :, None] + c\n"), "");
  EXPECT_NE(why_not("  x: f32[M, N]\n", "  y: f32[N]\n", "  y = sum(x, axis=0)\n").find("'sum' is not over the last axis"), std::string::npos);
  EXPECT_NE(why_not("  x: f32[N]\n", "  y: f32[N]\n", "  y = cumsum(x)\n").find("it reduces no rows"), std::string::npos);
  EXPECT_NE(why_not("  x: i8[N] ~ integers(0, 3)\n", "  y: f32[N]\n", "  y = x * 2\n").find("input x is"), std::string::npos);
  EXPECT_NE(why_not("  x: f32[N]\n", "  y: f32[N]\n", "  y = x * arange(N)\n"), "");
}

TEST(Rows, MayBeReducedSeveralTimesAndGiveOneValueEach) {
  EXPECT_EQ(why_not("  x: f32[M, N]\n  w: f16[N]\n  c: f32[M]\n", "  y: f32[M, N]\n  s: f32[M]\n",
                    "  top = max(x, axis=-1)\n  e = exp(x - top[:, None])\n  s = sum(e, axis=-1) * c\n  y = e * w / s[:, None] + min(x, axis=-1, keepdims=true)\n"), "");
  const auto refused = [](const char* output, const char* reference) { return why_not("  x: f32[M, N]\n  r: f32[N]\n", output, reference); };
  EXPECT_NE(refused("  y: f32[M, N]\n", "  y = x - mean(x)\n").find("not over the last axis alone"), std::string::npos);
  EXPECT_NE(refused("  y: f32[M]\n", "  y = sum(x, axis=-1) + sum(r)\n").find("reduces several shapes"), std::string::npos);
  EXPECT_NE(refused("  y: f32[M, N]\n", "  y = cumsum(x, axis=-1) / sum(x, axis=-1, keepdims=true)\n").find("'cumsum'"), std::string::npos);
  EXPECT_NE(refused("  y: i32[M]\n", "  y = argmax(x, axis=-1)\n"), "");
}

// In a square, one value a row and one a column have the same shape: only an axis of 1 tells them apart.
TEST(Rows, AreNotTakenForColumns) {
  const auto problem = problem::parse_problem("problem p: \"p\"\n\naxes:\n  N >= 1\n\ninputs:\n  x: f32[N, N]\n\noutputs:\n  y: f32[N, N]\n\nreference:\n  y = x - sum(x, axis=-1)\n\nworkloads:\n  smallest one: N=1\n", "p.problem");
  ASSERT_TRUE(problem) << format_error(problem.error());
  const auto source = template_kernel(*problem);
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().message.find("it aligns rows with columns"), std::string::npos) << source.error().message;
}

TEST(Transpose, MovesOneInputWithWhatIsComputedOnTheWay) {
  const char* inputs = "  x: f32[M, N]\n  z: f32[M, N]\n  r: f16[M]\n  s: f32[1]\n  q: i32[M, N] ~ integers(0, 3)\n";
  const auto why = [&](const char* reference) { return why_not(inputs, "  y: f32[N, M]\n", reference); };
  EXPECT_EQ(why("  y = tanh(transpose(exp(x) * s)) / r\n"), "");
  EXPECT_NE(why("  y = transpose(x + z)\n").find("computed of several inputs"), std::string::npos);
  EXPECT_NE(why("  y = transpose(x * r[:, None])\n").find("needs input r"), std::string::npos);
  EXPECT_NE(why("  y = transpose(x) + transpose(z)\n").find("transposes more than once"), std::string::npos);
  EXPECT_NE(why("  y = transpose(q)\n").find("input q is i32"), std::string::npos);
  EXPECT_NE(why_not("  x: f32[M, N, 3]\n", "  y: f32[N, M, 3]\n", "  y = permute(x, [1, 0, 2])\n").find("leaves the last axis"), std::string::npos);
  EXPECT_NE(why_not("  tile: f32[M, N]\n", "  y: f32[N, M]\n", "  y = transpose(tile)\n").find("the name 'tile'"), std::string::npos);
}

TEST(Gemv, TakesRowsThatLieSideBySide) {
  const auto why = [](const char* reference) {
    return why_not("  a: f16[3, M, N]\n  b: f32[M, N]\n  x: bf16[N]\n  z: f32[M]\n  r: f32[3, M]\n", "  y: f32[3, M]\n", reference);
  };
  EXPECT_EQ(why("  y = tanh(a @ x + z) * r\n"), "");
  EXPECT_NE(why("  y = x @ transpose(a) + x @ transpose(b)\n").find("its output is not its second product"), std::string::npos);
  EXPECT_EQ(why("  y = x @ transpose(a)\n"), "");
  EXPECT_NE(why("  y = r + z @ b @ x\n"), "");
  EXPECT_NE(why_not("  a: f16[M, N]\n  z: f16[M]\n", "  y: f32[N]\n", "  y = z @ a\n").find("it multiplies columns of a"), std::string::npos);
  EXPECT_NE(why_not("  a: f16[M, N]\n  x: f16[N]\n", "  y: f32[M]\n", "  y = exp(a) @ x\n").find("made by 'exp'"), std::string::npos);
}

TEST(Product, UsesTensorCoresForWhatTheyTake) {
  const auto source_of = [](const char* inputs, const char* reference) {
    const auto problem = problem::parse_problem(fmt::format("problem p: \"p\"\n\naxes:\n  B >= 1\n  M >= 1\n  N >= 1\n  K >= 1\n\ninputs:\n{}\noutputs:\n  c: f32[B, M, N]\n\nreference:\n{}\nworkloads:\n  smallest one: B=1, M=1, N=1, K=1\n",
                                                            inputs, reference), "p.problem");
    if (!problem) return format_error(problem.error());
    const auto source = template_kernel(*problem);
    return source ? *source : source.error().message;
  };
  const auto uses = [](const std::string& source, const char* what) { return source.find(what) != std::string::npos; };
  EXPECT_TRUE(uses(source_of("  a: f16[B, M, K]\n  b: f16[K, N]\n", "  c = a @ b\n"), "kw::GemmTile<__half, kw::BLayout::kRows"));
  EXPECT_TRUE(uses(source_of("  a: bf16[B, M, K]\n  b: bf16[N, K]\n", "  c = silu(a @ transpose(b))\n"), "kw::GemmTile<__nv_bfloat16, kw::BLayout::kColumns"));
  EXPECT_TRUE(uses(source_of("  a: f32[B, M, K]\n  b: f32[N, K]\n", "  s: tf32 = a\n  t: tf32 = b\n  c = s @ transpose(t)\n"), "kw::GemmTile<float"));
  for (const auto& source : {source_of("  a: f32[B, M, K]\n  b: f32[N, K]\n", "  c = a @ transpose(b)\n"), source_of("  a: f16[B, K, M]\n  b: f16[N, K]\n", "  c = transpose(a) @ transpose(b)\n"),
                             source_of("  a: f16[B, M, K]\n  b: bf16[N, K]\n", "  c = a @ transpose(b)\n")}) {
    EXPECT_TRUE(uses(source, "kw::FmaTile<")) << source;
    EXPECT_FALSE(uses(source, "kw::GemmTile<")) << source;
  }
  EXPECT_TRUE(uses(source_of("  a: f16[B, M, K]\n  b: f16[K, N]\n  r: f16[N, M]\n", "  c = a @ b + transpose(r)\n"), "input r does not lie along axes"));
  EXPECT_TRUE(uses(source_of("  a: f16[B, M, K]\n  b: f16[K, N]\n", "  c = (a @ b) / sum(a @ b, axis=-1, keepdims=true)\n"), "its output is not its second product"));
  EXPECT_TRUE(uses(source_of("  a: f16[B, M, K]\n  b: f16[K, N]\n  rows: f16[N]\n", "  c = a @ b + rows\n"), "the name 'rows'"));
}

TEST(Attention, LeavesOutKeysThatNoQuerySeesOnlyWhereTheMaskSaysSo) {
  const auto source_of = [](const char* scores, const char* output) {
    const auto problem = problem::parse_problem(fmt::format("problem p: \"p\"\n\naxes:\n  S >= 1\n  T >= 1\n  D == 128\n\ninputs:\n  q: f16[4, S, D]\n  k: f16[4, S, D]\n  v: f16[S, D]\n  t: f16[4, T, D]\n  bias: f32[S, 1]\noutputs:\n"
                                                            "  o: f16[4, S, D]\n\nreference:\n  seen = arange(S) <= arange(S)[:, None]\n  s = {}\n  o = {}\nworkloads:\n  smallest one: S=1, T=1\n", scores, output), "p.problem");
    if (!problem) return format_error(problem.error());
    const auto source = template_kernel(*problem);
    return source ? *source : source.error().message;
  };
  const auto uses = [](const std::string& source, const char* what) { return source.find(what) != std::string::npos; };
  const char *all = "kw::AllKeys{columns}", *causal = "kw::CausalKeys{rows, columns}", *may_be_masked = "kWarps, kKeys, true>", *finite = "kWarps, kKeys, false>";
  const std::string plain = source_of("q @ transpose(k) / sqrt(D)", "softmax(s) @ v");
  EXPECT_TRUE(uses(plain, all) && uses(plain, finite)) << plain;
  const std::string seen = source_of("where(seen, tanh(q @ transpose(k)), -inf)", "softmax(s) @ v");
  EXPECT_TRUE(uses(seen, causal) && uses(seen, finite)) << seen;
  const std::string masked = source_of("where(bias > 0, q @ transpose(k), -inf)", "softmax(s) @ v");
  EXPECT_TRUE(uses(masked, all) && uses(masked, may_be_masked)) << masked;
  EXPECT_TRUE(uses(source_of("where(seen, q @ transpose(k), 0)", "softmax(s) @ v"), "'arange'"));
  EXPECT_TRUE(uses(source_of("where(arange(S)[:, None] <= arange(S), q @ transpose(k), -inf)", "softmax(s) @ v"), "'arange'"));
  EXPECT_TRUE(uses(source_of("q @ transpose(k)", "softmax(s, axis=-2) @ v"), "no softmax over the last axis"));
  EXPECT_TRUE(uses(source_of("q @ transpose(k)", "exp(s) @ v"), "no softmax over the last axis"));
  EXPECT_TRUE(uses(source_of("q @ transpose(k)", "silu(softmax(s) @ v)"), "its output is not its second product"));
}

}  // namespace
}  // namespace kw::agent
