// The state of a problem file's parser and its productions: parser.cc (sections, tokens), parse_declaration.cc (axes,
// attributes, python, inputs, outputs), parse_reference.cc (statements, pieces), parse_workload.cc (workloads, tolerance). Grammar:
// docs/formats/problem.md. Internal to problem.
//
// A production that fails returns the error, which take() records; the next line is then read as if nothing were.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "problem/expression.h"
#include "problem/problem.h"

namespace kw::problem {

class Parser {
 public:
  Parser(std::string_view text, std::string file) : builder_(problem_.graph) {
    problem_.text = std::string(text.substr(0, kLongestText));
    problem_.file = std::move(file);
  }
  void run(std::string_view text);

  std::vector<Error> errors;
  Problem take_problem() { return std::move(problem_); }

 private:
  void parse_file();
  Status parse_heading();
  Status parse_section(std::size_t& next);
  Status parse_item(std::string_view section);
  void skip_body();
  void finish(std::size_t next);

  // Records an error; false when there was one.
  bool take(Status status);
  Error error(const Token& token, std::string message) const {
    return error_at(text_, problem_.file, token, std::move(message));
  }
  Span span(const Token& token) const {
    return Span{problem_.file, token.line, token.column, token.length()};
  }
  void skip_newlines();
  void skip_line();
  bool read_whole_lines(std::size_t start) const;  // since token `start`
  Status end_line(std::string_view after);
  Result<Token> expect_name(std::string_view what);
  Result<Token> new_name(std::string_view what);  // refuses one that is taken
  Symbol& declare(const Token& token, Symbol::Form form);

  // --- declarations
  Status parse_axes_line();
  Status stop_declaring(Error reason);
  Status parse_attribute();
  Status parse_python();
  Result<DType> parse_dtype();
  Result<TensorDecl> parse_tensor_declaration(std::string_view what, Token& name);
  Status parse_input();
  Result<Distribution> parse_distribution();
  Status parse_output();

  // --- reference
  Status parse_statement();
  Status parse_piece();
  Status check_shape(const SymbolicShape& declared, NodeId node, const Token& name) const;
  Status check_output_kind(const TensorDecl& output, NodeId node, const Token& name) const;

  // --- workloads, tolerance, candidates
  Status parse_workload();
  Status parse_setting(Workload& workload);
  Status parse_tolerance();
  Status parse_candidate();

  Problem problem_;
  GraphBuilder builder_;
  Cursor cursor_;
  Scope scope_;
  std::optional<ExpressionParser> expressions_;
  std::string_view text_;
  bool readable_ = true;  // every character belongs to a token
};

}  // namespace kw::problem
