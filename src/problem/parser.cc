// The sections of a problem file. Grammar: docs/formats/problem.md.
#include "problem/parser.h"

#include <algorithm>

#include "base/file.h"

namespace kw::problem {
namespace {

constexpr std::size_t kMostErrors = 20;

struct Section {
  std::string_view name;
  bool required;
};
constexpr Section kSections[] = {{"axes", false},      {"attributes", false}, {"python", false}, {"inputs", true},
                                 {"outputs", true},    {"reference", true},   {"pieces", false}, {"workloads", true},
                                 {"tolerance", false}, {"candidates", false}};

}  // namespace

void Parser::run(std::string_view text) {
  TokenList list = tokenize(text, problem_.file);
  cursor_.tokens = std::move(list.tokens);
  expressions_.emplace(cursor_, scope_, builder_, text, problem_.file);
  text_ = text;
  readable_ = list.errors.empty();
  parse_file();
  // Past a character that is no token everything is noise: keep what came before it, then name it.
  for (Error& unread : list.errors) {
    std::erase_if(errors, [&](const Error& e) {
      return e.span && (e.span->line > unread.span->line ||
                        (e.span->line == unread.span->line && e.span->column >= unread.span->column));
    });
    errors.push_back(std::move(unread));
  }
}

void Parser::parse_file() {
  skip_newlines();
  if (!take(parse_heading())) return;
  std::size_t next = 0;  // sections come in the order of the table
  while (cursor_.peek().form != Token::Form::kEnd && errors.size() < kMostErrors) {
    const std::size_t start = cursor_.at;
    if (!take(parse_section(next)) && !read_whole_lines(start)) skip_line();
    skip_newlines();
  }
  if (errors.empty() && readable_) finish(next);
}

// Records an error; false when there was one.
bool Parser::take(Status status) {
  if (status) return true;
  if (!status.error().message.empty()) errors.push_back(std::move(status).error());
  return false;
}

void Parser::skip_newlines() {
  while (cursor_.peek().form == Token::Form::kNewline) cursor_.next();
}

void Parser::skip_line() {
  while (cursor_.peek().form != Token::Form::kNewline && cursor_.peek().form != Token::Form::kEnd)
    cursor_.next();
  skip_newlines();
}

bool Parser::read_whole_lines(std::size_t start) const {
  return cursor_.at > start && cursor_.tokens[cursor_.at - 1].form == Token::Form::kNewline;
}

Status Parser::end_line(std::string_view after) {
  const Token& token = cursor_.peek();
  if (token.form == Token::Form::kNewline || token.form == Token::Form::kEnd) {
    skip_newlines();
    return {};
  }
  return fail(error(
      token, fmt::format("expected the end of the line after {}, found {}", after, token_text(token))));
}

Result<Token> Parser::expect_name(std::string_view what) {
  const Token token = cursor_.peek();
  if (token.form != Token::Form::kName)
    return fail(error(token, fmt::format("expected {}, found {}", what, token_text(token))));
  cursor_.next();
  return token;
}

// Refuses a name that is taken.
Result<Token> Parser::new_name(std::string_view what) {
  KW_TRY(const Token token, expect_name(what));
  if (token.text.size() > 100) return fail(error(token, "this name is longer than 100 characters"));
  const auto found = scope_.find(token.text);
  if (found != scope_.end())
    return fail(error(token, fmt::format("'{}' is already {}, of line {}; choose another name", token.text,
                                         form_name(found->second.form), found->second.line)));
  return token;
}

Symbol& Parser::declare(const Token& token, Symbol::Form form) {
  Symbol& symbol = scope_[std::string(token.text)];
  symbol.form = form;
  symbol.line = token.line;
  return symbol;
}

// problem NAME: "description"
Status Parser::parse_heading() {
  const Token word = cursor_.peek();
  if (word.text != "problem" || word.form != Token::Form::kName)
    return fail(
        error(word, fmt::format("a problem file starts with: problem NAME: \"what it computes\"; found {}",
                                token_text(word))));
  cursor_.next();
  KW_TRY(const Token name, expect_name("the name of the problem"));
  problem_.name = std::string(name.text.substr(0, 100));
  KW_TRY_VOID(expressions_->expect(":", "after the name of the problem"));
  const Token description = cursor_.peek();
  if (description.form != Token::Form::kString)
    return fail(error(description, "expected a description in quotes, one line"));
  cursor_.next();
  problem_.description = std::string(description.text);
  return end_line("the description");
}

Status Parser::parse_section(std::size_t& next) {
  const Token word = cursor_.peek();
  if (word.column != 1 || word.form != Token::Form::kName)
    return fail(
        error(word,
              "expected a section at the start of a line: axes, attributes, python, inputs, outputs, reference, "
              "pieces, workloads, tolerance or candidates"));
  std::size_t index = 0;
  std::vector<std::string> known;
  for (const Section& section : kSections) {
    known.emplace_back(section.name);
    if (section.name == word.text) index = known.size();
  }
  if (index-- == 0) {
    skip_body();
    return fail(expressions_->unknown(word, "section", known));
  }
  cursor_.next();
  if (index < next) {
    skip_body();
    return fail(error(
        word, fmt::format("section '{}' comes too late or twice; the order is axes, attributes, python, inputs, "
                          "outputs, reference, pieces, workloads, tolerance, candidates",
                          word.text)));
  }
  next = index + 1;
  KW_TRY_VOID(expressions_->expect(":", "after the name of a section"));
  KW_TRY_VOID(end_line("the ':' of a section"));
  while (cursor_.peek().form != Token::Form::kEnd && cursor_.peek().column > 1 &&
         errors.size() < kMostErrors) {
    const std::size_t start = cursor_.at;
    if (take(parse_item(word.text))) continue;
    if (!read_whole_lines(start)) skip_line();
  }
  return {};
}

void Parser::skip_body() {
  do skip_line();
  while (cursor_.peek().form != Token::Form::kEnd && cursor_.peek().column > 1);
}

Status Parser::parse_item(std::string_view section) {
  if (section == "axes") return parse_axes_line();
  if (section == "attributes") return parse_attribute();
  if (section == "python") return parse_python();
  if (section == "inputs") return parse_input();
  if (section == "outputs") return parse_output();
  if (section == "reference") return parse_statement();
  if (section == "pieces") return parse_piece();
  if (section == "workloads") return parse_workload();
  if (section == "tolerance") return parse_tolerance();
  return parse_candidate();
}

void Parser::finish(std::size_t next) {
  const Token end = cursor_.peek();
  const auto last = [&](std::string_view name) {
    for (std::size_t i = 0; i < std::size(kSections); ++i)
      if (kSections[i].name == name) return i;
    return std::size(kSections);
  };
  if (problem_.outputs.empty())
    errors.push_back(error(end, "section 'outputs:' is missing or empty; name what is computed"));
  for (const TensorDecl& output : problem_.outputs)
    if (output.node < 0) {
      Error missing = error(end, fmt::format("output '{}' is never assigned; add {} = … to the reference",
                                             output.name, output.name));
      missing.span = output.span;
      missing.source_line = std::string(line_of(text_, output.span.line));
      errors.push_back(std::move(missing));
    }
  const auto assigned = [&](const TensorDecl& piece) {
    const auto same = [&](const NamedNode& name) { return name.name == piece.name; };
    return std::find_if(problem_.names.begin(), problem_.names.end(), same);
  };
  std::sort(problem_.pieces.begin(), problem_.pieces.end(),
            [&](const TensorDecl& a, const TensorDecl& b) { return assigned(a) < assigned(b); });
  if (next <= last("workloads") || problem_.workloads.empty())
    errors.push_back(
        error(end, "section 'workloads:' is missing or empty; add at least: smallest NAME: M=1"));
}

Result<Problem> parse_problem(std::string_view text, std::string file) {
  Parser parser(text, std::move(file));
  parser.run(text);
  if (!parser.errors.empty()) return fail(std::move(parser.errors.front()));
  return parser.take_problem();
}

std::vector<Error> check_text(std::string_view text, std::string file) {
  Parser parser(text, std::move(file));
  parser.run(text);
  if (!parser.errors.empty()) return std::move(parser.errors);
  return check(parser.take_problem());
}

Result<Problem> load_problem(const std::string& path) {
  KW_TRY(const std::string text, read_file(path, kLongestText));
  return parse_problem(text, path);
}

}  // namespace kw::problem
