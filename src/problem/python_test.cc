// Functions of section python. What needs Python with torch is skipped, with the reason, where there is none.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "base/file.h"
#include "base/jail.h"
#include "problem/evaluate.h"
#include "problem/problem.h"
#include "problem/python_place.h"
#include "problem/tolerance.h"

namespace kw::problem {
namespace {

using Values = std::vector<double>;

// x: f32[N] and i: i64[N] go in, N = 4; y: f32[N] comes out.
Problem problem_of(const std::string& section, const std::string& statements) {
  std::string text = "problem t: \"t\"\naxes:\n  N >= 1\nattributes:\n  scale = 0.5\n  whole = 3\npython:\n";
  const auto indent = [&](const std::string& lines) {
    std::istringstream stream(lines);
    for (std::string line; std::getline(stream, line);) text += "  " + line + "\n";
  };
  indent(section);
  text += "inputs:\n  x: f32[N]\n  i: i64[N] ~ integers(0, 9)\noutputs:\n  y: f32[N]\nreference:\n";
  indent(statements);
  text += "workloads:\n  smallest s: N=4\n";
  auto problem = parse_problem(text, "t.problem");
  EXPECT_TRUE(problem) << format_error(problem.error());
  return std::move(problem).value();
}

const Values kX = {0.1, -2.7, 3.3, 1e-5}, kI = {4, 0, 9, 7};

Result<Values> run(const Problem& problem, const EvaluateOptions& options = {}) {
  KW_TRY(auto x, tensor::Tensor::from_doubles(DType::kF32, {4}, kX));
  KW_TRY(auto i, tensor::Tensor::from_doubles(DType::kI64, {4}, kI));
  KW_TRY(const Evaluation evaluation, evaluate(problem, problem.workloads[0], {std::move(x), std::move(i)}, options));
  return evaluation.outputs[0].to_doubles();
}

Values as_f32(Values values) {
  for (double& value : values) value = static_cast<double>(static_cast<float>(value));
  return values;
}

constexpr const char* kCall = "y = python(f, x, i, shape=[N])";

std::string refusal(const std::string& section, const std::string& statements = kCall, const EvaluateOptions& options = {}) {
  const auto values = run(problem_of(section, statements), options);
  return values ? "" : format_error(values.error());
}

class Python : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto python = find_python(); !python) GTEST_SKIP() << format_error(python.error());
    if (jail_support().kind == JailKind::kNone) GTEST_SKIP() << jail_support().remedy;
  }
};

TEST(PythonSection, KeepsTheTextAndFindsItsFunctions) {
  const std::string section = "import torch\n\ndef f(x, i):\n    '''a\n  b'''\n    return x  # inputs:\nclass C:\n    def g(self): pass\ndef h(x): return x\n";
  const Problem problem = problem_of(section, "y = python(f, x, i, shape=[N])");
  EXPECT_EQ(problem.graph.python.source, section);
  EXPECT_EQ(problem.graph.python.functions, (std::vector<std::string>{"f", "h"}));
  EXPECT_EQ(problem.graph.python.line, 8);
}

TEST(PythonSection, EqualCallsAreOneNodeAndOtherOutputsShareTheOperands) {
  const Problem problem = problem_of("def f(x, n, s): return x, x",
                                     "a = python(f, x, N, scale, shape=[N])\n"
                                     "b = python(f, x, N, scale, shape=[N])\n"
                                     "c = python(f, x, N, scale, shape=[N], output=1)\n"
                                     "d = python(f, x, N, 2, shape=[N], output=1)\n"
                                     "y = a + b + c + d + 0 * i");
  const auto node = [&](std::size_t name) { return problem.names[name].node; };
  EXPECT_EQ(node(0), node(1));
  EXPECT_EQ(problem.graph.same_call(node(0)), (std::vector<NodeId>{node(0), node(2)}));
  EXPECT_EQ(problem.graph.same_call(node(3)), (std::vector<NodeId>{node(3)}));
}

TEST(PythonPlace, SaysWhatToInstall) {
  const char* before = std::getenv("KW_PYTHON");
  const std::string kept = before != nullptr ? before : "";
  setenv("KW_PYTHON", "/bin/false", 1);
  const std::string said = refusal("def f(x, i): return x");
  before != nullptr ? setenv("KW_PYTHON", kept.c_str(), 1) : unsetenv("KW_PYTHON");
  EXPECT_NE(said.find("/bin/false does not run"), std::string::npos) << said;
  EXPECT_NE(said.find("pip install torch"), std::string::npos) << said;
  EXPECT_NE(said.find("KW_PYTHON"), std::string::npos) << said;
  EXPECT_NE(said.find("t.problem:15:7"), std::string::npos) << said;
}

TEST_F(Python, NumbersArriveAsNumbersAndTensorsOfTheirKind) {
  const auto values = run(problem_of(
      "import torch\ndef f(x, i, n, whole, scale, b):\n"
      "  good = [x.dtype == torch.float64, i.dtype == torch.int64, type(n) is int and n == 4,\n"
      "          whole == 3 and scale == 0.5 and type(scale) is float and b.dtype == torch.bool and b.shape == (4,)]\n"
      "  return torch.tensor(good)",
      "y = where(python(f, x, i, N, whole, scale, x > 0, shape=[N], dtype=bool), 1, 0)"));
  ASSERT_TRUE(values) << format_error(values.error());
  EXPECT_EQ(*values, (Values{1, 1, 1, 1}));
}

// Casts, factories, autocast and devices; the text's roundings are there in the plain evaluation.
constexpr const char* kNarrow =
    "import torch, torch.nn.functional as F\n"
    "def f(x, i):\n"
    "  third = torch.tensor(1 / 3, dtype=torch.float16)\n"
    "  y = x.to(torch.bfloat16).float().half() + torch.zeros(4, dtype=torch.float32, device='cuda')\n"
    "  with torch.autocast('cpu', dtype=torch.bfloat16):\n"
    "    z = torch.eye(4) @ x\n"
    "  return F.relu(y + 100).type(torch.float16) + third + z.cuda()\n";

TEST_F(Python, ExactKeepsFp64AndPlainRoundsAsTheTextSays) {
  const Problem problem = problem_of(kNarrow, kCall);
  EvaluateOptions options;
  const auto exact = run(problem, options);
  ASSERT_TRUE(exact) << format_error(exact.error());
  const Values x = as_f32(kX);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR((*exact)[i], 2 * x[i] + 100 + 1.0 / 3, 1e-13);
  options.precision = Precision::kHonest;
  const auto plain = run(problem, options);
  ASSERT_TRUE(plain) << format_error(plain.error());
  EXPECT_GT(std::abs((*plain)[0] - (*exact)[0]), 1e-3);  // an f16 near 100 has steps of 1/16
  EXPECT_LT(std::abs((*plain)[0] - (*exact)[0]), 1);
  const Problem cast = problem_of("def f(x, i): return x.half().float() + i.to(x.dtype)", kCall);
  const auto rounded = run(cast, options);
  ASSERT_TRUE(rounded) << format_error(rounded.error());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double half = tensor::decode(tensor::encode(x[i], DType::kF16), DType::kF16);
    EXPECT_EQ((*rounded)[i], static_cast<double>(static_cast<float>(half + kI[i])));
  }
}

TEST_F(Python, SeveralOutputsOfOneCallRunOnceAndAnswersAreRemembered) {
  const Problem problem = problem_of(
      "import os, torch\ndef f(x):\n  secret = torch.full((4,), int.from_bytes(os.urandom(3), 'little'))\n  return x, {'unused': 1}, secret, secret",
      "y = python(f, x, shape=[N], dtype=i32, output=2) - python(f, x, shape=[N], dtype=i32, output=3) + python(f, x, shape=[N], dtype=i32, "
      "output=2) + 0 * i");
  EvaluateOptions options;
  const auto first = run(problem, options), second = run(problem, options);
  ASSERT_TRUE(first && second) << format_error(first ? second.error() : first.error());
  EXPECT_EQ(*first, *second);
  const auto anew = run(problem);
  ASSERT_TRUE(anew);
  EXPECT_NE(*anew, *first);
  // Outputs 2 and 3 agree: what is left is the number itself.
  EXPECT_EQ(Values(4, first->front()), *first);
}

TEST_F(Python, TheToleranceIsDerivedFromThePlainEvaluation) {
  const Problem problem = problem_of("def f(x, i): return x.exp() + i", kCall);
  auto x = tensor::Tensor::from_doubles(DType::kF32, {4}, kX), i = tensor::Tensor::from_doubles(DType::kI64, {4}, kI);
  const auto tolerance = derive_tolerance(problem, problem.workloads[0], {*x, *i});
  ASSERT_TRUE(tolerance) << format_error(tolerance.error());
  const OutputTolerance& y = tolerance->outputs[0];
  EXPECT_FALSE(y.exact);
  EXPECT_GT(y.plain_error, 0);
  EXPECT_LT(y.budget.rtol, 64 * 0x1p-21);
  EXPECT_GT(y.budget.rtol, 4 * 0x1p-21);
}

TEST_F(Python, FailuresNameTheLineOfTheProblemFile) {
  const std::string raised = refusal("def f(x, i):\n  y = x + 1\n  raise ValueError('no \\x1b[31mluck')");
  EXPECT_NE(raised.find("t.problem:10:1: error: Python function 'f': ValueError: no ?[31mluck"), std::string::npos) << raised;
  EXPECT_NE(raised.find("  raise ValueError"), std::string::npos) << raised;
  const std::string shape = refusal("def f(x, i): return x[:3]");
  EXPECT_NE(shape.find("output 0 has shape [3]; the problem says [4]"), std::string::npos) << shape;
  const std::string kind = refusal("def f(x, i): return x", "y = python(f, x, i, shape=[N], dtype=i32) + 0");
  EXPECT_NE(kind.find("output 0 is float64; the problem says that it is integer"), std::string::npos) << kind;
  const std::string count = refusal("def f(x, i): return x, x", "y = python(f, x, i, shape=[N], output=2)");
  EXPECT_NE(count.find("it gives 2 values; the problem asks for output=2"), std::string::npos) << count;
  const std::string random = refusal("import torch\ndef f(x, i): return x + torch.rand(4)");
  EXPECT_NE(random.find("it draws random numbers"), std::string::npos) << random;
}

TEST_F(Python, SeesNothingOfTheMachine) {
  const auto values = run(problem_of(
      "import os, socket, subprocess, torch\n"
      "def refused(act):\n"
      "  try: act()\n"
      "  except (OSError, subprocess.SubprocessError): return 1.0\n"
      "  return 0.0\n"
      "def f(x, i):\n"
      "  print('results\\nof a kind' * 100)\n"
      "  return torch.tensor([refused(lambda: socket.create_connection(('127.0.0.1', 22), 1)),\n"
      "                       refused(lambda: open('/etc/passwd')),\n"
      "                       refused(lambda: open('" KW_SOURCE_DIR "/CMakeLists.txt')),\n"
      "                       refused(lambda: open(torch.__file__, 'a'))])",
      kCall));
  ASSERT_TRUE(values) << format_error(values.error());
  EXPECT_EQ(*values, (Values{1, 1, 1, 1}));
}

TEST_F(Python, EndsWhatDoesNotEnd) {
  EvaluateOptions options;
  options.python_seconds = 5;
  const std::string said = refusal("import time\ndef f(x, i):\n  while True: time.sleep(1)", kCall, options);
  EXPECT_NE(said.find("'f' did not end within 5 s"), std::string::npos) << said;
}

TEST_F(Python, StopsWhatTakesTooMuch) {
  EvaluateOptions options;
  options.memory_limit = 256 << 20;
  const std::string memory = refusal("def f(x, i):\n  return [bytearray(1 << 20) for i in range(1 << 14)]", kCall, options);
  EXPECT_NE(memory.find("'f' took more memory than the limit of 256 MiB"), std::string::npos) << memory;
  const std::string disk = refusal("import sys\ndef f(x, i):\n  file = open(sys.argv[1] + '/big', 'wb')\n  while True: file.write(bytes(1 << 20))");
  EXPECT_TRUE(disk.find("'f' filled its folder") != std::string::npos || disk.find("No space left") != std::string::npos) << disk;
  const std::string words = refusal("def f(x, i):\n  while True: print('x' * 100000)");
  EXPECT_NE(words.find("'f' prints more than 1 MiB"), std::string::npos) << words;
}

TEST_F(Python, BelievesNothingThatIsLeftBehind) {
  const std::string leave = "import os, struct, sys\ndef f(x, i):\n  results = sys.argv[1] + '/results'\n";
  const auto said = [&](const std::string& act, const std::string& dtype) {
    return refusal(leave + act + "  os._exit(0)", "y = python(f, x, i, shape=[N], dtype=" + dtype + ") + 0.0");
  };
  EXPECT_NE(said("", "f32").find("'f' ended its process without results"), std::string::npos);
  EXPECT_NE(said("  open(results, 'w').write('garbage' * 999)\n", "f32").find("without results"), std::string::npos);
  EXPECT_NE(said("  os.remove(results)\n  os.symlink('/etc/passwd', results)\n", "f32").find("without results"), std::string::npos);
  const std::string fraction = said("  open(results, 'wb').write(struct.pack('<8d', *[0.5] * 8))\n", "i32");
  EXPECT_NE(fraction.find("output 0 holds 0.5, which is no integer"), std::string::npos) << fraction;
  const std::string aborted = refusal("import os\ndef f(x, i): os.abort()");
  EXPECT_NE(aborted.find("'f' ended its process: killed by SIGABRT"), std::string::npos) << aborted;
  const std::string left = refusal("import sys\ndef f(x, i): sys.exit(0)");
  EXPECT_NE(left.find("'f': SystemExit: 0"), std::string::npos) << left;
}

}  // namespace
}  // namespace kw::problem
