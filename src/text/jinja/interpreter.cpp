#include "text/jinja/interpreter.h"

#include <algorithm>
#include <deque>

#include "base/error.h"
#include "text/jinja/builtins.h"
#include "text/jinja/operators.h"

namespace augur::jinja {

/// Variables of a loop, a macro or the whole template; what is not here is looked for further out.
struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<std::string_view, Value>> variables;

  const Value* find(std::string_view name, Arena& arena) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
      spend_for_lookup(name, scope->variables.size(), arena);
      for (const auto& [key, value] : scope->variables)
        if (key == name) return &value;
    }
    return nullptr;
  }
  void set(std::string_view name, const Value& value, Arena& arena) {
    spend_for_lookup(name, variables.size(), arena);
    for (auto& [key, old] : variables) {
      if (key == name) {
        old = value;
        return;
      }
    }
    variables.emplace_back(name, value);
  }
};

namespace {

// Evaluation recurses over the tree and into macros; this bounds the stack it takes.
constexpr int kMaxCallDepth = 800;

class Interpreter {
 public:
  explicit Interpreter(Arena& arena) : arena_(arena) {}

  TextBuilder run(const Body& program, const Dict& context) {
    Scope& root = new_scope(nullptr);
    for (const auto& [key, value] : context.items) root.set(*bytes_of(key), value, arena_);
    TextBuilder out;
    try {
      execute(program, root, out);
    } catch (const RaisedByTemplate&) {
      throw;
    } catch (const Error& error) {
      throw Error(error.cause(), "line {}: {}", line_, error.what());
    }
    return out;
  }

 private:
  enum class Flow { Normal, Break, Continue };

  struct Deeper {
    explicit Deeper(int& depth) : depth_(depth) {
      if (++depth_ > kMaxCallDepth) {
        --depth_;
        throw Error("macros or values are nested too deeply");
      }
    }
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    int& depth_;
  };

  Scope& new_scope(Scope* parent) {
    arena_.spend_memory(sizeof(Scope));
    Scope& scope = scopes_.emplace_back();
    scope.parent = parent;
    return scope;
  }

  void write(TextBuilder& out, const Text& text) {
    arena_.spend_memory(text.size());
    out.add(text);
  }

  Flow execute(const Body& body, Scope& scope, TextBuilder& out) {
    const Deeper deeper(depth_);
    for (const auto& statement : body)
      if (const Flow flow = execute(*statement, scope, out); flow != Flow::Normal) return flow;
    return Flow::Normal;
  }

  Flow execute(const Statement& node, Scope& scope, TextBuilder& out) {
    using Kind = Statement::Kind;
    line_ = node.line;
    arena_.spend_steps(1);
    switch (node.kind) {
      case Kind::Text:
        write(out, Text::own(node.text));
        return Flow::Normal;
      case Kind::Output: {
        const Value value = evaluate(*node.expression, scope);
        write(out, to_text(value, arena_));
        return Flow::Normal;
      }
      case Kind::If:
        for (const auto& branch : node.branches)
          if (!branch.condition || truth(evaluate(*branch.condition, scope)))
            return execute(branch.body, scope, out);
        return Flow::Normal;
      case Kind::For:
        return execute_for(node, evaluate(*node.expression, scope), 0, scope, out);
      case Kind::Set:
        execute_set(node, scope);
        return Flow::Normal;
      case Kind::SetBlock:
        scope.set(node.targets[0], render_filtered(node, scope), arena_);
        return Flow::Normal;
      case Kind::Filter:
        write(out, render_filtered(node, scope));
        return Flow::Normal;
      case Kind::Macro:
        scope.set(node.text, make_macro(node, scope), arena_);
        return Flow::Normal;
      case Kind::CallBlock:
        execute_call_block(node, scope, out);
        return Flow::Normal;
      case Kind::With: {
        Scope& inner = new_scope(&scope);
        for (std::size_t i = 0; i < node.targets.size(); ++i)
          inner.set(node.targets[i], evaluate(*node.values[i], inner), arena_);
        return execute(node.body, inner, out);
      }
      case Kind::Scope:
        return execute(node.body, new_scope(&scope), out);
      case Kind::Break:
        return Flow::Break;
      case Kind::Continue:
        return Flow::Continue;
    }
    return Flow::Normal;
  }

  void assign(const std::vector<std::string>& targets, const Value& value, Scope& scope) {
    if (targets.size() == 1) return scope.set(targets[0], value, arena_);
    const std::vector<Value> items = items_of(value, arena_);
    if (items.size() != targets.size())
      throw Error("cannot assign {} values to {} names", items.size(), targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i) scope.set(targets[i], items[i], arena_);
  }

  void execute_set(const Statement& node, Scope& scope) {
    const Value value = evaluate(*node.expression, scope);
    if (node.attribute.empty()) return assign(node.targets, value, scope);
    const Value* target = scope.find(node.targets[0], arena_);
    const auto* dict = target != nullptr ? std::get_if<Dict*>(target) : nullptr;
    if (dict == nullptr || !(*dict)->is_namespace)
      throw Error("\"{}.{}\" cannot be set: \"{}\" is not a namespace", node.targets[0], node.attribute,
                  node.targets[0]);
    arena_.spend_memory(sizeof(Value));
    (*dict)->set(Text::own(node.attribute), value, arena_);
  }

  /// `depth`: of recursive calls.
  Flow execute_for(const Statement& node, const Value& over, std::int64_t depth, Scope& scope,
                   TextBuilder& out) {
    std::vector<Value> items = items_of(over, arena_);
    if (node.condition) {
      Scope& inner = new_scope(&scope);
      std::erase_if(items, [&](const Value& item) {
        assign(node.targets, item, inner);
        return !truth(evaluate(*node.condition, inner));
      });
    }
    if (items.empty()) return execute(node.otherwise, scope, out);
    Dict* loop = make_loop(items, depth);
    if (node.recursive) {
      loop->call = arena_.callable({.name = "loop", .macro = &node, .scope = &scope, .depth = depth + 1});
      ++macros_;  // the scope may be needed by it
    }
    Scope* inner = &new_scope(&scope);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::size_t macros = macros_;
      update_loop(*loop, items, i);
      inner->set("loop", loop, arena_);
      assign(node.targets, items[i], *inner);
      const Flow flow = execute(node.body, *inner, out);
      if (flow == Flow::Break) break;
      if (macros == macros_)
        inner->variables.clear();
      else
        inner = &new_scope(&scope);  // a macro may still need the old one
    }
    return Flow::Normal;
  }

  // The order of the entries is update_loop's.
  Dict* make_loop(const std::vector<Value>& items, std::int64_t depth) {
    Dict* loop = arena_.dict();
    loop->is_namespace = false;
    for (const std::string_view name :
         {"index0", "index", "first", "last", "revindex", "revindex0", "previtem", "nextitem"})
      loop->items.emplace_back(Text::own(name), None{});
    const auto add = [&](std::string_view name, const Value& value) {
      loop->items.emplace_back(Text::own(name), value);
    };
    add("length", static_cast<std::int64_t>(items.size()));
    add("depth", depth + 1);
    add("depth0", depth);
    add("cycle", arena_.callable({.name = "cycle", .self = loop}));
    add("changed", arena_.callable({.name = "changed", .self = loop}));
    arena_.spend_memory(loop->items.size() * 2 * sizeof(Value));
    return loop;
  }

  static void update_loop(Dict& loop, const std::vector<Value>& items, std::size_t i) {
    const auto index = static_cast<std::int64_t>(i);
    const auto count = static_cast<std::int64_t>(items.size());
    loop.items[0].second = index;
    loop.items[1].second = index + 1;
    loop.items[2].second = i == 0;
    loop.items[3].second = i + 1 == items.size();
    loop.items[4].second = count - index;
    loop.items[5].second = count - index - 1;
    loop.items[6].second = i == 0 ? Value(Undefined{"loop.previtem"}) : items[i - 1];
    loop.items[7].second = i + 1 == items.size() ? Value(Undefined{"loop.nextitem"}) : items[i + 1];
  }

  Text render_filtered(const Statement& node, Scope& scope) {
    TextBuilder text;
    execute(node.body, new_scope(&scope), text);
    Value value = arena_.text(std::move(text));
    for (const auto& filter : node.filters)
      value = apply_filter(filter->text, value, evaluate_arguments(filter->arguments, scope), arena_);
    return to_text(value, arena_);
  }

  const Callable* make_macro(const Statement& node, Scope& scope) {
    ++macros_;
    return arena_.callable({.name = node.text, .macro = &node, .scope = &scope});
  }

  void execute_call_block(const Statement& node, Scope& scope, TextBuilder& out) {
    const Expression& call = *node.expression;
    const Value target = evaluate(*call.operands[0], scope);
    const auto* callable = std::get_if<const Callable*>(&target);
    if (callable == nullptr || (*callable)->macro == nullptr) throw Error("\"call\" needs a macro");
    const Callable* caller = make_macro(node, scope);
    write(out, call_macro(**callable, evaluate_arguments(call.arguments, scope), caller));
  }

  Text call_macro(const Callable& callable, const CallArguments& arguments, const Callable* caller) {
    const Statement& macro = *callable.macro;
    const auto& parameters = macro.parameters;
    if (arguments.positional.size() > parameters.size())
      throw Error("macro \"{}\" takes {} arguments, {} given", callable.name, parameters.size(),
                  arguments.positional.size());
    arena_.spend_steps(parameters.size() * arguments.named.size() / 8);
    for (const auto& given : arguments.named)
      if (std::none_of(parameters.begin(), parameters.end(),
                       [&](const Parameter& p) { return p.name == given.first; }))
        throw Error("macro \"{}\" has no parameter \"{}\"", callable.name, given.first);
    Scope& scope = new_scope(callable.scope);
    if (caller != nullptr) scope.set("caller", caller, arena_);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto named = std::find_if(arguments.named.begin(), arguments.named.end(),
                                      [&](const auto& given) { return given.first == parameters[i].name; });
      Value value = Undefined{parameters[i].name};
      if (i < arguments.positional.size())
        value = arguments.positional[i];
      else if (named != arguments.named.end())
        value = named->second;
      else if (parameters[i].default_value)
        value = evaluate(*parameters[i].default_value, scope);
      scope.set(parameters[i].name, value, arena_);
    }
    TextBuilder out;
    execute(macro.body, scope, out);
    return arena_.text(std::move(out));
  }

  Value call_loop(const Callable& loop, const CallArguments& arguments) {
    const BoundArguments bound("loop()", arguments, {"iterable"}, 1);
    TextBuilder out;
    execute_for(*loop.macro, bound[0], loop.depth, *loop.scope, out);
    return arena_.text(std::move(out));
  }

  CallArguments evaluate_arguments(const Arguments& arguments, Scope& scope) {
    CallArguments out;
    for (const auto& expression : arguments.positional)
      out.positional.push_back(evaluate(*expression, scope));
    for (const auto& [name, expression] : arguments.named)
      out.named.emplace_back(name, evaluate(*expression, scope));
    return out;
  }

  Value evaluate_or_none(const ExpressionPtr& node, Scope& scope) {
    return node ? evaluate(*node, scope) : Value(None{});
  }

  Value evaluate(const Expression& node, Scope& scope) {
    using Kind = Expression::Kind;
    const Deeper deeper(depth_);
    arena_.spend_steps(1);
    line_ = node.line;
    const auto operand = [&](std::size_t i) { return evaluate(*node.operands[i], scope); };
    switch (node.kind) {
      case Kind::None:
        return None{};
      case Kind::Boolean:
        return node.integer != 0;
      case Kind::Integer:
        return node.integer;
      case Kind::Float:
        return node.number;
      case Kind::String:
        return Text::own(node.text);
      case Kind::Name:
        return lookup(node.text, scope);
      case Kind::List:
      case Kind::Tuple:
        return evaluate_list(node, scope);
      case Kind::Dict:
        return evaluate_dict(node, scope);
      case Kind::Attribute:
        return get_attribute(operand(0), node.text, arena_);
      case Kind::Subscript: {
        const Value value = operand(0);
        return get_item(value, operand(1), arena_);
      }
      case Kind::Slice:
        return evaluate_slice(node, scope);
      case Kind::Call:
        return evaluate_call(node, scope);
      case Kind::Filter: {
        const Value value = operand(0);
        const CallArguments arguments = evaluate_arguments(node.arguments, scope);
        line_ = node.line;
        return apply_filter(node.text, value, arguments, arena_);
      }
      case Kind::Test: {
        const Value value = operand(0);
        return apply_test(node.text, value, evaluate_arguments(node.arguments, scope), arena_);
      }
      case Kind::Not:
        return !truth(operand(0));
      case Kind::Negate:
        return negate(operand(0));
      case Kind::Plus:
        return binary_operation("+", std::int64_t{0}, operand(0), arena_);
      case Kind::And: {
        const Value left = operand(0);
        return truth(left) ? operand(1) : left;
      }
      case Kind::Or: {
        const Value left = operand(0);
        return truth(left) ? left : operand(1);
      }
      case Kind::Conditional:
        if (truth(operand(1))) return operand(0);
        return node.operands[2] ? operand(2) : Value(Undefined{"the result of an inline if without else"});
      case Kind::Binary: {
        const Value left = operand(0);
        const Value right = operand(1);
        line_ = node.line;
        return binary_operation(node.text, left, right, arena_);
      }
      case Kind::Concat:
        return evaluate_concat(node, scope);
      case Kind::Compare:
        return evaluate_compare(node, scope);
    }
    return None{};
  }

  Value lookup(std::string_view name, const Scope& scope) {
    if (const Value* value = scope.find(name, arena_)) return *value;
    if (is_function(name)) return arena_.callable({.name = name});
    return Undefined{name};
  }

  Value evaluate_list(const Expression& node, Scope& scope) {
    List* list = arena_.list(node.kind == Expression::Kind::Tuple ? List::Kind::Tuple : List::Kind::List);
    for (const auto& item : node.operands) arena_.push(*list, evaluate(*item, scope));
    return list;
  }

  Value evaluate_dict(const Expression& node, Scope& scope) {
    Dict* dict = arena_.dict();
    arena_.spend_memory(node.operands.size() * sizeof(Value));
    for (std::size_t i = 0; i + 1 < node.operands.size(); i += 2) {
      const Value key = evaluate(*node.operands[i], scope);
      if (std::holds_alternative<List*>(key) || std::holds_alternative<Dict*>(key) ||
          std::holds_alternative<Undefined>(key) || std::holds_alternative<const Callable*>(key))
        throw Error("{} cannot be a dictionary's key", type_name(key));
      dict->set(key, evaluate(*node.operands[i + 1], scope), arena_);
    }
    return dict;
  }

  Value evaluate_slice(const Expression& node, Scope& scope) {
    const Value value = evaluate(*node.operands[0], scope);
    const Value start = evaluate_or_none(node.operands[1], scope);
    const Value stop = evaluate_or_none(node.operands[2], scope);
    return slice(value, start, stop, evaluate_or_none(node.operands[3], scope), arena_);
  }

  Value evaluate_call(const Expression& node, Scope& scope) {
    const Value target = evaluate(*node.operands[0], scope);
    const CallArguments arguments = evaluate_arguments(node.arguments, scope);
    line_ = node.line;
    if (const auto* undefined = std::get_if<Undefined>(&target))
      throw Error("\"{}\" is not a function that templates have here", undefined->name);
    if (const auto* dict = std::get_if<Dict*>(&target); dict != nullptr && (*dict)->call != nullptr)
      return call_loop(*(*dict)->call, arguments);
    const auto* callable = std::get_if<const Callable*>(&target);
    if (callable == nullptr) throw Error("{} cannot be called", type_name(target));
    const Callable& function = **callable;
    if (function.macro != nullptr) return call_macro(function, arguments, nullptr);
    if (function.is_method) return call_method(function.self, function.name, arguments, arena_);
    if (const auto* loop = std::get_if<Dict*>(&function.self))
      return function.name == "cycle" ? cycle(**loop, arguments) : changed(**loop, arguments);
    return call_function(function.name, arguments, arena_);
  }

  static Value cycle(const Dict& loop, const CallArguments& arguments) {
    if (arguments.positional.empty()) throw Error("loop.cycle(): nothing to cycle through");
    const auto index = static_cast<std::size_t>(std::get<std::int64_t>(loop.items[0].second));
    return arguments.positional[index % arguments.positional.size()];
  }

  /// Whether the values are others than in the loop's last turn; at first they are.
  Value changed(Dict& loop, const CallArguments& arguments) {
    List* values = arena_.list(List::Kind::Tuple);
    for (const Value& value : arguments.positional) arena_.push(*values, value);
    const Value key = Text::own(" last changed");
    const Value* last = loop.find(key, arena_);
    const bool same = last != nullptr && equal(*last, values, arena_);
    arena_.spend_memory(2 * sizeof(Value));
    loop.set(key, values, arena_);
    return !same;
  }

  Value evaluate_concat(const Expression& node, Scope& scope) {
    TextBuilder out;
    for (const auto& part : node.operands) write(out, to_text(evaluate(*part, scope), arena_));
    return arena_.text(std::move(out));
  }

  Value evaluate_compare(const Expression& node, Scope& scope) {
    Value left = evaluate(*node.operands[0], scope);
    for (std::size_t i = 0; i < node.operators.size(); ++i) {
      const Value right = evaluate(*node.operands[i + 1], scope);
      if (!compare(node.operators[i], left, right, arena_)) return false;
      left = right;
    }
    return true;
  }

  Arena& arena_;
  std::deque<Scope> scopes_;
  std::size_t macros_ = 0;  ///< made so far
  int depth_ = 0;
  int line_ = 0;
};

}  // namespace

TextBuilder render(const Body& program, const Dict& context, Arena& arena) {
  return Interpreter(arena).run(program, context);
}

}  // namespace augur::jinja
