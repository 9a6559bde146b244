// Tolerance against honest and dishonest outputs.
#include "problem/tolerance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "problem/admit.h"
#include "problem/evaluate.h"
#include "problem/inputs.h"
#include "problem/problem.h"

namespace kw::problem {
namespace {

Problem load(std::string_view name) {
  auto problem = load_problem(fmt::format("{}/problems/{}.problem", KW_SOURCE_DIR, name));
  EXPECT_TRUE(problem) << format_error(problem.error());
  return std::move(*problem);
}

struct Prepared {
  Problem problem;
  std::vector<tensor::Tensor> inputs;
  Evaluation reference;
  Tolerance tolerance;
  const Workload& workload() const { return *admission_workload(problem); }
  bool accepts(const std::vector<double>& values) const {
    const auto got = tensor::Tensor::from_doubles(problem.outputs[0].dtype,
                                                  *shape_of(problem.outputs[0], workload()), values);
    const auto metrics = compare_output(problem, workload(), 0, *got, reference, tolerance);
    EXPECT_TRUE(metrics);
    return metrics->passed();
  }
};

Prepared prepare(std::string_view name) {
  Prepared made{load(name), {}, {}, {}};
  made.inputs = *make_inputs(made.problem, made.workload(), 5);
  made.reference = *evaluate(made.problem, made.workload(), made.inputs);
  made.tolerance = *derive_tolerance(made.problem, made.workload(), made.inputs, &made.reference);
  return made;
}

TEST(Tolerance, OneElementOffByFourUnitsFails) {
  for (const char* name : {"row_softmax", "rms_norm", "gemm_f16"}) {
    const Prepared p = prepare(name);
    auto values = p.reference.outputs[0].to_doubles();
    EXPECT_TRUE(p.accepts(values)) << name;
    const std::size_t middle =
        static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
    values[middle] += 4 * tensor::ulp_at(p.problem.outputs[0].dtype, values[middle]);
    EXPECT_FALSE(p.accepts(values)) << name;
  }
}

// An integer output of a real value: both neighbours of a tie are right, the one farther away is not.
TEST(Tolerance, NearestIntegers) {
  const auto problem = parse_problem(R"(problem p: "x"
inputs:
  x: f32[256] ~ uniform(-1, 1)
outputs:
  q: i8[256]
reference:
  q = x * 100.5
workloads:
  emulator one:
)",
                                     "p");
  ASSERT_TRUE(problem) << format_error(problem.error());
  const Workload& workload = problem->workloads[0];
  std::vector<double> x(256, 1.0 / 201);  // q = 0.5
  x[0] = 0.9;                             // q = 90.45
  const std::vector<tensor::Tensor> inputs{*tensor::Tensor::from_doubles(DType::kF32, {256}, x)};
  const Evaluation reference = *evaluate(*problem, workload, inputs);
  const Tolerance tolerance = *derive_tolerance(*problem, workload, inputs, &reference);
  const auto accepts = [&](double first, double others) {
    std::vector<double> q(256, others);
    q[0] = first;
    const auto got = *tensor::Tensor::from_doubles(DType::kI8, {256}, q);
    return compare_output(*problem, workload, 0, got, reference, tolerance)->passed();
  };
  EXPECT_TRUE(accepts(90, 0));
  EXPECT_TRUE(accepts(90, 1));
  EXPECT_FALSE(accepts(91, 0));
  EXPECT_FALSE(accepts(90, -1));
  EXPECT_FALSE(accepts(90, 2));
  const auto admission = admit(*problem, workload, 1);
  ASSERT_TRUE(admission);
  EXPECT_TRUE(admission->admitted());
  for (const AdmissionCase& c : admission->cases) EXPECT_TRUE(c.name != "fraction dropped" || c.applicable);
}

// Four bits: the neighbours of a tie are right; what is two codes away is not.
TEST(Tolerance, NarrowOutputs) {
  const auto problem = parse_problem(R"(problem p: "x"
inputs:
  x: f32[256] ~ uniform(-6, 6)
outputs:
  q: e2m1[256]
reference:
  q = x * 1.5
workloads:
  emulator one:
)",
                                     "p");
  ASSERT_TRUE(problem) << format_error(problem.error());
  const Workload& workload = problem->workloads[0];
  const auto accepts = [&](double exact, double got) {
    const std::vector<tensor::Tensor> inputs{*tensor::Tensor::from_doubles(DType::kF32, {256}, std::vector<double>(256, exact / 1.5))};
    const Evaluation reference = *evaluate(*problem, workload, inputs);
    const Tolerance tolerance = *derive_tolerance(*problem, workload, inputs, &reference);
    const auto q = *tensor::Tensor::from_doubles(DType::kE2M1, {256}, std::vector<double>(256, got));
    return compare_output(*problem, workload, 0, q, reference, tolerance)->passed();
  };
  EXPECT_TRUE(accepts(1, 1));
  EXPECT_FALSE(accepts(1, 0));
  EXPECT_FALSE(accepts(1, 2));
  EXPECT_FALSE(accepts(6, 4));
  EXPECT_FALSE(accepts(0.6, 0));
  EXPECT_TRUE(accepts(5, 4));
  EXPECT_TRUE(accepts(5, 6));
  EXPECT_TRUE(accepts(0.25, 0));
  EXPECT_TRUE(accepts(0.25, 0.5));
}

TEST(Tolerance, HalfPrecisionAccumulationFails) {
  const Prepared p = prepare("gemm_f16");
  const auto a = p.inputs[0].to_doubles(), b = p.inputs[1].to_doubles();
  const auto& axes = p.workload().axes;
  const std::int64_t m = axes.at("M"), n = axes.at("N"), k = axes.at("K");
  std::vector<double> half(static_cast<std::size_t>(m * n)), single(half.size());
  const auto round = [](double v) { return tensor::decode(tensor::encode(v, DType::kF16), DType::kF16); };
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double low = 0;
      float high = 0;
      for (std::int64_t l = k; l-- > 0;) {  // another order than the reference's
        const double product =
            a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
        low = round(low + product);
        high += static_cast<float>(product);
      }
      half[static_cast<std::size_t>(i * n + j)] = low;
      single[static_cast<std::size_t>(i * n + j)] = high;
    }
  EXPECT_TRUE(p.accepts(single));
  EXPECT_FALSE(p.accepts(half));
}

// The same sums in the same order, said in two ways.
TEST(Tolerance, ConvolutionIsAProductOfWindows) {
  const auto problem = parse_problem(R"(problem p: "x"
inputs:
  x: f32[2, 6, 9]
  w: f32[4, 3, 3]
outputs:
  a: f32[2, 4, 5]
  b: f32[2, 4, 5]
reference:
  a = conv(x, w, step=2, padding=1, groups=2)
  p = windows(pad(x, axis=-1, before=1, after=1), axis=-1, size=3, step=2)
  columns = reshape(permute(reshape(p, [2, 2, 3, 5, 3]), [0, 1, 2, 4, 3]), [2, 2, 9, 5])
  b = reshape(reshape(w, [2, 2, 9]) @ columns, [2, 4, 5])
workloads:
  smallest s:
)",
                                     "p");
  ASSERT_TRUE(problem) << format_error(problem.error());
  const Workload& workload = problem->workloads[0];
  const auto inputs = *make_inputs(*problem, workload, 3);
  const Evaluation reference = *evaluate(*problem, workload, inputs);
  const auto values = [&](Precision precision, std::size_t output) {
    EvaluateOptions options;
    options.precision = precision;
    return evaluate(*problem, workload, inputs, options)->outputs[output].to_doubles();
  };
  const auto exact = values(Precision::kReference, 0), single = values(Precision::kHonest, 0);
  EXPECT_EQ(exact, values(Precision::kReference, 1));
  EXPECT_EQ(single, values(Precision::kHonest, 1));
  EXPECT_NE(exact, single);
  const auto pushed = values(Precision::kDisturbed, 0), other = values(Precision::kDisturbed, 1);
  for (std::size_t i = 0; i < exact.size(); ++i) {  // as far, in directions of their own
    const double push = std::abs(pushed[i] - exact[i]);
    EXPECT_GT(push, 0);
    EXPECT_NEAR(push, std::abs(other[i] - exact[i]), 1e-5 * push);
  }
  const Tolerance tolerance = *derive_tolerance(*problem, workload, inputs, &reference);
  EXPECT_EQ(tolerance.outputs[0].reduction_length, 9);
  EXPECT_EQ(tolerance.outputs[1].reduction_length, 9);
  EXPECT_EQ(cost_of(*problem, workload)->matmul_operations, 2 * (2 * 4 * 5 * 9 * 2));
}

// A transposed convolution with step 2 and 5 elements sees 3 of them at most; the mean of a pooling is a mean.
TEST(Tolerance, LengthsOfWindows) {
  const auto problem = parse_problem(R"(problem p: "x"
inputs:
  x: f32[1, 6, 9]
  w: f32[6, 2, 5]
outputs:
  a: f32[1, 4, 21]
  b: f32[1, 6, 3]
reference:
  a = conv_transpose(x, w, step=2, groups=2)
  b = avg_pool(x, [3])
workloads:
  smallest s:
)",
                                     "p");
  ASSERT_TRUE(problem) << format_error(problem.error());
  const auto inputs = *make_inputs(*problem, problem->workloads[0], 3);
  const Tolerance tolerance = *derive_tolerance(*problem, problem->workloads[0], inputs);
  EXPECT_EQ(tolerance.outputs[0].reduction_length, 3 * 3);
  EXPECT_EQ(tolerance.outputs[1].reduction_length, 3);
  EXPECT_EQ(cost_of(*problem, problem->workloads[0])->matmul_operations, 2 * (4 * 21 * 9));
}

TEST(Tolerance, SaysWhereItComesFrom) {
  const Prepared gemm = prepare("gemm_f16"), copy = prepare("transpose");
  EXPECT_EQ(gemm.tolerance.outputs[0].reduction_length, 128);
  EXPECT_GT(gemm.tolerance.outputs[0].budget.rtol, 2 * 0x1p-11);
  EXPECT_TRUE(copy.tolerance.outputs[0].exact);
  EXPECT_EQ(copy.tolerance.outputs[0].text(), "y: exact");
}

TEST(Tolerance, StoredNamesWidenIt) {
  const std::string text =
      "problem t: \"t\"\ninputs:\n  x: f16[64, 64]\n  w: f16[64, 64]\noutputs:\n  y: f32[64, "
      "64]\nreference:\n"
      "  h{} = x * x\n  y = h @ w\nworkloads:\n  smallest s:\n";
  double rtol[2];
  for (int i : {0, 1}) {
    const auto problem = parse_problem(fmt::format(fmt::runtime(text), i == 0 ? "" : ": f16"), "t");
    ASSERT_TRUE(problem) << format_error(problem.error());
    const auto inputs = make_inputs(*problem, problem->workloads[0], 1);
    rtol[i] = derive_tolerance(*problem, problem->workloads[0], *inputs)->outputs[0].budget.rtol;
  }
  EXPECT_GT(rtol[1], 50 * rtol[0]);
}

// Where elements are 1 or exp(-62), the small ones' errors are nothing beside the large ones', but more of
// themselves.
TEST(Tolerance, OfTinyElementsHoldTheirHonestErrors) {
  const auto problem = parse_problem(
      "problem t: \"t\"\naxes:\n  N >= 1\ninputs:\n  x: i32[N] ~ integers(0, 1)\noutputs:\n  y: f32[N]\n"
      "reference:\n  y = exp(-62 * x)\nworkloads:\n  smallest one: N=1\n  shape most: N=600\n",
      "case");
  ASSERT_TRUE(problem) << format_error(problem.error());
  const Workload& workload = *problem->find_workload("most");
  const auto inputs = *make_inputs(*problem, workload, 3);
  const auto reference = *evaluate(*problem, workload, inputs);
  const auto tolerance = *derive_tolerance(*problem, workload, inputs, &reference);
  std::vector<double> values = reference.outputs[0].to_doubles();
  for (double& value : values)
    if (value < 1) value *= 1 + 62 * 0x1p-24;  // its argument was rounded once: what __expf does
  const auto got = *tensor::Tensor::from_doubles(DType::kF32, reference.outputs[0].shape(), values);
  EXPECT_LE(compare_output(*problem, workload, 0, got, reference, tolerance)->budget_used, kHonestMargin);
}

// One score a row: the loss is 0 and its error the sum of three, which one draw of signs may let cancel.
TEST(Tolerance, OfFewElementsSeeErrorsAddUp) {
  const Problem problem = load("cross_entropy");
  const Workload& workload = *problem.find_workload("single");
  const auto inputs = *make_inputs(problem, workload, 11);
  const auto reference = *evaluate(problem, workload, inputs);
  const auto tolerance = *derive_tolerance(problem, workload, inputs, &reference);
  EvaluateOptions run;
  run.precision = Precision::kDisturbed;
  for (run.disturbance = 1000; run.disturbance < 1064; ++run.disturbance) {
    const auto disturbed = *evaluate(problem, workload, inputs, run);
    const auto got = *tensor::Tensor::from_doubles(DType::kF32, disturbed.outputs[0].shape(),
                                                   disturbed.outputs[0].to_doubles());
    const auto metrics = *compare_output(problem, workload, 0, got, reference, tolerance);
    EXPECT_LE(metrics.budget_used, kHonestMargin) << run.disturbance;
  }
}

// The same numbers in another shape or type are not the output.
TEST(Tolerance, ComparesOnlyWhatIsTheOutput) {
  const Problem problem = load("transpose");
  const Workload& workload = problem.workloads.front();
  const auto inputs = *make_inputs(problem, workload, 11);
  const auto reference = *evaluate(problem, workload, inputs);
  const auto tolerance = *derive_tolerance(problem, workload, inputs, &reference);
  const std::vector<double> values = reference.outputs[0].to_doubles();
  const tensor::Shape right = reference.outputs[0].shape();
  tensor::Shape longer = right;
  longer.push_back(1);
  const auto given = [&](DType type, const tensor::Shape& shape) {
    return compare_output(problem, workload, 0, *tensor::Tensor::from_doubles(type, shape, values), reference, tolerance);
  };
  EXPECT_TRUE(given(problem.outputs[0].dtype, right)->passed());
  EXPECT_FALSE(given(problem.outputs[0].dtype, longer));
  EXPECT_FALSE(given(DType::kF64, right));
  EXPECT_FALSE(compare_output(problem, workload, 1, reference.outputs[0], reference, tolerance));
}

}  // namespace
}  // namespace kw::problem
