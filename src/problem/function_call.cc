#include "problem/function_call.h"

#include <algorithm>

namespace kw::problem {

const Argument* Call::find(std::size_t position, std::string_view keyword) const {
  std::size_t at = 0;
  for (const Argument& argument : arguments_) {
    if (argument.keyword.empty() ? at++ == position : argument.keyword == keyword) return &argument;
  }
  return nullptr;
}

std::size_t Call::positional() const {
  return static_cast<std::size_t>(std::count_if(arguments_.begin(), arguments_.end(),
                                                [](const Argument& a) { return a.keyword.empty(); }));
}

Result<NodeId> Call::tensor(std::size_t position) {
  const Argument* argument = find(position, "");
  if (argument == nullptr || !argument->value)
    return fail(argument == nullptr ? Error{ErrorCode::kInvalid, "a tensor is missing", {}, {}, {}}
                                    : parser_.error(argument->token, "expected a tensor here"));
  return parser_.node_of(*argument->value, argument->token);
}

Result<Dim> Call::size(std::size_t position) {
  const Argument* argument = find(position, "");
  if (argument == nullptr || !argument->value || !argument->value->size)
    return fail(argument == nullptr ? Error{ErrorCode::kInvalid, "a size is missing", {}, {}, {}}
                                    : parser_.error(argument->token, "expected a size: integers and axes"));
  return *argument->value->size;
}

Result<NodeId> Call::tensor_or(std::size_t position, std::string_view keyword, double otherwise) {
  const Argument* argument = find(position, keyword);
  if (argument == nullptr) return builder.constant(otherwise);
  if (!argument->value) return fail(parser_.error(argument->token, "expected a number or a tensor here"));
  return parser_.node_of(*argument->value, argument->token);
}

Result<SymbolicShape> Call::shape(std::size_t position, std::string_view keyword) {
  const Argument* argument = find(position, keyword);
  if (argument == nullptr || !argument->list)
    return fail(ErrorCode::kInvalid, "expected a shape in brackets, as in [M, 2 * K]");
  SymbolicShape sizes;
  for (const Value& value : *argument->list) {
    if (!value.size) return fail(parser_.error(argument->token, "expected sizes: integers and axes"));
    sizes.push_back(*value.size);
  }
  return sizes;
}

Result<SymbolicShape> Call::sizes(std::size_t position, std::string_view keyword, std::size_t count,
                                  const Dim& otherwise) {
  const Argument* argument = find(position, keyword);
  if (argument == nullptr) return SymbolicShape(count, otherwise);
  if (argument->list) {
    KW_TRY(SymbolicShape sizes, shape(position, keyword));
    if (sizes.size() == count) return sizes;
    return fail(parser_.error(
        argument->token, fmt::format("{} lists {} numbers for {} {}; give one for each, or one number for all", keyword,
                                     sizes.size(), count, count == 1 ? "axis" : "axes")));
  }
  if (argument->value && argument->value->size) return SymbolicShape(count, *argument->value->size);
  return fail(parser_.error(argument->token,
                            fmt::format("{} is a size or a list of sizes: integers and axes", keyword)));
}

Result<std::optional<std::vector<std::int64_t>>> Call::axes(std::size_t position,
                                                      std::string_view keyword) {
  const Argument* argument = find(position, keyword);
  if (argument == nullptr) return std::optional<std::vector<std::int64_t>>();
  std::vector<Value> values;
  if (argument->list)
    values = *argument->list;
  else if (argument->value)
    values = {*argument->value};
  std::vector<std::int64_t> numbers;
  for (const Value& value : values) {
    if (!value.size || !value.size->constant())
      return fail(parser_.error(
          argument->token, value.size ? "an axis is a number, as in axis=-1, or a list, as in axis=[0, 1]"
                                      : "an axis is a number, as in axis=-1; maximum(a, b) and "
                                        "minimum(a, b) take two tensors"));
    numbers.push_back(*value.size->constant());
  }
  if (numbers.empty() && !argument->list)
    return fail(parser_.error(argument->token, "expected the number of an axis"));
  return std::optional(std::move(numbers));
}

Result<std::int64_t> Call::axis(std::size_t position, std::int64_t otherwise) {
  KW_TRY(const auto given, axes(position));
  if (!given) return otherwise;
  if (given->size() != 1) return fail(ErrorCode::kInvalid, "this function works along one axis");
  return given->front();
}

Result<bool> Call::flag(std::string_view keyword, bool otherwise) {
  const Argument* argument = find(arguments_.size(), keyword);
  if (argument == nullptr) return otherwise;
  if (!argument->flag) return fail(parser_.error(argument->token, fmt::format("{} is true or false", keyword)));
  return *argument->flag;
}

Result<std::string_view> Call::word(std::string_view keyword, std::string_view otherwise) {
  const Argument* argument = find(arguments_.size(), keyword);
  if (argument == nullptr) return otherwise;
  if (argument->token.form != Token::Form::kString)
    return fail(parser_.error(argument->token, fmt::format("{} is a word in quotes", keyword)));
  return argument->token.text;
}

Result<std::optional<NodeId>> Call::optional_tensor(std::size_t position, std::string_view keyword) {
  const Argument* argument = find(position, keyword);
  if (argument == nullptr) return std::optional<NodeId>();
  if (!argument->value) return fail(parser_.error(argument->token, fmt::format("{} is a tensor", keyword)));
  KW_TRY(const NodeId made, parser_.node_of(*argument->value, argument->token));
  return std::optional(made);
}

}  // namespace kw::problem
