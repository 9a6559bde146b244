// Runs tests/problem/*.test. Directives: evaluate, evaluate-error, refuse, refuse-statement.
#include "problem/text_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "problem/evaluate.h"
#include "problem/problem.h"

namespace kw::problem {

std::vector<TextCase> read_cases(const std::string& path) {
  std::ifstream stream(path);
  std::vector<TextCase> cases;
  TextCase current;
  enum { kTitle, kText, kExpected } state = kTitle;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (state == kExpected && line.empty()) {
      cases.push_back(current);
      current = {};
      state = kTitle;
    } else if (state == kTitle && (line.empty() || line[0] == '#')) {
      if (line.size() > 2) current.title = line.substr(2);
    } else if (state == kTitle) {
      const auto blank = line.find(' ');
      current.directive = line.substr(0, blank);
      current.arguments = blank == std::string::npos ? "" : line.substr(blank + 1);
      current.line = number;
      current.file = path;
      state = kText;
    } else if (state == kText && line == "----") {
      state = kExpected;
    } else {
      (state == kText ? current.text : current.expected) += line + "\n";
    }
  }
  if (state == kExpected) cases.push_back(current);
  return cases;
}

namespace {

struct Given {  // "x: f32[2] = 1 2"
  std::string name, type;
  std::vector<double> values;
};

// The value lines at the start of a case, removed from `text`.
std::vector<Given> take_values(std::string& text) {
  std::vector<Given> values;
  std::istringstream lines(text);
  std::string line, rest;
  while (std::getline(lines, line)) {
    const auto colon = line.find(": "), equals = line.find("] = ");
    const bool value = colon != std::string::npos && equals != std::string::npos && rest.empty() &&
                       line.find_first_not_of("0123456789.e+- infa", equals + 4) == std::string::npos;
    if (!value) {
      rest += line + "\n";
      continue;
    }
    Given given{line.substr(0, colon), line.substr(colon + 2, equals - colon - 1), {}};
    std::istringstream numbers(line.substr(equals + 4));
    for (std::string word; numbers >> word;) given.values.push_back(std::stod(word));
    values.push_back(std::move(given));
  }
  text = rest;
  return values;
}

std::string errors_text(const std::vector<Error>& errors, bool whole_place) {
  std::string text;
  for (const Error& error : errors) {
    const int line = error.span ? error.span->line : 0, column = error.span ? error.span->column : 0;
    text += whole_place ? fmt::format("{}:{}: {}\n", line, column, error.message)
                        : fmt::format("{}: {}\n", column, error.message);
    for (const std::string& note : error.notes) text += "note: " + note + "\n";
  }
  return text;
}

// The statements of a case as a problem, evaluated at the values given.
Result<Evaluation> evaluate_case(const TextCase& c, const std::vector<Given>& outputs) {
  std::string statements = c.text;
  const auto inputs = take_values(statements);
  std::string text = "problem t: \"t\"\ninputs:\n";
  for (const Given& input : inputs) text += fmt::format("  {}: {} ~ constant(0)\n", input.name, input.type);
  text += "outputs:\n";
  for (const Given& output : outputs) text += fmt::format("  {}: {}\n", output.name, output.type);
  text += "reference:\n";
  std::istringstream lines(statements);
  for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
  text += "workloads:\n  smallest s:\n";
  KW_TRY(const Problem problem, parse_problem(text, "case"));
  const Workload& workload = problem.workloads.front();
  std::vector<tensor::Tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    KW_TRY(tensor::Shape shape, shape_of(problem.inputs[i], workload));
    KW_TRY(tensor::Tensor given,
           tensor::Tensor::from_doubles(problem.inputs[i].dtype, std::move(shape), inputs[i].values));
    tensors.push_back(std::move(given));
  }
  auto whole = evaluate(problem, workload, tensors);
  EvaluateOptions options;
  options.slice_bytes = sizeof(double);  // cut as far as it goes: the same bits, the same error
  const auto sliced = evaluate(problem, workload, tensors, options);
  EXPECT_EQ(whole.has_value(), sliced.has_value());
  for (std::size_t i = 0; whole && sliced && i < whole->outputs.size(); ++i) {
    const std::span<const std::byte> a = whole->outputs[i].bytes(), b = sliced->outputs[i].bytes();
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << "output " << i << " in slices";
  }
  if (!whole && !sliced) {
    EXPECT_EQ(format_error(whole.error()), format_error(sliced.error()));
  }
  return whole;
}

void run_evaluate(const TextCase& c) {
  std::string expected = c.expected;
  const auto outputs = take_values(expected);
  ASSERT_FALSE(outputs.empty());
  ASSERT_EQ(expected, "");
  const auto evaluation = evaluate_case(c, outputs);
  ASSERT_TRUE(evaluation) << format_error(evaluation.error());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const auto got = evaluation->outputs[o].to_doubles();
    ASSERT_EQ(got.size(), outputs[o].values.size()) << outputs[o].name;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double want = outputs[o].values[i];
      const bool same = std::isnan(want) ? std::isnan(got[i])
                                         : got[i] == want || std::abs(got[i] - want) <=
                                                                 1e-13 * std::max(1.0, std::abs(want));
      EXPECT_TRUE(same) << outputs[o].name << " at " << i << ": " << got[i] << ", expected " << want;
    }
  }
}

// The last statement makes `out`, of the type that the case says after its directive.
void run_evaluate_error(const TextCase& c) {
  auto evaluation = evaluate_case(c, {{"out", c.arguments, {}}});
  ASSERT_FALSE(evaluation);
  ASSERT_TRUE(evaluation.error().span);
  evaluation.error().span->column -= 2;  // of the statement in the case
  EXPECT_EQ(errors_text({evaluation.error()}, false), c.expected);
}

void run_refuse(const TextCase& c) { EXPECT_EQ(errors_text(check_text(c.text, "case"), true), c.expected); }

void run_refuse_statement(const TextCase& c) {
  std::string text =
      "problem t: \"t\"\naxes:\n  M >= 1\n  N >= 1\nattributes:\n  n = 4\ninputs:\n  x: f32[M, N]\n  y: "
      "f32[N]\n"
      "  b: i32[M] ~ integers(0, 1)\noutputs:\n  out: f32[M, N]\nreference:\n";
  std::istringstream lines(c.text);
  for (std::string line; std::getline(lines, line);) text += " " + line + "\n";
  text += " out = x\nworkloads:\n  smallest s: M=2, N=3\n";
  auto errors = check_text(text, "case");
  ASSERT_FALSE(errors.empty());
  errors.resize(1);
  errors[0].span->column -= 1;
  EXPECT_EQ(errors_text(errors, false), c.expected);
}

class TextCaseTest : public testing::Test {
 public:
  explicit TextCaseTest(TextCase c) : case_(std::move(c)) {}
  void TestBody() override {
    SCOPED_TRACE(case_.file + ":" + std::to_string(case_.line) + ": " + case_.title);
    if (case_.directive == "evaluate")
      run_evaluate(case_);
    else if (case_.directive == "evaluate-error")
      run_evaluate_error(case_);
    else if (case_.directive == "refuse")
      run_refuse(case_);
    else if (case_.directive == "refuse-statement")
      run_refuse_statement(case_);
    else
      FAIL() << "unknown directive '" << case_.directive << "'";
  }

 private:
  TextCase case_;
};

const bool kRegistered = [] {
  for (const char* name : {"cast", "errors", "evaluate", "indexing", "random", "scan", "window"}) {
    const auto cases = read_cases(fmt::format("{}/tests/problem/{}.test", KW_SOURCE_DIR, name));
    if (cases.size() < 10) throw std::runtime_error("tests/problem is missing or empty");
    for (const TextCase& c : cases)
      testing::RegisterTest("ProblemText", fmt::format("{}_{}", name, c.line).c_str(), nullptr, nullptr,
                            __FILE__, c.line, [c]() -> testing::Test* { return new TextCaseTest(c); });
  }
  return true;
}();

}  // namespace
}  // namespace kw::problem
