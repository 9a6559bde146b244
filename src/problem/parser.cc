// The sections of a problem file. Grammar: docs/formats/problem.md.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/file.h"
#include "problem/expression.h"
#include "problem/near_miss.h"
#include "problem/problem.h"

namespace kw::problem {
namespace {

constexpr std::size_t kMostErrors = 20;
constexpr std::size_t kMostProblemAxes = 64;
constexpr std::size_t kMostTensors = 64;
constexpr std::size_t kMostWorkloads = 256;

struct Section {
  std::string_view name;
  bool required;
};
constexpr Section kSections[] = {{"axes", false},     {"attributes", false}, {"inputs", true},
                                 {"outputs", true},   {"reference", true},   {"workloads", true},
                                 {"tolerance", false}};
constexpr Role kRoles[] = {Role::kSmallest, Role::kShape, Role::kEmulator, Role::kReal};

struct DistributionRule {
  std::string_view name;
  Distribution::Form form;
  int parameters;
  std::string_view signature;
};
constexpr DistributionRule kDistributions[] = {
    {"normal", Distribution::Form::kNormal, 2, "normal(mean, deviation)"},
    {"uniform", Distribution::Form::kUniform, 2, "uniform(low, high)"},
    {"integers", Distribution::Form::kIntegers, 2, "integers(low, high)"},
    {"constant", Distribution::Form::kConstant, 1, "constant(value)"},
    {"one_hot", Distribution::Form::kOneHot, 1, "one_hot(value)"},
    {"sorted", Distribution::Form::kSorted, 2, "sorted(low, high)"},
    {"cancel", Distribution::Form::kCancel, 1, "cancel(deviation)"},
    {"spikes", Distribution::Form::kSpikes, 2, "spikes(deviation, value)"},
};

class Parser {
 public:
  Parser(std::string_view text, std::string file) : builder_(problem_.graph) {
    problem_.text = std::string(text.substr(0, kLongestText));
    problem_.file = std::move(file);
  }

  void run(std::string_view text) {
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

  std::vector<Error> errors;
  Problem take_problem() { return std::move(problem_); }

 private:
  void parse_file() {
    skip_newlines();
    if (!take(parse_heading())) return;
    std::size_t next = 0;  // sections come in the order of the table
    while (cursor_.peek().form != Token::Form::kEnd && errors.size() < kMostErrors) {
      if (!take(parse_section(next))) skip_line();
      skip_newlines();
    }
    if (errors.empty() && readable_) finish(next);
  }

  // Records an error; false when there was one.
  bool take(Status status) {
    if (status) return true;
    if (!status.error().message.empty()) errors.push_back(std::move(status).error());
    return false;
  }

  Error error(const Token& token, std::string message) const {
    return error_at(text_, problem_.file, token, std::move(message));
  }
  Span span(const Token& token) const {
    return Span{problem_.file, token.line, token.column, token.length()};
  }

  void skip_newlines() {
    while (cursor_.peek().form == Token::Form::kNewline) cursor_.next();
  }
  void skip_line() {
    while (cursor_.peek().form != Token::Form::kNewline && cursor_.peek().form != Token::Form::kEnd)
      cursor_.next();
    skip_newlines();
  }
  Status end_line(std::string_view after) {
    const Token& token = cursor_.peek();
    if (token.form == Token::Form::kNewline || token.form == Token::Form::kEnd) {
      skip_newlines();
      return {};
    }
    return fail(error(
        token, fmt::format("expected the end of the line after {}, found {}", after, token_text(token))));
  }

  Result<Token> expect_name(std::string_view what) {
    const Token token = cursor_.peek();
    if (token.form != Token::Form::kName)
      return fail(error(token, fmt::format("expected {}, found {}", what, token_text(token))));
    cursor_.next();
    return token;
  }

  // Refuses a name that is taken.
  Result<Token> new_name(std::string_view what) {
    KW_TRY(const Token token, expect_name(what));
    if (token.text.size() > 100) return fail(error(token, "this name is longer than 100 characters"));
    const auto found = scope_.find(token.text);
    if (found != scope_.end())
      return fail(error(token, fmt::format("'{}' is already {}, of line {}; choose another name", token.text,
                                           form_name(found->second.form), found->second.line)));
    return token;
  }

  Symbol& declare(const Token& token, Symbol::Form form) {
    Symbol& symbol = scope_[std::string(token.text)];
    symbol.form = form;
    symbol.line = token.line;
    return symbol;
  }

  // problem NAME: "description"
  Status parse_heading() {
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

  Status parse_section(std::size_t& next) {
    const Token word = cursor_.peek();
    if (word.column != 1 || word.form != Token::Form::kName)
      return fail(
          error(word,
                "expected a section at the start of a line: axes, attributes, inputs, outputs, reference, "
                "workloads or tolerance"));
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
          word, fmt::format("section '{}' comes too late or twice; the order is axes, attributes, inputs, "
                            "outputs, reference, workloads, tolerance",
                            word.text)));
    }
    next = index + 1;
    KW_TRY_VOID(expressions_->expect(":", "after the name of a section"));
    KW_TRY_VOID(end_line("the ':' of a section"));
    while (cursor_.peek().form != Token::Form::kEnd && cursor_.peek().column > 1 &&
           errors.size() < kMostErrors) {
      const std::size_t start = cursor_.at;
      if (take(parse_item(word.text))) continue;
      const bool read_whole =
          cursor_.at > start && cursor_.tokens[cursor_.at - 1].form == Token::Form::kNewline;
      if (!read_whole) skip_line();
    }
    return {};
  }

  void skip_body() {
    do skip_line();
    while (cursor_.peek().form != Token::Form::kEnd && cursor_.peek().column > 1);
  }

  Status parse_item(std::string_view section) {
    if (section == "axes") return parse_axes_line();
    if (section == "attributes") return parse_attribute();
    if (section == "inputs") return parse_input();
    if (section == "outputs") return parse_output();
    if (section == "reference") return parse_statement();
    if (section == "workloads") return parse_workload();
    return parse_tolerance();
  }

  // M >= 1, K % 8 == 0      an axis is declared where it is first named
  Status parse_axes_line() {
    do {
      const Token start = cursor_.peek();
      expressions_->declare_axes(true);
      auto left = expressions_->parse_size();
      Constraint constraint;
      if (!left) return stop_declaring(std::move(left).error());
      const Token relation = cursor_.peek();
      const bool compares = relation.text == "==" || relation.text == "!=" || relation.text == "<" ||
                            relation.text == "<=" || relation.text == ">" || relation.text == ">=";
      if (compares) {
        cursor_.next();
        auto right = expressions_->parse_size();
        if (!right) return stop_declaring(std::move(right).error());
        constraint.left = *left;
        constraint.right = *right;
        constraint.relation = std::string(relation.text);
        constraint.text = fmt::format("{} {} {}", left->text(), relation.text, right->text());
        constraint.span = span(start);
        problem_.constraints.push_back(std::move(constraint));
      }
      expressions_->declare_axes(false);
      std::vector<std::string> names;
      left->collect_axes(names);
      if (compares) problem_.constraints.back().right.collect_axes(names);
      if (names.empty())
        return fail(error(start, "expected an axis or a constraint, as in M >= 1 or K % 8 == 0"));
      if (!compares && names.size() != 1)
        return fail(error(relation, "expected a relation: == != < <= > >="));
      for (const std::string& name : names) {
        const bool known = std::any_of(problem_.axes.begin(), problem_.axes.end(),
                                       [&](const Axis& a) { return a.name == name; });
        if (!known) problem_.axes.push_back({name, span(start)});
      }
      if (problem_.axes.size() > kMostProblemAxes || problem_.constraints.size() > 256)
        return fail(error(start, fmt::format("more than {} axes or 256 constraints", kMostProblemAxes)));
    } while (cursor_.accept(","));
    return end_line("a constraint");
  }

  Status stop_declaring(Error reason) {
    expressions_->declare_axes(false);
    return fail(std::move(reason));
  }

  // eps = 1e-6
  Status parse_attribute() {
    KW_TRY(const Token name, new_name("the name of an attribute"));
    KW_TRY_VOID(expressions_->expect("=", "after the name of an attribute"));
    const bool integer = cursor_.peek().form == Token::Form::kInteger;
    const std::int64_t whole = cursor_.peek().integer;
    KW_TRY(const double value, expressions_->parse_signed_number());
    Symbol& symbol = declare(name, Symbol::Form::kAttribute);
    symbol.value = value;
    if (integer) symbol.size = Dim(whole);
    problem_.attributes.push_back({std::string(name.text), value});
    return end_line("an attribute");
  }

  Result<DType> parse_dtype() {
    KW_TRY(const Token token, expect_name("a dtype, as in f16[M, K]"));
    if (const auto dtype = tensor::dtype_named(token.text)) return *dtype;
    std::vector<std::string> known;
    for (int i = 0; i < tensor::kDTypes; ++i) known.emplace_back(tensor::name_of(static_cast<DType>(i)));
    return fail(expressions_->unknown(token, "dtype", known));
  }

  // NAME: DTYPE[SIZES]
  Result<TensorDecl> parse_tensor_declaration(std::string_view what, Token& name) {
    KW_TRY(name, new_name(what));
    TensorDecl declaration;
    declaration.name = std::string(name.text);
    declaration.span = span(name);
    declare(name, Symbol::Form::kFailed);  // until it is whole: no second error for each use
    KW_TRY_VOID(expressions_->expect(":", "after the name of a tensor"));
    KW_TRY(declaration.dtype, parse_dtype());
    KW_TRY(declaration.shape, expressions_->parse_shape());
    if (problem_.inputs.size() + problem_.outputs.size() >= kMostTensors)
      return fail(error(name, fmt::format("more than {} inputs and outputs", kMostTensors)));
    return declaration;
  }

  Status parse_input() {
    Token name;
    KW_TRY(TensorDecl declaration, parse_tensor_declaration("the name of an input", name));
    if (cursor_.accept("~")) {
      KW_TRY(declaration.distribution, parse_distribution());
    } else if (kind_of(declaration.dtype) != Kind::kReal) {
      return fail(
          error(cursor_.peek(), "an integer or boolean input needs a distribution, as in ~ integers(0, N)"));
    }
    builder_.set_span(declaration.span);
    const auto made = builder_.input(static_cast<std::int32_t>(problem_.inputs.size()), declaration.dtype,
                                     declaration.shape);
    if (!made) return fail(error(name, made.error().message));
    declaration.node = *made;
    declare(name, Symbol::Form::kInput).node = declaration.node;
    problem_.inputs.push_back(std::move(declaration));
    return end_line("an input");
  }

  Result<Distribution> parse_distribution() {
    KW_TRY(const Token name, expect_name("a distribution, as in normal(0, 1)"));
    std::vector<std::string> known;
    const DistributionRule* rule = nullptr;
    for (const DistributionRule& candidate : kDistributions) {
      known.emplace_back(candidate.name);
      if (candidate.name == name.text) rule = &candidate;
    }
    if (rule == nullptr) return fail(expressions_->unknown(name, "distribution", known));
    Distribution distribution;
    distribution.form = rule->form;
    double values[2] = {0, 0};
    int count = 0;
    KW_TRY_VOID(expressions_->expect("(", "after the name of a distribution"));
    while (!cursor_.accept(")")) {
      if (count > 0) KW_TRY_VOID(expressions_->expect(",", "or ')' in a distribution"));
      KW_TRY(const double value, expressions_->parse_signed_number());
      if (count == rule->parameters) {
        ++count;
        break;
      }
      values[count++] = value;
    }
    if (count != rule->parameters) return fail(error(name, fmt::format("write {}", rule->signature)));
    distribution.a = values[0];
    distribution.b = values[1];
    const bool range = rule->form == Distribution::Form::kUniform ||
                       rule->form == Distribution::Form::kIntegers ||
                       rule->form == Distribution::Form::kSorted;
    if (range && !(distribution.a <= distribution.b && std::abs(distribution.a) < 1e15 &&
                   std::abs(distribution.b) < 1e15))
      return fail(
          error(name, fmt::format("{}: low must not be above high, both below 1e15", rule->signature)));
    return distribution;
  }

  Status parse_output() {
    Token name;
    KW_TRY(TensorDecl declaration, parse_tensor_declaration("the name of an output", name));
    declare(name, Symbol::Form::kOutput);
    problem_.outputs.push_back(std::move(declaration));
    return end_line("an output");
  }

  // NAME = EXPRESSION      NAME: DTYPE = EXPRESSION      NAME: DTYPE[SIZES] = EXPRESSION
  Status parse_statement() {
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

  Status check_shape(const SymbolicShape& declared, NodeId node, const Token& name) const {
    const SymbolicShape& made = builder_.node(node).shape;
    bool fits = made.size() == declared.size();
    for (std::size_t i = 0; fits && i < made.size(); ++i)
      fits = made[i] == declared[i] || made[i].has_quotient() || declared[i].has_quotient();
    if (fits) return {};
    return fail(error(name, fmt::format("'{}' is declared with shape {}, but this makes {}", name.text,
                                        shape_text(declared), shape_text(made))));
  }

  Status check_output_kind(const TensorDecl& output, NodeId node, const Token& name) const {
    const Kind made = builder_.node(node).kind, declared = kind_of(output.dtype);
    if (made == declared || (made == Kind::kInteger && declared == Kind::kReal)) return {};
    return fail(error(
        name,
        fmt::format("'{}' is declared {}, but this makes a value of kind {}; write cast(…, {})", name.text,
                    tensor::name_of(output.dtype), kind_name(made), tensor::name_of(output.dtype))));
  }

  // ROLE NAME: M=1, N=2, x ~ constant(1) "note"
  Status parse_workload() {
    const Token role = cursor_.peek();
    std::vector<std::string> roles;
    std::optional<Role> chosen;
    for (Role candidate : kRoles) {
      roles.emplace_back(role_name(candidate));
      if (role_name(candidate) == role.text) chosen = candidate;
    }
    if (!chosen)
      return fail(expressions_->unknown(role, "role of a workload (smallest, shape, emulator, real)", roles));
    cursor_.next();
    KW_TRY(const Token name, expect_name("the name of the workload"));
    if (problem_.find_workload(name.text) != nullptr)
      return fail(
          error(name, fmt::format("a workload '{}' is there already; choose another name", name.text)));
    Workload workload;
    workload.name = std::string(name.text);
    workload.role = *chosen;
    workload.span = span(name);
    KW_TRY_VOID(expressions_->expect(":", "after the name of the workload"));
    const auto at_end = [&] {
      const auto form = cursor_.peek().form;
      return form == Token::Form::kNewline || form == Token::Form::kEnd || form == Token::Form::kString;
    };
    while (!at_end()) {
      KW_TRY_VOID(parse_setting(workload));
      if (!cursor_.accept(",")) break;
    }
    if (cursor_.peek().form == Token::Form::kString) workload.note = std::string(cursor_.next().text);
    KW_TRY_VOID(end_line("a workload"));
    // An axis that a constraint fixes (D == 64) need not be repeated.
    for (const Constraint& constraint : problem_.constraints) {
      const auto fixed = constraint.right.constant();
      if (constraint.relation == "==" && fixed) workload.axes.try_emplace(constraint.left.text(), *fixed);
    }
    std::erase_if(workload.axes, [&](const auto& entry) {
      return std::none_of(problem_.axes.begin(), problem_.axes.end(),
                          [&](const Axis& a) { return a.name == entry.first; });
    });
    if (problem_.workloads.size() >= kMostWorkloads)
      return fail(error(name, fmt::format("more than {} workloads", kMostWorkloads)));
    if (errors.empty()) {  // shapes are whole
      if (auto sound = check_workload(problem_, workload); !sound) {
        Error failed = error(name, sound.error().message);
        failed.code = sound.error().code;
        failed.notes = sound.error().notes;
        return fail(std::move(failed));
      }
    }
    problem_.workloads.push_back(std::move(workload));
    return {};
  }

  Status parse_setting(Workload& workload) {
    KW_TRY(const Token name, expect_name("a setting, as in M=128 or x ~ constant(1)"));
    if (cursor_.accept("~")) {
      std::vector<std::string> known;
      for (const TensorDecl& input : problem_.inputs) known.push_back(input.name);
      if (problem_.find_input(name.text) == nullptr) return fail(expressions_->unknown(name, "input", known));
      KW_TRY(const Distribution distribution, parse_distribution());
      workload.inputs.emplace_back(std::string(name.text), distribution);
      return {};
    }
    std::vector<std::string> known;
    for (const Axis& axis : problem_.axes) known.push_back(axis.name);
    if (std::find(known.begin(), known.end(), name.text) == known.end())
      return fail(expressions_->unknown(name, "axis", known));
    KW_TRY_VOID(expressions_->expect("=", "after an axis (or '~' after an input)"));
    const Token number = cursor_.next();
    if (number.form != Token::Form::kInteger)
      return fail(error(number, fmt::format("expected an integer, found {}", token_text(number))));
    if (!workload.axes.emplace(std::string(name.text), number.integer).second)
      return fail(error(name, fmt::format("axis '{}' is set twice", name.text)));
    return {};
  }

  // factor = 4
  Status parse_tolerance() {
    const Token name = cursor_.next();
    if (name.text != "factor") return fail(expressions_->unknown(name, "setting", {"factor"}));
    KW_TRY_VOID(expressions_->expect("=", "after 'factor'"));
    const Token number = cursor_.peek();
    KW_TRY(problem_.tolerance_factor, expressions_->parse_signed_number());
    if (!(problem_.tolerance_factor >= 1 && problem_.tolerance_factor <= 64))
      return fail(error(number, "the factor lies between 1 (no margin over an honest kernel) and 64"));
    return end_line("the factor");
  }

  void finish(std::size_t next) {
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
    if (next <= last("workloads") || problem_.workloads.empty())
      errors.push_back(
          error(end, "section 'workloads:' is missing or empty; add at least: smallest NAME: M=1"));
  }

  Problem problem_;
  GraphBuilder builder_;
  Cursor cursor_;
  Scope scope_;
  std::optional<ExpressionParser> expressions_;
  std::string_view text_;
  bool readable_ = true;  // every character belongs to a token
};

}  // namespace

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
