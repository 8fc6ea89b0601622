#include "text/jinja/parser.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "text/jinja/expression_parser.h"
#include "text/jinja/lexer.h"

namespace augur::jinja {
namespace {

constexpr int kMaxNesting = 60;  // of statements

/// Statements. Expressions are ExpressionParser's.
class Parser : private ExpressionParser {
 public:
  explicit Parser(std::vector<Token> tokens) : ExpressionParser(std::move(tokens)) {}

  Body run() {
    Body body = parse_body({});
    if (!at(Token::Kind::End)) fail_unexpected();
    return body;
  }

 private:
  using Kind = Statement::Kind;
  using Names = std::vector<std::string_view>;

  std::unique_ptr<Statement> make_statement(Kind kind) const {
    auto node = std::make_unique<Statement>();
    node->kind = kind;
    node->line = current().line;
    return node;
  }

  // Up to a block whose name is among `ends`, which is left with its name as the current token.
  Body parse_body(const Names& ends) {
    if (++nesting_ > kMaxNesting) fail("statements are nested too deeply");
    const int first_line = current().line;
    Body body;
    while (true) {
      if (at(Token::Kind::End)) {
        if (!ends.empty())
          throw Error("line {}: \"{}\" is missing for the block that begins here", first_line, ends.back());
        break;
      }
      if (at(Token::Kind::Text)) {
        auto text = make_statement(Kind::Text);
        text->text = current().text;
        next();
        body.push_back(std::move(text));
      } else if (at(Token::Kind::OutputBegin)) {
        next();
        auto output = make_statement(Kind::Output);
        output->expression = parse_tuple();
        expect(Token::Kind::OutputEnd, "}}");
        body.push_back(std::move(output));
      } else {
        next();  // {%
        if (std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return at_name(end); })) break;
        body.push_back(parse_statement());
      }
    }
    --nesting_;
    return body;
  }

  void end_block() { expect(Token::Kind::BlockEnd, "%}"); }
  Body block_until(std::string_view end) {
    end_block();
    Body body = parse_body({end});
    next();
    end_block();
    return body;
  }

  std::unique_ptr<Statement> parse_statement() {
    if (!at(Token::Kind::Name)) fail_unexpected();
    const std::string name = current().text;
    if (name == "if") return parse_if();
    if (name == "for") return parse_for();
    if (name == "set") return parse_set();
    if (name == "macro") return parse_macro();
    if (name == "call") return parse_call_block();
    if (name == "filter") return parse_filter_block();
    if (name == "with") return parse_with();
    if (name == "generation") {  // Hugging Face's mark around what the assistant says
      auto node = make_statement(Kind::Scope);
      next();
      node->body = block_until("endgeneration");
      return node;
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) fail("\"{}\" outside a loop", name);
      auto node = make_statement(name == "break" ? Kind::Break : Kind::Continue);
      next();
      end_block();
      return node;
    }
    fail("unsupported statement \"{}\"", name);
  }

  std::unique_ptr<Statement> parse_if() {
    auto node = make_statement(Kind::If);
    next();
    Statement::Branch branch;
    branch.condition = parse_tuple();
    while (true) {
      end_block();
      branch.body = parse_body({"elif", "else", "endif"});
      const bool had_else = branch.condition == nullptr;
      node->branches.push_back(std::move(branch));
      branch = {};
      const bool is_elif = at_name("elif");
      const bool is_else = at_name("else");
      if (had_else && (is_elif || is_else)) fail("\"{}\" behind \"else\"", current().text);
      next();
      if (is_elif) {
        branch.condition = parse_tuple();
      } else if (!is_else) {
        break;
      }
    }
    end_block();
    return node;
  }

  std::string parse_target_name() {
    if (!at(Token::Kind::Name)) fail_unexpected();
    std::string name = current().text;
    static constexpr std::array<std::string_view, 6> kReserved = {"true", "false", "none",
                                                                  "True", "False", "None"};
    if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end())
      fail("cannot assign to \"{}\"", name);
    next();
    return name;
  }

  std::vector<std::string> parse_targets() {
    std::vector<std::string> names;
    const bool bracketed = skip_operator("(");
    do {
      if (!at(Token::Kind::Name) && !names.empty()) break;  // a trailing comma
      names.push_back(parse_target_name());
    } while (skip_operator(","));
    if (bracketed) expect_operator(")");
    return names;
  }

  std::unique_ptr<Statement> parse_for() {
    auto node = make_statement(Kind::For);
    next();
    node->targets = parse_targets();
    if (!at_name("in")) fail_unexpected();
    next();
    node->expression = parse_tuple_without_condition();
    if (at_name("if")) {
      next();
      node->condition = parse_expression();
    }
    if (at_name("recursive")) {
      node->recursive = true;
      next();
    }
    end_block();
    ++loops_;
    node->body = parse_body({"else", "endfor"});
    --loops_;
    if (at_name("else")) {
      next();
      end_block();
      node->otherwise = parse_body({"endfor"});
    }
    next();
    end_block();
    return node;
  }

  std::unique_ptr<Statement> parse_set() {
    auto node = make_statement(Kind::Set);
    next();
    node->targets = parse_targets();
    if (node->targets.size() == 1 && skip_operator(".")) node->attribute = parse_target_name();
    if (skip_operator("=")) {
      node->expression = parse_tuple();
      end_block();
      return node;
    }
    if (node->targets.size() != 1 || !node->attribute.empty()) fail_unexpected();
    node->kind = Kind::SetBlock;
    while (at_operator("|")) node->filters.push_back(parse_filter(nullptr));
    node->body = block_until("endset");
    return node;
  }

  std::unique_ptr<Statement> parse_filter_block() {
    auto node = make_statement(Kind::Filter);
    next();
    node->filters.push_back(parse_named_filter(nullptr));
    while (at_operator("|")) node->filters.push_back(parse_filter(nullptr));
    node->body = block_until("endfilter");
    return node;
  }

  void parse_parameters(Statement& node) {
    expect_operator("(");
    while (!at_operator(")")) {
      Parameter parameter;
      parameter.name = parse_target_name();
      if (skip_operator("="))
        parameter.default_value = parse_expression();
      else if (!node.parameters.empty() && node.parameters.back().default_value)
        fail("a parameter without default behind one with default");
      node.parameters.push_back(std::move(parameter));
      if (!skip_operator(",")) break;
    }
    expect_operator(")");
  }

  // Loops around a macro are not the macro's.
  Body macro_body(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Body body = block_until(end);
    loops_ = loops;
    return body;
  }

  std::unique_ptr<Statement> parse_macro() {
    auto node = make_statement(Kind::Macro);
    next();
    node->text = parse_target_name();
    parse_parameters(*node);
    node->body = macro_body("endmacro");
    return node;
  }

  std::unique_ptr<Statement> parse_call_block() {
    auto node = make_statement(Kind::CallBlock);
    next();
    node->text = "caller";
    if (at_operator("(")) parse_parameters(*node);
    node->expression = parse_expression();
    if (node->expression->kind != Expression::Kind::Call) fail("\"call\" needs a call of a macro");
    node->body = macro_body("endcall");
    return node;
  }

  std::unique_ptr<Statement> parse_with() {
    auto node = make_statement(Kind::With);
    next();
    while (!at(Token::Kind::BlockEnd)) {
      node->targets.push_back(parse_target_name());
      expect_operator("=");
      node->values.push_back(parse_expression());
      if (!skip_operator(",")) break;
    }
    node->body = block_until("endwith");
    return node;
  }

  int nesting_ = 0;
  int loops_ = 0;
};

}  // namespace

Body parse(std::string_view source) {
  return Parser(tokenize(source)).run();
}

}  // namespace augur::jinja
