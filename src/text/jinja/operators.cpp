#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/elementary.h"
#include "base/error.h"
#include "text/jinja/escape.h"
#include "text/jinja/format.h"

namespace augur::jinja {
namespace {

bool as_number(const Value& value, double& out) {
  std::int64_t i = 0;
  if (as_integer(value, i)) return out = static_cast<double>(i), true;
  if (const auto* d = std::get_if<double>(&value)) return out = *d, true;
  return false;
}

[[noreturn]] void overflow(std::string_view op) {
  throw Error("\"{}\": the result is out of range", op);
}

Value integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return elementary::pow(static_cast<double>(base), static_cast<double>(exponent));
  std::int64_t out = 1;
  if (base == 0 || base == 1) return exponent == 0 ? std::int64_t{1} : base;
  if (base == -1) return exponent % 2 == 0 ? std::int64_t{1} : std::int64_t{-1};
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(out, base, &out)) overflow("**");
  return out;
}

Value on_integers(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (op == "+") {
    if (__builtin_add_overflow(a, b, &out)) overflow(op);
    return out;
  }
  if (op == "-") {
    if (__builtin_sub_overflow(a, b, &out)) overflow(op);
    return out;
  }
  if (op == "*") {
    if (__builtin_mul_overflow(a, b, &out)) overflow(op);
    return out;
  }
  if (op == "**") return integer_power(a, b);
  if (b == 0) throw Error("division by zero");
  if (op == "/") return static_cast<double>(a) / static_cast<double>(b);
  if (b == -1) {
    if (op == "%") return std::int64_t{0};
    if (__builtin_sub_overflow(std::int64_t{0}, a, &out)) overflow(op);
    return out;
  }
  // Python rounds towards minus infinity.
  const std::int64_t remainder = a % b;
  const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);
  if (op == "%") return remainder + (adjust ? b : 0);
  return a / b - (adjust ? 1 : 0);
}

Value on_floats(std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "**") return elementary::pow(a, b);
  if (b == 0) throw Error("division by zero");
  if (op == "/") return a / b;
  if (op == "//") return std::floor(a / b);
  const double remainder = std::fmod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

Value repeat(const Value& value, std::int64_t count, Arena& arena) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  const auto* text = std::get_if<Text>(&value);
  const auto* list = std::get_if<List*>(&value);
  const std::size_t each = text != nullptr ? text->size() : (*list)->items.size() * sizeof(Value);
  std::size_t total = 0;
  if (__builtin_mul_overflow(each, times, &total)) overflow("*");
  arena.spend_memory(total);
  if (text != nullptr) {
    TextBuilder out;
    if (!text->empty())
      for (std::size_t i = 0; i < times; ++i) out.add(*text);
    return arena.text(std::move(out)).as_markup(text->is_markup());
  }
  List* out = arena.list((*list)->kind);
  if (!(*list)->items.empty())
    for (std::size_t i = 0; i < times; ++i)
      out->items.insert(out->items.end(), (*list)->items.begin(), (*list)->items.end());
  return out;
}

bool is_sequence(const Value& value) {
  const auto* list = std::get_if<List*>(&value);
  return is_string(value) || (list != nullptr && (*list)->kind != List::Kind::Generator);
}

Value concatenate(const List& a, const List& b, Arena& arena) {
  List* out = arena.list(a.kind);
  arena.spend_memory((a.items.size() + b.items.size()) * sizeof(Value));
  out->items = a.items;
  out->items.insert(out->items.end(), b.items.begin(), b.items.end());
  return out;
}

// Beside markup, other text is escaped.
Value add_texts(const Text& left, const Text& right, Arena& arena) {
  const bool markup = left.is_markup() || right.is_markup();
  TextBuilder out;
  for (const Text& text : {left, right}) {
    if (markup && !text.is_markup())
      add_escaped(text, out);
    else
      out.add(text);
  }
  return arena.text(std::move(out)).as_markup(markup);
}

void require_defined(const Value& value) {
  if (const auto* undefined = std::get_if<Undefined>(&value))
    throw Error("\"{}\" is undefined", undefined->name);
}

}  // namespace

Value binary_operation(std::string_view op, const Value& left, const Value& right, Arena& arena) {
  require_defined(left);
  require_defined(right);
  std::int64_t ia = 0;
  std::int64_t ib = 0;
  if (as_integer(left, ia) && as_integer(right, ib)) return on_integers(op, ia, ib);
  double da = 0;
  double db = 0;
  if (as_number(left, da) && as_number(right, db)) return on_floats(op, da, db);
  if (op == "+" && is_string(left) && is_string(right))
    return add_texts(std::get<Text>(left), std::get<Text>(right), arena);
  if (op == "+" && is_sequence(left) && is_sequence(right) && !is_string(left) && !is_string(right)) {
    const List& a = *std::get<List*>(left);
    const List& b = *std::get<List*>(right);
    if (a.kind == b.kind) return concatenate(a, b, arena);
  }
  if (op == "*" && is_sequence(left) && as_integer(right, ib)) return repeat(left, ib, arena);
  if (op == "*" && is_sequence(right) && as_integer(left, ia)) return repeat(right, ia, arena);
  if (op == "%" && is_string(left)) return format_percent(std::get<Text>(left), right, arena);
  throw Error("\"{}\" is not defined between {} and {}", op, type_name(left), type_name(right));
}

Value negate(const Value& value) {
  require_defined(value);
  std::int64_t i = 0;
  if (as_integer(value, i)) return on_integers("-", 0, i);
  if (const auto* d = std::get_if<double>(&value)) return -*d;
  throw Error("\"-\" is not defined for {}", type_name(value));
}

bool compare(std::string_view op, const Value& left, const Value& right, Arena& arena) {
  if (op == "==") return equal(left, right, arena);
  if (op == "!=") return !equal(left, right, arena);
  if (op == "in") return contains(right, left, arena);
  if (op == "not in") return !contains(right, left, arena);
  require_defined(left);
  require_defined(right);
  spend_for(left, arena);
  double a = 0;
  double b = 0;
  if ((op == "<=" || op == ">=") && as_number(left, a) && as_number(right, b) &&
      (std::isnan(a) || std::isnan(b)))
    return false;
  if (op == "<") return less(left, right, arena);
  if (op == ">") return less(right, left, arena);
  if (op == "<=") return !less(right, left, arena);
  return !less(left, right, arena);
}

Value slice(const Value& value, const Value& start, const Value& stop, const Value& step, Arena& arena) {
  require_defined(value);
  if (!is_sequence(value)) throw Error("{} cannot be sliced", type_name(value));
  const auto bound = [](const Value& given, std::int64_t fallback) {
    if (std::holds_alternative<None>(given)) return fallback;
    std::int64_t out = 0;
    if (!as_integer(given, out)) throw Error("a slice needs integers, not {}", type_name(given));
    return out;
  };
  spend_for(value, arena);
  const std::int64_t length = length_of(value);
  const std::int64_t by = bound(step, 1);
  if (by == 0) throw Error("the slice's step is 0");
  // Python's slice.indices().
  const std::int64_t lowest = by > 0 ? 0 : -1;
  const std::int64_t highest = by > 0 ? length : length - 1;
  const auto place = [&](std::int64_t i) { return std::clamp(i < 0 ? i + length : i, lowest, highest); };
  const std::int64_t first =
      std::holds_alternative<None>(start) ? (by > 0 ? lowest : highest) : place(bound(start, 0));
  const std::int64_t last =
      std::holds_alternative<None>(stop) ? (by > 0 ? highest : lowest) : place(bound(stop, 0));

  const auto* text = std::get_if<Text>(&value);
  if (text != nullptr && by == 1) return text->part(characters(text->bytes(), first, std::max(first, last)));
  const std::vector<Value> items = items_of(value, arena);
  std::vector<Value> picked;
  for (std::int64_t i = first; by > 0 ? i < last : i > last;) {
    picked.push_back(items[static_cast<std::size_t>(i)]);
    if (__builtin_add_overflow(i, by, &i)) break;
  }
  if (text != nullptr) {
    TextBuilder out;
    for (const Value& c : picked) out.add(std::get<Text>(c));
    return arena.text(std::move(out)).as_markup(text->is_markup());
  }
  List* out = arena.list(std::get<List*>(value)->kind);
  arena.spend_memory(picked.size() * sizeof(Value));
  out->items = std::move(picked);
  return out;
}

}  // namespace augur::jinja
