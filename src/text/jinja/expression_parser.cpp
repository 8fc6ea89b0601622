#include "text/jinja/expression_parser.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "text/jinja/builtins.h"

namespace augur::jinja {
namespace {

// Of brackets and unary operators, and of the tree that chains of operators build: both are recursed over.
constexpr int kMaxNesting = 60;
constexpr int kMaxExpressionDepth = 300;

}  // namespace

bool ExpressionParser::skip_operator(std::string_view op) {
  if (!at_operator(op)) return false;
  next();
  return true;
}

void ExpressionParser::expect_operator(std::string_view op) {
  if (!skip_operator(op)) fail("expected \"{}\", found \"{}\"", op, current().text);
}

void ExpressionParser::expect(Token::Kind kind, std::string_view text) {
  if (!at(kind)) fail("expected \"{}\", found \"{}\"", text, current().text);
  next();
}

ExpressionPtr ExpressionParser::make(Kind kind, int line) const {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = line;
  return node;
}

void ExpressionParser::adopt(Expression& parent, ExpressionPtr child) const {
  if (child) {
    parent.depth = std::max(parent.depth, child->depth + 1);
    if (parent.depth > kMaxExpressionDepth) fail("the expression is nested too deeply");
  }
  parent.operands.push_back(std::move(child));
}

ExpressionPtr ExpressionParser::binary(std::string op, ExpressionPtr left, ExpressionPtr right,
                                       int line) const {
  auto node = make(Kind::Binary, line);
  node->text = std::move(op);
  adopt(*node, std::move(left));
  adopt(*node, std::move(right));
  return node;
}

ExpressionPtr ExpressionParser::parse_expression() {
  if (++nesting_ > kMaxNesting) fail("the expression is nested too deeply");
  ExpressionPtr node = parse_or();
  while (at_name("if")) {
    auto conditional = make(Kind::Conditional, current().line);
    next();
    ExpressionPtr condition = parse_or();
    ExpressionPtr otherwise;
    if (at_name("else")) {
      next();
      otherwise = parse_expression();
    }
    adopt(*conditional, std::move(node));
    adopt(*conditional, std::move(condition));
    adopt(*conditional, std::move(otherwise));
    node = std::move(conditional);
  }
  --nesting_;
  return node;
}

ExpressionPtr ExpressionParser::tuple_of(ExpressionPtr (ExpressionParser::*parse_item)()) {
  const int line = current().line;
  ExpressionPtr first = (this->*parse_item)();
  if (!at_operator(",")) return first;
  auto tuple = make(Kind::Tuple, line);
  adopt(*tuple, std::move(first));
  while (skip_operator(",")) {
    const bool ends = at(Token::Kind::BlockEnd) || at(Token::Kind::OutputEnd) || at_operator(")");
    if (ends) break;
    adopt(*tuple, (this->*parse_item)());
  }
  return tuple;
}

ExpressionPtr ExpressionParser::parse_tuple() {
  return tuple_of(&ExpressionParser::parse_expression);
}
ExpressionPtr ExpressionParser::parse_tuple_without_condition() {
  return tuple_of(&ExpressionParser::parse_or);
}

ExpressionPtr ExpressionParser::parse_or() {
  ExpressionPtr left = parse_and();
  while (at_name("or")) {
    auto node = make(Kind::Or, current().line);
    next();
    adopt(*node, std::move(left));
    adopt(*node, parse_and());
    left = std::move(node);
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_and() {
  ExpressionPtr left = parse_not();
  while (at_name("and")) {
    auto node = make(Kind::And, current().line);
    next();
    adopt(*node, std::move(left));
    adopt(*node, parse_not());
    left = std::move(node);
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!at_name("not")) return parse_compare();
  if (++nesting_ > kMaxNesting) fail("the expression is nested too deeply");
  auto node = make(Kind::Not, current().line);
  next();
  adopt(*node, parse_not());
  --nesting_;
  return node;
}

ExpressionPtr ExpressionParser::parse_compare() {
  static constexpr std::array<std::string_view, 6> kOperators = {"==", "!=", "<", "<=", ">", ">="};
  ExpressionPtr first = parse_sum();
  ExpressionPtr node;
  while (true) {
    std::string op;
    const int line = current().line;
    if (at(Token::Kind::Operator) &&
        std::find(kOperators.begin(), kOperators.end(), current().text) != kOperators.end())
      op = current().text;
    else if (at_name("in"))
      op = "in";
    else if (at_name("not") && ahead().kind == Token::Kind::Name && ahead().text == "in")
      op = "not in";
    else
      break;
    next();
    if (op == "not in") next();
    if (!node) {
      node = make(Kind::Compare, line);
      adopt(*node, std::move(first));
    }
    node->operators.push_back(std::move(op));
    adopt(*node, parse_sum());
  }
  return node ? std::move(node) : std::move(first);
}

ExpressionPtr ExpressionParser::parse_sum() {
  ExpressionPtr left = parse_concat();
  while (at_operator("+") || at_operator("-")) {
    const Token op = current();
    next();
    left = binary(op.text, std::move(left), parse_concat(), op.line);
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_concat() {
  ExpressionPtr first = parse_product();
  if (!at_operator("~")) return first;
  auto node = make(Kind::Concat, current().line);
  adopt(*node, std::move(first));
  while (skip_operator("~")) adopt(*node, parse_product());
  return node;
}

ExpressionPtr ExpressionParser::parse_product() {
  ExpressionPtr left = parse_power();
  while (at_operator("*") || at_operator("/") || at_operator("//") || at_operator("%")) {
    const Token op = current();
    next();
    left = binary(op.text, std::move(left), parse_power(), op.line);
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_power() {
  ExpressionPtr left = parse_unary(true);
  while (at_operator("**")) {
    const int line = current().line;
    next();
    left = binary("**", std::move(left), parse_unary(true), line);
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_unary(bool with_filters) {
  ExpressionPtr node;
  if (at_operator("-") || at_operator("+")) {
    if (++nesting_ > kMaxNesting) fail("the expression is nested too deeply");
    node = make(at_operator("-") ? Kind::Negate : Kind::Plus, current().line);
    next();
    adopt(*node, parse_unary(false));
    --nesting_;
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filters ? parse_filters_and_tests(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::parse_primary() {
  const Token& token = current();
  const int line = token.line;
  ExpressionPtr node;
  switch (token.kind) {
    case Token::Kind::Name:
      if (token.text == "true" || token.text == "True" || token.text == "false" || token.text == "False") {
        node = make(Kind::Boolean, line);
        node->integer = token.text == "true" || token.text == "True";
      } else if (token.text == "none" || token.text == "None") {
        node = make(Kind::None, line);
      } else {
        node = make(Kind::Name, line);
        node->text = token.text;
      }
      next();
      return node;
    case Token::Kind::String:
      node = make(Kind::String, line);
      while (at(Token::Kind::String)) {  // neighbours are joined
        node->text += current().text;
        next();
      }
      return node;
    case Token::Kind::Integer: {
      node = make(Kind::Integer, line);
      const char* end = token.text.data() + token.text.size();
      if (std::from_chars(token.text.data(), end, node->integer).ec != std::errc())
        fail("the integer {} is too large", token.text);
      next();
      return node;
    }
    case Token::Kind::Float: {
      node = make(Kind::Float, line);
      const char* end = token.text.data() + token.text.size();
      if (std::from_chars(token.text.data(), end, node->number).ec != std::errc())
        fail("the number {} is out of range", token.text);
      next();
      return node;
    }
    case Token::Kind::Operator:
      if (token.text == "(") return parse_bracketed();
      if (token.text == "[") return parse_list();
      if (token.text == "{") return parse_dict();
      break;
    default:
      break;
  }
  fail_unexpected();
}

ExpressionPtr ExpressionParser::parse_bracketed() {
  const int line = current().line;
  expect_operator("(");
  if (skip_operator(")")) return make(Kind::Tuple, line);
  ExpressionPtr node = parse_tuple();
  expect_operator(")");
  return node;
}

ExpressionPtr ExpressionParser::parse_list() {
  auto node = make(Kind::List, current().line);
  expect_operator("[");
  while (!at_operator("]")) {
    adopt(*node, parse_expression());
    if (!skip_operator(",")) break;
  }
  expect_operator("]");
  return node;
}

ExpressionPtr ExpressionParser::parse_dict() {
  auto node = make(Kind::Dict, current().line);
  expect_operator("{");
  while (!at_operator("}")) {
    adopt(*node, parse_expression());
    expect_operator(":");
    adopt(*node, parse_expression());
    if (!skip_operator(",")) break;
  }
  expect_operator("}");
  return node;
}

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr node) {
  while (true) {
    const int line = current().line;
    if (at_operator("[")) {
      node = parse_subscript(std::move(node));
    } else if (at_operator("(")) {
      auto call = make(Kind::Call, line);
      adopt(*call, std::move(node));
      parse_arguments(*call);
      node = std::move(call);
    } else if (skip_operator(".")) {
      auto attribute = make(at(Token::Kind::Integer) ? Kind::Subscript : Kind::Attribute, line);
      adopt(*attribute, std::move(node));
      if (at(Token::Kind::Integer)) {
        adopt(*attribute, parse_primary());
      } else {
        if (!at(Token::Kind::Name)) fail_unexpected();
        attribute->text = current().text;
        next();
      }
      node = std::move(attribute);
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr node) {
  const int line = current().line;
  expect_operator("[");
  ExpressionPtr bounds[3];
  int count = 0;
  while (true) {
    if (!at_operator(":") && !at_operator("]")) bounds[count] = parse_expression();
    if (count < 2 && skip_operator(":"))
      ++count;
    else
      break;
  }
  expect_operator("]");
  if (count == 0 && !bounds[0]) fail("the subscript is empty");
  auto out = make(count == 0 ? Kind::Subscript : Kind::Slice, line);
  adopt(*out, std::move(node));
  for (int i = 0; i < (count == 0 ? 1 : 3); ++i) adopt(*out, std::move(bounds[i]));
  return out;
}

void ExpressionParser::parse_arguments(Expression& call) {
  expect_operator("(");
  const auto deepen = [&](const Expression& child) {
    call.depth = std::max(call.depth, child.depth + 1);
    if (call.depth > kMaxExpressionDepth) fail("the expression is nested too deeply");
  };
  while (!at_operator(")")) {
    if (at_operator("*") || at_operator("**")) fail("unsupported construct: {} in a call", current().text);
    if (at(Token::Kind::Name) && ahead().kind == Token::Kind::Operator && ahead().text == "=") {
      std::string name = current().text;
      next();
      next();
      call.arguments.named.emplace_back(std::move(name), parse_expression());
      deepen(*call.arguments.named.back().second);
    } else {
      if (!call.arguments.named.empty()) fail("a positional argument behind a named one");
      call.arguments.positional.push_back(parse_expression());
      deepen(*call.arguments.positional.back());
    }
    if (!skip_operator(",")) break;
  }
  expect_operator(")");
}

ExpressionPtr ExpressionParser::parse_filters_and_tests(ExpressionPtr node) {
  while (true) {
    if (at_operator("|")) {
      node = parse_filter(std::move(node));
    } else if (at_name("is")) {
      node = parse_test(std::move(node));
    } else if (at_operator("(")) {  // what a filter or test gives is called
      auto call = make(Kind::Call, current().line);
      adopt(*call, std::move(node));
      parse_arguments(*call);
      node = std::move(call);
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::parse_filter(ExpressionPtr operand) {
  expect_operator("|");
  return parse_named_filter(std::move(operand));
}

ExpressionPtr ExpressionParser::parse_named_filter(ExpressionPtr operand) {
  auto node = make(Kind::Filter, current().line);
  if (!at(Token::Kind::Name)) fail_unexpected();
  node->text = current().text;
  next();
  adopt(*node, std::move(operand));
  if (at_operator("(")) parse_arguments(*node);
  return node;
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr operand) {
  const int line = current().line;
  next();  // is
  const bool negated = at_name("not");
  if (negated) next();
  auto node = make(Kind::Test, line);
  if (!at(Token::Kind::Name)) fail_unexpected();
  node->text = current().text;
  next();
  adopt(*node, std::move(operand));
  static constexpr std::array<std::string_view, 6> kNotArguments = {"else", "or", "and", "if", "is", "not"};
  const bool argument_name =
      at(Token::Kind::Name) &&
      std::find(kNotArguments.begin(), kNotArguments.end(), current().text) == kNotArguments.end() &&
      current().text != "in";
  if (at_operator("(")) {
    parse_arguments(*node);
  } else if (argument_name || at(Token::Kind::String) || at(Token::Kind::Integer) || at(Token::Kind::Float) ||
             at_operator("[") || at_operator("{")) {
    node->arguments.positional.push_back(parse_postfix(parse_primary()));
    node->depth = std::max(node->depth, node->arguments.positional.back()->depth + 1);
    if (node->depth > kMaxExpressionDepth) fail("the expression is nested too deeply");
  }
  if (!negated) return node;
  auto inverted = make(Kind::Not, line);
  adopt(*inverted, std::move(node));
  return inverted;
}

}  // namespace augur::jinja
