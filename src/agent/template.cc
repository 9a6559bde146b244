#include "agent/template.h"

#include <algorithm>

#include "agent/template_attention.h"
#include "agent/template_gemv.h"
#include "agent/template_operand.h"
#include "agent/template_pointwise.h"
#include "agent/template_product.h"
#include "agent/template_rows.h"
#include "agent/template_text.h"
#include "agent/template_transpose.h"

namespace kw::agent {

Result<std::string> template_kernel(const problem::Problem& problem) {
  const std::vector<bool> needed = needed_nodes(problem);
  const auto has = [&](auto&& is) {
    for (size_t i = 0; i < needed.size(); ++i)
      if (needed[i] && is(problem.graph.nodes[i].op)) return true;
    return false;
  };
  if (const auto products = products_of(problem); !products.empty()) {
    if (products.size() > 1) return attention_kernel(problem);
    return multiplies_vector(problem, products[0]) ? gemv_kernel(problem) : product_kernel(problem);
  }
  if (has([](problem::Op op) { return problem::op_group(op) == problem::OpGroup::kReduce || problem::op_group(op) == problem::OpGroup::kPick; })) return rows_kernel(problem);
  if (has([](problem::Op op) { return op == problem::Op::kTranspose; })) return transpose_kernel(problem);
  return pointwise_kernel(problem);
}

}  // namespace kw::agent
