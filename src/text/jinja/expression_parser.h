#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace augur::jinja {

/// Walks tokens and parses expressions with Jinja's precedences: inline if, or, and, not, comparisons, + -,
/// ~, * / // %, **, unary, then postfix, filters and tests.
class ExpressionParser {
 protected:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  void next() { at_ += at_ + 1 < tokens_.size(); }
  bool at(Token::Kind kind) const { return current().kind == kind; }
  bool at_name(std::string_view name) const { return at(Token::Kind::Name) && current().text == name; }
  bool at_operator(std::string_view op) const { return at(Token::Kind::Operator) && current().text == op; }
  bool skip_operator(std::string_view op);
  void expect_operator(std::string_view op);
  void expect(Token::Kind kind, std::string_view text);
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error("line {}: {}", current().line, fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail_unexpected() const { fail("unexpected \"{}\"", current().text); }

  ExpressionPtr parse_expression();                         ///< inline if allowed
  ExpressionPtr parse_tuple();                              ///< commas make a tuple
  ExpressionPtr parse_tuple_without_condition();            ///< the same, leaving an `if` alone
  ExpressionPtr parse_filter(ExpressionPtr operand);        ///< at "|"
  ExpressionPtr parse_named_filter(ExpressionPtr operand);  ///< at the filter's name

 private:
  using Kind = Expression::Kind;

  ExpressionPtr make(Kind kind, int line) const;
  void adopt(Expression& parent, ExpressionPtr child) const;
  ExpressionPtr binary(std::string op, ExpressionPtr left, ExpressionPtr right, int line) const;
  ExpressionPtr tuple_of(ExpressionPtr (ExpressionParser::*parse_item)());
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filters);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_bracketed();
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  ExpressionPtr parse_postfix(ExpressionPtr node);
  ExpressionPtr parse_subscript(ExpressionPtr node);
  ExpressionPtr parse_filters_and_tests(ExpressionPtr node);
  ExpressionPtr parse_test(ExpressionPtr node);
  void parse_arguments(Expression& call);

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace augur::jinja
