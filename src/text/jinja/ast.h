#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace augur::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using Body = std::vector<std::unique_ptr<Statement>>;

struct Arguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
};

/// A node of an expression. Which members it uses depends on the kind.
struct Expression {
  enum class Kind {
    None,
    Boolean,    ///< integer
    Integer,    ///< integer
    Float,      ///< number
    String,     ///< text
    Name,       ///< text
    List,       ///< operands
    Tuple,      ///< operands
    Dict,       ///< operands: key, value, key, value, ...
    Attribute,  ///< operands[0] . text
    Subscript,  ///< operands[0] [ operands[1] ]
    Slice,      ///< operands[0] [ operands[1] : operands[2] : operands[3] ], any but the first may be null
    Call,       ///< operands[0] ( arguments )
    Filter,     ///< operands[0] | text ( arguments )
    Test,       ///< operands[0] is text ( arguments )
    Not,
    Negate,
    Plus,  ///< unary
    And,
    Or,
    Conditional,  ///< operands[0] if operands[1] else operands[2] (may be null)
    Binary,       ///< operands[0] text operands[1]: + - * / // % **
    Concat,       ///< ~ of all operands
    Compare,      ///< operands[0] operators[0] operands[1] operators[1] ...
  };
  Kind kind = Kind::None;
  int line = 0;
  int depth = 1;  ///< of the tree below, bounded by the parser
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<ExpressionPtr> operands;
  std::vector<std::string> operators;
  Arguments arguments;
};

struct Parameter {
  std::string name;
  ExpressionPtr default_value;  ///< may be null
};

struct Statement {
  enum class Kind {
    Text,       ///< text
    Output,     ///< expression
    If,         ///< branches; the last condition is null for else
    For,        ///< targets in expression, filtered by condition: body, otherwise
    Set,        ///< targets (or targets[0].attribute) = expression
    SetBlock,   ///< targets[0] = rendering of body, through filters
    Filter,     ///< rendering of body, through filters
    Macro,      ///< text(parameters): body
    CallBlock,  ///< expression (a call) with a caller() of parameters: body
    With,       ///< targets[i] = values[i] inside body
    Scope,      ///< body ({% generation %})
    Break,
    Continue,
  };
  struct Branch {
    ExpressionPtr condition;
    Body body;
  };
  Kind kind = Kind::Text;
  int line = 0;
  std::string text;
  std::vector<std::string> targets;
  std::string attribute;
  bool recursive = false;  ///< For: loop() may be called with other items
  ExpressionPtr expression;
  ExpressionPtr condition;
  std::vector<ExpressionPtr> values;
  std::vector<ExpressionPtr> filters;  ///< Filter nodes whose operand is null, outermost last
  std::vector<Parameter> parameters;
  std::vector<Branch> branches;
  Body body;
  Body otherwise;
};

}  // namespace augur::jinja
