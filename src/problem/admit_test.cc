// Problems that must not be admitted: each is a class of flawed task, in its smallest form.
#include "problem/admit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

namespace kw::problem {
namespace {

struct Flaw {
  std::string name;
  std::string inputs, reference;  // of y: f32[M, N] unless `output` says otherwise
  std::string caught_by;          // a case of the admission
  std::string says;
  std::string output = "f32[M, N]";
  friend void PrintTo(const Flaw& flaw, std::ostream* out) { *out << flaw.reference; }
};

Admission admission_of(const Flaw& flaw) {
  const std::string text = fmt::format(
      "problem p: \"x\"\naxes:\n  M >= 1, N >= 1, K >= 1\ninputs:\n{}\noutputs:\n  y: {}\nreference:\n{}\n"
      "workloads:\n  smallest one: M=1, N=1, K=1\n  shape odd: M=3, N=5, K=7\n  emulator scaled: M=16, N=24, K=40\n",
      flaw.inputs, flaw.output, flaw.reference);
  const auto problem = parse_problem(text, "p");
  EXPECT_TRUE(problem) << format_error(problem.error());
  auto admission = admit(*problem, *admission_workload(*problem), 3);
  EXPECT_TRUE(admission) << format_error(admission.error());
  return std::move(*admission);
}

class Flawed : public testing::TestWithParam<Flaw> {};

TEST_P(Flawed, IsRefusedWithTheReason) {
  const Admission admission = admission_of(GetParam());
  EXPECT_FALSE(admission.admitted());
  const auto found = std::find_if(admission.cases.begin(), admission.cases.end(),
                                  [](const AdmissionCase& c) { return c.name == GetParam().caught_by; });
  ASSERT_NE(found, admission.cases.end());
  EXPECT_TRUE(found->applicable);
  EXPECT_FALSE(found->as_expected);
  EXPECT_NE(found->detail.find(GetParam().says), std::string::npos) << found->detail;
}

const char* const kProduct = "  x: f32[M, K] ~ normal(0, 1)\n  w: f32[K, N] ~ normal(0, 1)";

INSTANTIATE_TEST_SUITE_P(
    Admission, Flawed,
    testing::Values(
        Flaw{"ConstantOutput", "  x: f32[M, N]", "  y = relu(x - 100)", "zero", "'y' accepts it"},
        // The mean over an axis is taken off after the maximum over it: nothing is left.
        Flaw{"CancelsToZero", kProduct, "  t = max(x @ w, axis=1, keepdims=true)\n  y = gelu(t - mean(t, axis=1, keepdims=true))",
             "zero", "'y' accepts it", "f32[M, 1]"},
        Flaw{"IndependentOfInputs", "  x: f32[M, N] ~ uniform(2, 3)", "  y = where(x > 1, 1 + 0 * x, x) + cast(arange(N), f32)",
             "independent of the inputs", "'y' accepts it"},
        Flaw{"UnusedInput", "  x: f32[M, N]\n  b: f32[N]", "  y = exp(x)", "every input matters", "'b'"},
        Flaw{"InputBelowItsBudget", "  x: f32[M, N]\n  b: f32[N]", "  y = exp(x) + 1e-12 * b", "every input matters", "'b'"},
        Flaw{"ReluTwice", "  x: f32[M, N]", "  a = relu(x)\n  y = where(a > 0, a, 0.01 * a)", "every operator matters", "line 10"},
        Flaw{"ClampAfterTanh", "  x: f32[M, N]", "  y = clamp(tanh(x), -1, 1)", "every operator matters", "'minimum' in line 9"},
        Flaw{"BiasOfZero", "  x: f32[M, N]\n  b: f32[M, N] ~ constant(0)", "  y = exp(x) + b", "every operator matters", "'+' in line 10"},
        Flaw{"MeanOfOne", kProduct, "  t = max(x @ w, axis=1, keepdims=true)\n  y = mean(t, axis=1, keepdims=true)",
             "every operator matters", "'mean' in line 11", "f32[M, 1]"},
        Flaw{"SumOfAProduct", kProduct, "  y = sum((x @ w) / 2, axis=1, keepdims=true) * 1.5", "no product collapses", "'sum' in line 10",
             "f32[M, 1]"},
        Flaw{"SumOfAConvolution", "  x: f32[2, K, M]\n  w: f32[N, K, 1]", "  y = sum(conv(x, w), axis=1)", "no product collapses",
             "'sum' in line 10", "f32[2, M]"},
        Flaw{"MeanOfAProductWithBias", "  x: f32[M, K]\n  w: f32[K, N]\n  b: f32[N]", "  t = x @ w - b\n  y = mean(t, axis=1)",
             "no product collapses", "'mean' in line 12", "f32[M]"}),
    [](const auto& info) { return info.param.name; });

// What looks like one of the above and is none.
TEST(Admission, KeepsWhatIsSound) {
  const Flaw sound[] = {
      {"softmax", "  x: f32[M, N] ~ normal(0, 3)", "  e = exp(x - max(x, axis=-1, keepdims=true))\n  y = e / sum(e, axis=-1, keepdims=true)", "", ""},
      {"product summed after a nonlinearity", kProduct, "  y = sum(relu(x @ w), axis=1)", "", "", "f32[M]"},
      {"normalisation of a product", kProduct, "  t = x @ w\n  y = t - mean(t, axis=1, keepdims=true)", "", ""},
      {"sum over the contracted axis", kProduct, "  y = (x * 2) @ w", "", ""},
      {"clamp that clamps", "  x: f32[M, N]", "  y = clamp(x, -1, 1)", "", ""},
      {"convolution summed after a nonlinearity", "  x: f32[2, K, M]\n  w: f32[N, K, 1]", "  y = sum(relu(conv(x, w)), axis=1)", "", "", "f32[2, M]"},
      {"a guard inside a function", "  x: f32[M, N]", "  y = logsumexp(x, axis=-1)", "", "", "f32[M]"},
      {"a bias", "  x: f32[M, N]\n  b: f32[N]", "  y = x + b", "", ""},
      {"a weight of one", "  x: f32[M, N]\n  g: f32[N] ~ uniform(0.5, 1.5)", "  y = x * g", "", ""},
  };
  for (const Flaw& each : sound) {
    for (const AdmissionCase& c : admission_of(each).cases)
      EXPECT_TRUE(!c.applicable || c.as_expected) << each.name << ": " << c.name << ": " << c.detail;
  }
}

// The mean over n numbers has a spread of 1 / sqrt(n), and its budget grows with n: what varies at 4096 x 64 is known
// beforehand at 2^30.
TEST(Admission, LooksAtTheRealSizes) {
  const auto admit_mean = [](std::string_view reference, std::string_view output, std::string_view distribution, std::string_view real) {
    const auto problem = parse_problem(
        fmt::format("problem p: \"x\"\naxes:\n  M >= 1, N >= 1\ninputs:\n  x: f32[M, N] ~ {}\noutputs:\n  y: {}\nreference:\n  y = {}\n"
                    "workloads:\n  smallest one: M=2, N=2\n  shape odd: M=7, N=129\n  emulator scaled: M=256, N=64\n  real task: {}\n",
                    distribution, output, reference, real), "p");
    EXPECT_TRUE(problem) << format_error(problem.error());
    const auto admission = admit(*problem, *admission_workload(*problem), 3);
    EXPECT_TRUE(admission) << format_error(admission.error());
    const auto found = std::find_if(admission->cases.begin(), admission->cases.end(),
                                    [](const AdmissionCase& c) { return c.name == "varies at real sizes"; });
    EXPECT_TRUE(found->applicable);
    EXPECT_EQ(admission->admitted(), found->as_expected);
    return found->as_expected;
  };
  const std::string_view uniform = "uniform(0, 1)";
  EXPECT_TRUE(admit_mean("mean(square(x))", "f32[]", uniform, "M=1024, N=1024"));
  EXPECT_FALSE(admit_mean("mean(square(x))", "f32[]", uniform, "M=32768, N=32768"));
  EXPECT_TRUE(admit_mean("mean(square(x), axis=1)", "f32[M]", uniform, "M=32768, N=32768"));    // 32768 means of 32768
  EXPECT_TRUE(admit_mean("max(x, axis=1) - x[:, 0]", "f32[M]", uniform, "M=32768, N=32768"));   // does not concentrate
  EXPECT_FALSE(admit_mean("mean(square(x), axis=1)", "f32[M]", uniform, "M=2, N=1000000000000"));
}

// A guard that only one of the workloads needs.
TEST(Admission, AnOperatorMayMatterOnAnotherWorkload) {
  const auto problem = parse_problem(
      "problem p: \"x\"\naxes:\n  N >= 1\ninputs:\n  x: f32[N]\noutputs:\n  y: f32[N]\nreference:\n"
      "  y = x / maximum(max(abs(x), keepdims=true), 1e-5)\nworkloads:\n  smallest one: N=2\n  shape zeros: N=9, x ~ constant(0)\n"
      "  emulator scaled: N=100\n",
      "p");
  ASSERT_TRUE(problem) << format_error(problem.error());
  const auto admission = admit(*problem, *admission_workload(*problem), 3);
  ASSERT_TRUE(admission);
  EXPECT_TRUE(admission->admitted());
}

}  // namespace
}  // namespace kw::problem
