// evaluate_changed() against evaluate(), on every problem of ours: each input drawn again, each node replaced by an operand.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "problem/evaluate.h"
#include "problem/inputs.h"
#include "problem/plan_memory.h"

namespace kw::problem {
namespace {

const Workload* cheapest(const Problem& problem) {
  for (const Role role : {Role::kShape, Role::kSmallest})
    for (const Workload& workload : problem.workloads)
      if (workload.role == role) return &workload;
  return nullptr;
}

// The same values, or both refuse.
void expect_same(const Result<Evaluation>& some, const Result<Evaluation>& all, const std::string& what) {
  ASSERT_EQ(some.has_value(), all.has_value()) << what;
  if (!some) return;
  for (std::size_t i = 0; i < all->outputs.size(); ++i) {
    const auto x = some->outputs[i].bytes(), y = all->outputs[i].bytes();
    ASSERT_EQ(x.size(), y.size()) << what;
    EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size()), 0) << what;
  }
}

TEST(Changed, AsTheWholeEvaluation) {
  int inputs_changed = 0, nodes_changed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(KW_SOURCE_DIR "/problems")) {
    if (entry.path().extension() != ".problem") continue;
    const auto problem = load_problem(entry.path().string());
    ASSERT_TRUE(problem) << format_error(problem.error());
    const Workload* workload = cheapest(*problem);
    if (workload == nullptr || !problem->graph.python.source.empty()) continue;  // needs no Python here
    EvaluateOptions options;
    options.threads = 1;
    const auto inputs = make_inputs(*problem, *workload, 1), others = make_inputs(*problem, *workload, 2);
    ASSERT_TRUE(inputs && others);
    const auto before = evaluate_nodes(*problem, *workload, *inputs, options);
    ASSERT_TRUE(before) << format_error(before.error());
    const auto known = node_shapes(*problem, workload->axes);
    ASSERT_TRUE(known);
    const auto& nodes = problem->graph.nodes;
    for (std::size_t id = 0; id < nodes.size(); ++id) {
      const std::string what = fmt::format("{}, node {}", problem->name, id);
      const auto changed = std::vector{static_cast<NodeId>(id)};
      if (nodes[id].op == Op::kInput) {
        const auto i = static_cast<std::size_t>(nodes[id].input);
        auto given = *inputs;
        given[i] = (*others)[i];
        expect_same(evaluate_changed(*problem, *workload, given, options, *before, changed), evaluate(*problem, *workload, given, options), what);
        ++inputs_changed;
      }
      for (const NodeId operand : nodes[id].operands) {
        const auto& shape = known->shapes[static_cast<std::size_t>(operand)];
        if (!known->live[id] || shape != known->shapes[id] || nodes[static_cast<std::size_t>(operand)].kind != nodes[id].kind) continue;
        Problem other = *problem;
        other.graph.nodes[id].op = Op::kReshape;
        other.graph.nodes[id].operands = {operand};
        expect_same(evaluate_changed(other, *workload, *inputs, options, *before, changed), evaluate(other, *workload, *inputs, options), what);
        ++nodes_changed;
      }
    }
  }
  EXPECT_GT(inputs_changed, 100);
  EXPECT_GT(nodes_changed, 200);
}

TEST(Inputs, TheBeginningIsThatOfTheWhole) {
  const auto problem = parse_problem(R"(problem p: "p"
axes:
  N >= 1
inputs:
  x: f16[N, 10] ~ sorted(-1, 1)
  i: i32[N] ~ integers(0, N)
outputs:
  y: f16[N, 10]
reference:
  y = x
workloads:
  emulator all: N=1000
)", "p.problem");
  if (!problem) GTEST_FAIL() << format_error(problem.error());
  const Workload& workload = problem->workloads.front();
  const auto whole = make_inputs(*problem, workload, 5);
  ASSERT_TRUE(whole);
  for (size_t i = 0; i < 2; ++i) {
    for (const std::int64_t count : {0, 7, 333, 100000}) {
      const auto some = make_beginning(*problem, workload, problem->inputs[i], 5, count);
      ASSERT_TRUE(some);
      EXPECT_EQ(some->size(), std::min(count, (*whole)[i].size()));
      EXPECT_TRUE(std::equal(some->bytes().begin(), some->bytes().end(), (*whole)[i].bytes().begin()));
    }
  }
}

}  // namespace
}  // namespace kw::problem
