#include "agent/template.h"

#include "agent/template_pointwise.h"
#include "agent/template_rows.h"

namespace kw::agent {

Result<std::string> template_kernel(const problem::Problem& problem) {
  bool reduces = false;
  for (const problem::Node& node : problem.graph.nodes) reduces = reduces || problem::op_group(node.op) == problem::OpGroup::kReduce || problem::op_group(node.op) == problem::OpGroup::kPick;
  return reduces ? rows_kernel(problem) : pointwise_kernel(problem);
}

}  // namespace kw::agent
