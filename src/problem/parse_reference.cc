// Section reference of a problem file: statements.
#include <algorithm>

#include "problem/parser.h"

namespace kw::problem {
namespace {

constexpr std::size_t kMostPieces = 32;

}  // namespace

// NAME = EXPRESSION      NAME: DTYPE = EXPRESSION      NAME: DTYPE[SIZES] = EXPRESSION
Status Parser::parse_statement() {
  KW_TRY(const Token name, expect_name("a statement, as in y = x + 1"));
  const auto output = std::find_if(problem_.outputs.begin(), problem_.outputs.end(),
                                   [&](const TensorDecl& d) { return d.name == name.text; });
  const auto found = scope_.find(name.text);
  const bool is_output = output != problem_.outputs.end();
  if (found != scope_.end() && (!is_output || output->node >= 0) &&
      found->second.form != Symbol::Form::kFailed)
    return fail(error(name, fmt::format("'{}' is already {}, of line {}; each name is assigned once",
                                        name.text, form_name(found->second.form), found->second.line)));
  const Symbol::Form form = is_output ? Symbol::Form::kOutput : Symbol::Form::kName;
  declare(name, Symbol::Form::kFailed);
  std::optional<DType> stored;
  std::optional<SymbolicShape> shape;
  if (cursor_.accept(":")) {
    KW_TRY(stored, parse_dtype());
    if (cursor_.is("[")) {
      KW_TRY(shape, expressions_->parse_shape());
    }
  }
  KW_TRY_VOID(expressions_->expect("=", "after the name that is assigned"));
  const Token start = cursor_.peek();
  KW_TRY(NodeId node, expressions_->parse_tensor());
  if (stored) {
    builder_.set_span(span(start));
    const auto kept = builder_.store(node, *stored);
    if (!kept) return fail(error(start, kept.error().message));
    node = *kept;
  }
  if (is_output) shape = output->shape;
  if (shape) KW_TRY_VOID(check_shape(*shape, node, name));
  if (is_output) {
    KW_TRY_VOID(check_output_kind(*output, node, name));
    output->node = node;
  }
  declare(name, form).node = node;
  problem_.names.push_back({std::string(name.text), node, stored});
  return end_line("a statement");
}

// NAME: DTYPE[SIZES]      NAME is assigned in the reference
Status Parser::parse_piece() {
  KW_TRY(const Token name, expect_name("the name of an intermediate of the reference"));
  const auto named = std::find_if(problem_.names.begin(), problem_.names.end(), [&](const NamedNode& n) { return n.name == name.text; });
  const auto is_it = [&](const TensorDecl& d) { return d.name == name.text; };
  const auto among = [&](const std::vector<TensorDecl>& list) { return std::any_of(list.begin(), list.end(), is_it); };
  if (named == problem_.names.end() || among(problem_.outputs))
    return fail(error(name, fmt::format("'{}' is {}; a piece is a name that the reference assigns and that is no output", name.text,
                                        among(problem_.outputs) ? "an output" : "not assigned in the reference")));
  if (among(problem_.pieces)) return fail(error(name, fmt::format("'{}' is already a piece", name.text)));
  if (problem_.pieces.size() >= kMostPieces) return fail(error(name, fmt::format("more than {} pieces", kMostPieces)));
  TensorDecl piece;
  piece.name = std::string(name.text);
  piece.span = span(name);
  piece.node = named->node;
  KW_TRY_VOID(expressions_->expect(":", "after the name of a piece"));
  const Token type = cursor_.peek();
  KW_TRY(piece.dtype, parse_dtype());
  // Arithmetic in fp64 is what an output asks for; a piece must not change what is expected of the others.
  const auto is_double = [](const TensorDecl& d) { return d.dtype == DType::kF64; };
  if (is_double(piece) && std::none_of(problem_.outputs.begin(), problem_.outputs.end(), is_double))
    return fail(error(type, "a piece is f64 only where an output is"));
  KW_TRY(piece.shape, expressions_->parse_shape());
  KW_TRY_VOID(check_shape(piece.shape, piece.node, name));
  KW_TRY_VOID(check_output_kind(piece, piece.node, name));
  problem_.pieces.push_back(std::move(piece));
  return end_line("a piece");
}

Status Parser::check_shape(const SymbolicShape& declared, NodeId node, const Token& name) const {
  const SymbolicShape& made = builder_.node(node).shape;
  bool fits = made.size() == declared.size();
  for (std::size_t i = 0; fits && i < made.size(); ++i)
    fits = made[i] == declared[i] || made[i].has_quotient() || declared[i].has_quotient();
  if (fits) return {};
  return fail(error(name, fmt::format("'{}' is declared with shape {}, but this makes {}", name.text,
                                      shape_text(declared), shape_text(made))));
}

Status Parser::check_output_kind(const TensorDecl& output, NodeId node, const Token& name) const {
  const Kind made = builder_.node(node).kind, declared = kind_of(output.dtype);
  if (made == declared || (made != Kind::kBoolean && declared != Kind::kBoolean)) return {};
  return fail(error(
      name,
      fmt::format("'{}' is declared {}, but this makes a value of kind {}; write cast(…, {})", name.text,
                  tensor::name_of(output.dtype), kind_name(made), tensor::name_of(output.dtype))));
}

}  // namespace kw::problem
