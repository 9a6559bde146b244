// Every problem of problems/; inputs; limits; hostile text.
#include "problem/problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "base/rng.h"
#include "problem/admit.h"
#include "problem/evaluate.h"
#include "problem/inputs.h"
#include "problem/tolerance.h"

namespace kw::problem {
namespace {

std::vector<std::string> every_name() {  // of problems/
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(KW_SOURCE_DIR "/problems"))
    if (entry.path().extension() == ".problem") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string path_of(std::string_view name) {
  return fmt::format("{}/problems/{}.problem", KW_SOURCE_DIR, name);
}

Problem load(std::string_view name) {
  auto problem = load_problem(path_of(name));
  EXPECT_TRUE(problem) << format_error(problem.error());
  return std::move(*problem);
}

class EveryProblem : public testing::TestWithParam<std::string> {};

TEST_P(EveryProblem, IsCompleteAndShort) {
  const auto text = read_file(path_of(GetParam()));
  ASSERT_TRUE(text);
  for (const Error& error : check_text(*text, GetParam())) ADD_FAILURE() << format_error(error);
  EXPECT_LE(std::count(text->begin(), text->end(), '\n'), 40);
  const Problem problem = load(GetParam());
  EXPECT_EQ(problem.name, GetParam());
  const auto shapes = std::count_if(problem.workloads.begin(), problem.workloads.end(),
                                    [](const Workload& w) { return w.role == Role::kShape; });
  EXPECT_GE(shapes, 4);
}

TEST_P(EveryProblem, IsAdmitted) {
  const Problem problem = load(GetParam());
  for (const Workload& workload : problem.workloads) {
    if (workload.role != Role::kEmulator) continue;
    for (std::uint64_t seed : {1, 2, 3}) {
      const auto admission = admit(problem, workload, seed);
      ASSERT_TRUE(admission) << format_error(admission.error());
      for (const AdmissionCase& c : admission->cases)
        EXPECT_TRUE(!c.applicable || c.as_expected) << workload.name << ", " << c.name << ": " << c.detail;
      const auto applied = std::count_if(admission->cases.begin(), admission->cases.end(),
                                         [](const AdmissionCase& c) { return c.applicable && c.kind == AdmissionKind::kMutant; });
      const bool rounds = std::any_of(problem.outputs.begin(), problem.outputs.end(),
                                      [](const TensorDecl& o) { return kind_of(o.dtype) == Kind::kReal; });
      EXPECT_GE(applied, rounds ? 6 : 5) << "zero, constant, last element, tail, other inputs; truncated";
    }
  }
}

TEST_P(EveryProblem, HonestKernelsPassOnEverySmallWorkload) {
  const Problem problem = load(GetParam());
  for (const Workload& workload : problem.workloads) {
    if (workload.role == Role::kReal) continue;
    const auto admission = admit(problem, workload, 11);
    ASSERT_TRUE(admission) << format_error(admission.error());
    for (const AdmissionCase& c : admission->cases)
      EXPECT_TRUE(c.kind != AdmissionKind::kHonest || c.as_expected) << workload.name << ", " << c.name << ": " << c.detail;
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, EveryProblem, testing::ValuesIn(every_name()),
                         [](const auto& info) { return info.param; });

TEST(Inputs, DependOnTheSeedAndNothingElse) {
  const Problem problem = load("gemm_f16");
  const Workload& workload = *problem.find_workload("tails");
  const auto once = make_inputs(problem, workload, 7), again = make_inputs(problem, workload, 7),
             other = make_inputs(problem, workload, 8);
  ASSERT_TRUE(once && again && other);
  EXPECT_TRUE(std::equal((*once)[0].bytes().begin(), (*once)[0].bytes().end(), (*again)[0].bytes().begin()));
  EXPECT_FALSE(std::equal((*once)[0].bytes().begin(), (*once)[0].bytes().end(), (*other)[0].bytes().begin()));
  EXPECT_FALSE(
      std::equal((*once)[0].bytes().begin(), (*once)[0].bytes().begin() + 64, (*once)[1].bytes().begin()))
      << "a and b differ";
}

// Elements that share bytes are made by many threads.
TEST(Inputs, NarrowElementsAreWhatEachIsDrawnToBe) {
  for (const DType dtype : {DType::kE2M1, DType::kE3M2, DType::kI4}) {
    const auto many = fill(dtype, {70001}, Distribution{}, 3, "narrow"), wide = fill(DType::kF64, {70001}, Distribution{}, 3, "narrow");
    ASSERT_TRUE(many && wide);
    for (std::int64_t i = 0; i < many->size(); ++i)
      ASSERT_EQ(many->bits_at(i), tensor::encode(wide->at(i), dtype, tensor::Rounding::kNearestEven, true)) << tensor::name_of(dtype) << " " << i;
  }
}

TEST(Inputs, IntegersReachASizeOfTheWorkload) {
  const auto problem = parse_problem(
      "problem t: \"t\"\naxes:\n  N >= 1\n  V >= 1\ninputs:\n  i: i32[N] ~ integers(0, V - 1)\n"
      "  x: f32[V]\noutputs:\n  y: f32[N]\nreference:\n  y = take(x, i)\nworkloads:\n"
      "  smallest one: N=1, V=1\n  shape wide: N=4096, V=7\n  shape own: N=64, V=7, i ~ integers(2, V // "
      "2)\n",
      "case");
  ASSERT_TRUE(problem) << format_error(problem.error());
  const auto indices = [&](std::string_view name) {
    return (*make_inputs(*problem, *problem->find_workload(name), 5))[0].to_doubles();
  };
  EXPECT_EQ(indices("one"), std::vector<double>{0});
  const auto wide = indices("wide"), own = indices("own");
  for (double v : {0, 1, 2, 3, 4, 5, 6}) EXPECT_NEAR(std::count(wide.begin(), wide.end(), v), 585, 120) << v;
  for (double v : own) EXPECT_TRUE(v == 2 || v == 3) << v;
}

TEST(Inputs, FollowTheirDistributions) {
  using Form = Distribution::Form;
  const auto values = [](Form form, double a, double b, DType dtype = DType::kF32) {
    return fill(dtype, {64, 64}, Distribution{form, a, b}, 3, "t")->to_doubles();
  };
  double sum = 0, squares = 0;
  for (double v : values(Form::kNormal, 1, 2)) {
    sum += v;
    squares += (v - 1) * (v - 1);
  }
  EXPECT_NEAR(sum / 4096, 1, 0.15);
  EXPECT_NEAR(squares / 4096, 4, 0.4);
  for (double v : values(Form::kUniform, -1, 3)) {
    ASSERT_GE(v, -1);
    ASSERT_LE(v, 3);
  }
  const auto integers = values(Form::kIntegers, -2, 2, DType::kI8);
  for (double v : {-2, -1, 0, 1, 2})
    EXPECT_NEAR(std::count(integers.begin(), integers.end(), v), 819, 150) << v;
  const auto hot = values(Form::kOneHot, 5, 0);
  const auto sorted = values(Form::kSorted, -1, 1);
  const auto cancel = values(Form::kCancel, 100, 0);
  for (int row = 0; row < 64; ++row) {
    EXPECT_EQ(std::count(hot.begin() + row * 64, hot.begin() + row * 64 + 64, 5.0), 1);
    EXPECT_EQ(std::count(hot.begin() + row * 64, hot.begin() + row * 64 + 64, 0.0), 63);
    EXPECT_TRUE(std::is_sorted(sorted.begin() + row * 64, sorted.begin() + row * 64 + 64));
    EXPECT_EQ(cancel[static_cast<std::size_t>(row * 64)], -cancel[static_cast<std::size_t>(row * 64 + 1)]);
  }
  for (double v : values(Form::kNormal, 0, 1e6, DType::kF16))
    ASSERT_TRUE(std::isfinite(v)) << "clamped to the dtype";
}

TEST(Evaluate, DoesNotDependOnThreads) {
  for (const char* name : {"row_softmax", "gemm_f16", "reduction", "attention_forward", "conv2d", "conv_transpose2d",
                           "depthwise_conv2d", "avg_pool2d", "max_pool2d"}) {
    const Problem problem = load(name);
    const Workload& workload = *admission_workload(problem);
    const auto inputs = make_inputs(problem, workload, 1);
    for (Precision precision : {Precision::kReference, Precision::kHonest, Precision::kDisturbed}) {
      EvaluateOptions one, many;
      one.precision = many.precision = precision;
      one.threads = 1;
      many.threads = 3;
      EXPECT_EQ(evaluate(problem, workload, *inputs, one)->outputs[0].to_doubles(),
                evaluate(problem, workload, *inputs, many)->outputs[0].to_doubles())
          << name;
    }
  }
}

TEST(Evaluate, KeepsNames) {
  const Problem problem = load("row_softmax");
  const Workload& workload = *problem.find_workload("odd");
  EvaluateOptions options;
  options.keep_names = true;
  const auto evaluation = evaluate(problem, workload, *make_inputs(problem, workload, 1), options);
  ASSERT_TRUE(evaluation);
  ASSERT_EQ(evaluation->names.size(), 4u);
  EXPECT_EQ(evaluation->names[0].name, "top");
  EXPECT_EQ(evaluation->names[0].value.shape(), (tensor::Shape{7, 1}));
  EXPECT_EQ(evaluation->names[3].value.to_doubles(), evaluation->outputs[0].to_doubles());
}

TEST(Evaluate, JoinsAsManyAsAnUnrolledLoopHas) {
  std::string parts;
  for (int i = 0; i < 1000; ++i) parts += fmt::format("x + {}, ", i);
  const auto problem = parse_problem(
      fmt::format("problem t: \"t\"\naxes:\n  M >= 1\ninputs:\n  x: f32[M]\noutputs:\n  y: f32[1000 * M]\nreference:\n"
                  "  y = concat({} axis=0)\nworkloads:\n  smallest s: M=2\n", parts), "joined");
  ASSERT_TRUE(problem) << format_error(problem.error());
  const auto inputs = make_inputs(*problem, problem->workloads[0], 1);
  ASSERT_TRUE(inputs);
  const auto evaluation = evaluate(*problem, problem->workloads[0], *inputs);
  ASSERT_TRUE(evaluation) << format_error(evaluation.error());
  const auto x = (*inputs)[0].to_doubles(), y = evaluation->outputs[0].to_doubles();
  ASSERT_EQ(y.size(), 2000u);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], x[i % 2] + static_cast<double>(i / 2));
}

TEST(Evaluate, RefusesWhatIsTooMuchBeforeAllocating) {
  const Problem problem = load("gemm_f16");
  const auto workload =
      make_workload(problem, "huge", Role::kShape, {{"M", 1 << 30}, {"N", 1 << 20}, {"K", 8}});
  ASSERT_TRUE(workload);
  const auto inputs = make_inputs(problem, *workload, 1);
  ASSERT_FALSE(inputs);
  EXPECT_EQ(inputs.error().code, ErrorCode::kLimit);
  EvaluateOptions options;
  options.memory_limit = 1000;
  const Workload& small = *admission_workload(problem);
  const auto evaluation = evaluate(problem, small, *make_inputs(problem, small, 1), options);
  ASSERT_FALSE(evaluation);
  EXPECT_EQ(evaluation.error().code, ErrorCode::kLimit);
  EXPECT_FALSE(evaluate(problem, small, {}));
}

TEST(Workload, IsChecked) {
  const Problem problem = load("gemm_f16");
  EXPECT_TRUE(make_workload(problem, "w", Role::kShape, {{"M", 3}, {"N", 16}, {"K", 8}}));
  EXPECT_FALSE(make_workload(problem, "w", Role::kShape, {{"M", 3}, {"N", 12}, {"K", 8}})) << "N % 8";
  EXPECT_FALSE(make_workload(problem, "w", Role::kShape, {{"M", -8}, {"N", 8}, {"K", 8}}));
  EXPECT_FALSE(make_workload(problem, "w", Role::kShape,
                             {{"M", std::numeric_limits<std::int64_t>::min()}, {"N", 8}, {"K", 8}}));
  EXPECT_FALSE(make_workload(problem, "w", Role::kShape, {{"M", 8}, {"N", 8}}));
  EXPECT_FALSE(make_workload(problem, "w", Role::kShape, {{"M", 8}, {"N", 8}, {"K", 8}, {"Q", 8}}));
  const auto cost = cost_of(problem, *problem.find_workload("scaled"));
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->operations, 2.0 * 256 * 128 * 128);
  EXPECT_EQ(cost->input_bytes, 2.0 * (256 * 128 + 128 * 128));
}

TEST(Dim, EqualPolynomialsAreEqual) {
  const Dim m = Dim::axis("M"), k = Dim::axis("K");
  EXPECT_EQ(*Dim::multiply(*Dim::add(m, 1), 2), *Dim::add(*Dim::multiply(2, m), 2));
  EXPECT_EQ(*Dim::multiply(m, k), *Dim::multiply(k, m));
  const Dim half = *Dim::floor_divide(k, 2);
  EXPECT_EQ(*Dim::add(half, *Dim::subtract(k, half)), k);
  EXPECT_EQ(*Dim::floor_divide(*Dim::multiply(6, m), 3), *Dim::multiply(2, m));
  const Dim quarter = *Dim::floor_divide(*Dim::add(*Dim::floor_divide(*Dim::add(k, 1), 2), 1), 2);  // two convolutions of step 2
  EXPECT_EQ(quarter, *Dim::floor_divide(*Dim::add(k, 3), 4));
  for (std::int64_t size = 0; size < 20; ++size) EXPECT_EQ(*quarter.evaluate({{"K", size}}), ((size + 1) / 2 + 1) / 2);
  EXPECT_FALSE(m == k);
  EXPECT_EQ(Dim::add(*Dim::multiply(2, m), -3)->text(), "2*M - 3");
  EXPECT_EQ(*half.evaluate({{"K", 7}}), 3);
  EXPECT_FALSE(Dim::multiply(m, k)->evaluate({{"M", std::int64_t{1} << 40}, {"K", std::int64_t{1} << 40}}));
}

// Hostile text ends in errors, soon.
TEST(Hostile, TextIsRefused) {
  const auto wrap = [](const std::string& expression) {
    return fmt::format(
        "problem t: \"t\"\naxes:\n  M >= 1\ninputs:\n  x: f32[M]\noutputs:\n  y: f32[M]\nreference:\n"
        "  y = {}\nworkloads:\n  smallest s: M=1\n",
        expression);
  };
  const auto repeat = [](std::string_view part, int times, std::string text = {}) {
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  const std::string texts[] = {
      wrap(repeat("(", 100000)),
      wrap(repeat("-", 100000) + "x"),
      wrap(repeat("not ", 100000) + "x"),
      wrap(repeat("exp(", 50000) + "x"),
      wrap(repeat("[None]", 5000, "x")),
      wrap(repeat(" + x", 50000, "x")),
      wrap(repeat(" ** 2", 50000, "x")),
      wrap(repeat(" * M", 1000, "arange(M") + ")"),
      wrap(repeat(" + 1) // 3", 300, "arange((M")),
      wrap(repeat(")", 150, repeat("softmax(", 150) + "x")),
      wrap("concat(" + repeat("x, ", 4096) + "x)"),
      wrap("concat(" + repeat("concat(" + repeat("x, ", 4000) + "x), ", 80) + "x)"),
      std::string(3 << 20, 'a'),
      std::string(1000, '\0'),
      repeat("problem p: \"x\"\n", 1000),
      repeat("\xff\xfe", 500),
      wrap("x") + repeat("  shape q: M=4\n", 20000),
  };
  for (const std::string& text : texts)
    EXPECT_FALSE(check_text(text, "hostile").empty()) << text.substr(0, 80);
}

// Every mutation of a good file is either a sound problem or an error with a place; never a crash.
TEST(Hostile, MutationsOfTheProblems) {
  Rng rng(2024);
  const std::string pieces[] = {
      "(",  ")",  "[", "]",    ",",   ":",     "=",    "~",     "-",
      "*",  "//", "%", "@",    "M",   "x",     "0",    "1e999", "4611686018427387904",
      "\"", "\n", "#", "None", "...", "axis=", "sum(", "f16",   " "};
  int refused = 0;
  for (const std::string& name : every_name()) {
    const std::string text = *read_file(path_of(name));
    for (int round = 0; round < 400; ++round) {
      std::string mutant = text;
      for (std::uint64_t edits = 1 + rng.below(3); edits > 0; --edits) {
        const std::size_t at = rng.below(mutant.size());
        switch (rng.below(4)) {
          case 0: mutant.erase(at, 1 + rng.below(12)); break;
          case 1: mutant.insert(at, pieces[rng.below(std::size(pieces))]); break;
          case 2: mutant[at] = static_cast<char>(rng.below(256)); break;
          default: mutant.insert(at, mutant.substr(rng.below(mutant.size()), 1 + rng.below(30))); break;
        }
      }
      const auto problem = parse_problem(mutant, "mutant");
      if (!problem) {
        ++refused;
        EXPECT_TRUE(problem.error().span) << problem.error().message;
        EXPECT_FALSE(problem.error().message.empty());
        continue;
      }
      const Workload& smallest = problem->workloads.front();
      EvaluateOptions options;
      options.memory_limit = 1 << 24;
      options.operation_limit = 1e7;
      options.threads = 1;
      if (const auto inputs = make_inputs(*problem, smallest, 1, 1 << 22))
        (void)evaluate(*problem, smallest, *inputs, options);
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace kw::problem
