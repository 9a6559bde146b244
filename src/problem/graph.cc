#include "problem/graph.h"

namespace kw::problem {

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kReal: return "real";
    case Kind::kInteger: return "integer";
    case Kind::kBoolean: return "boolean";
  }
  return "";
}

std::string_view op_name(Op op) {
  switch (op) {
#define KW_OP(id, name, group) \
  case Op::id: return name;
#include "problem/ops.def"
#undef KW_OP
  }
  return "";
}

OpGroup op_group(Op op) {
  switch (op) {
#define KW_OP(id, name, group) \
  case Op::id: return OpGroup::group;
#include "problem/ops.def"
#undef KW_OP
  }
  return OpGroup::kMove;
}

std::vector<NodeId> Graph::same_call(NodeId id) const {
  std::vector<NodeId> calls;
  const Node& wanted = nodes[static_cast<std::size_t>(id)];
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].op == Op::kPython && nodes[i].function == wanted.function && nodes[i].operands == wanted.operands)
      calls.push_back(static_cast<NodeId>(i));
  return calls;
}

Kind kind_of(DType dtype) {
  if (dtype == DType::kBool) return Kind::kBoolean;
  return tensor::is_float(dtype) ? Kind::kReal : Kind::kInteger;
}

}  // namespace kw::problem
