// Jinja's tests: `value is name(arguments)`.
#include <algorithm>
#include <array>

#include "text/jinja/builtins.h"

namespace augur::jinja {
namespace {

struct Operand {
  const Value& value;
  const CallArguments& arguments;
  Arena& arena;
  std::string_view name;

  template <class T>
  bool holds() const {
    return std::holds_alternative<T>(value);
  }
  Value other() const {
    const BoundArguments bound(name, arguments, {"other"}, 1);
    return bound[0];
  }
  std::int64_t integer() const {
    if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
    if (const auto* flag = std::get_if<bool>(&value)) return *flag;
    throw Error("test \"{}\": expected an integer, found {}", name, type_name(value));
  }
};

bool is_list_like(const Operand& o) {
  return o.holds<List*>();
}
bool is_mapping(const Operand& o) {
  const auto* dict = std::get_if<Dict*>(&o.value);
  return dict != nullptr && !(*dict)->is_namespace;
}
bool is_generator(const Operand& o) {
  const auto* list = std::get_if<List*>(&o.value);
  return list != nullptr && (*list)->kind == List::Kind::Generator;
}
bool is_number(const Operand& o) {
  return o.holds<bool>() || o.holds<std::int64_t>() || o.holds<BigInteger>() || o.holds<double>();
}
bool is_iterable(const Operand& o) {
  return is_list_like(o) || is_mapping(o) || o.holds<Text>() || o.holds<Undefined>();
}

bool same_object(const Operand& o) {
  const Value other = o.other();
  if (o.value.index() != other.index()) return false;
  if (const auto* list = std::get_if<List*>(&o.value)) return *list == std::get<List*>(other);
  if (const auto* dict = std::get_if<Dict*>(&o.value)) return *dict == std::get<Dict*>(other);
  return equal(o.value, other, o.arena);
}

bool divisible(const Operand& o) {
  const BoundArguments bound(o.name, o.arguments, {"num"}, 1);
  const std::int64_t divisor = bound.integer_or(0, 0);
  if (divisor == 0) throw Error("test \"divisibleby\": division by zero");
  return divisor == -1 || o.integer() % divisor == 0;
}

// Python's isupper()/islower(): some letter has case, and none has the other one.
bool has_case(const Operand& o, std::string (*map)(std::string_view),
              std::string (*opposite)(std::string_view)) {
  const std::string text(to_text(o.value, o.arena).bytes());
  return map(text) == text && opposite(text) != text;
}

struct NamedTest {
  std::string_view name;
  bool (*test)(const Operand&);
};

bool less_than(const Operand& o) {
  return less(o.value, o.other(), o.arena);
}
bool greater_than(const Operand& o) {
  return less(o.other(), o.value, o.arena);
}
bool is_equal(const Operand& o) {
  return equal(o.value, o.other(), o.arena);
}
bool is_different(const Operand& o) {
  return !is_equal(o);
}
bool at_most(const Operand& o) {
  return !greater_than(o);
}
bool at_least(const Operand& o) {
  return !less_than(o);
}

constexpr std::array kTests = {
    NamedTest{"defined", [](const Operand& o) { return !o.holds<Undefined>(); }},
    NamedTest{"undefined", [](const Operand& o) { return o.holds<Undefined>(); }},
    NamedTest{"none", [](const Operand& o) { return o.holds<None>(); }},
    NamedTest{"string", [](const Operand& o) { return o.holds<Text>(); }},
    NamedTest{"number", is_number},
    NamedTest{"integer", [](const Operand& o) { return o.holds<std::int64_t>() || o.holds<BigInteger>(); }},
    NamedTest{"float", [](const Operand& o) { return o.holds<double>(); }},
    NamedTest{"boolean", [](const Operand& o) { return o.holds<bool>(); }},
    NamedTest{"true", [](const Operand& o) { return o.holds<bool>() && truth(o.value); }},
    NamedTest{"false", [](const Operand& o) { return o.holds<bool>() && !truth(o.value); }},
    NamedTest{"mapping", is_mapping},
    NamedTest{"iterable", is_iterable},
    NamedTest{"sequence", [](const Operand& o) { return is_iterable(o) && !is_generator(o); }},
    NamedTest{"callable", [](const Operand& o) { return o.holds<const Callable*>(); }},
    NamedTest{"escaped",
              [](const Operand& o) { return o.holds<Text>() && std::get<Text>(o.value).is_markup(); }},
    NamedTest{"filter", [](const Operand& o) { return is_filter(to_text(o.value, o.arena).bytes()); }},
    NamedTest{"test", [](const Operand& o) { return is_test(to_text(o.value, o.arena).bytes()); }},
    NamedTest{"sameas", same_object},
    NamedTest{"odd", [](const Operand& o) { return o.integer() % 2 != 0; }},
    NamedTest{"even", [](const Operand& o) { return o.integer() % 2 == 0; }},
    NamedTest{"divisibleby", divisible},
    NamedTest{"upper", [](const Operand& o) { return has_case(o, upper, lower); }},
    NamedTest{"lower", [](const Operand& o) { return has_case(o, lower, upper); }},
    NamedTest{"in", [](const Operand& o) { return contains(o.other(), o.value, o.arena); }},
    NamedTest{"eq", is_equal},
    NamedTest{"equalto", is_equal},
    NamedTest{"==", is_equal},
    NamedTest{"ne", is_different},
    NamedTest{"!=", is_different},
    NamedTest{"lt", less_than},
    NamedTest{"lessthan", less_than},
    NamedTest{"<", less_than},
    NamedTest{"le", at_most},
    NamedTest{"<=", at_most},
    NamedTest{"gt", greater_than},
    NamedTest{"greaterthan", greater_than},
    NamedTest{">", greater_than},
    NamedTest{"ge", at_least},
    NamedTest{">=", at_least},
};

const NamedTest* find_test(std::string_view name) {
  const auto* found =
      std::find_if(kTests.begin(), kTests.end(), [&](const NamedTest& t) { return t.name == name; });
  return found == kTests.end() ? nullptr : found;
}

}  // namespace

bool is_test(std::string_view name) {
  return find_test(name) != nullptr;
}

bool apply_test(std::string_view name, const Value& value, const CallArguments& arguments, Arena& arena) {
  const NamedTest* test = find_test(name);
  if (test == nullptr) throw Error(ErrorKind::Unsupported, "unsupported test \"{}\"", name);
  spend_for(value, arena);
  return test->test({value, arguments, arena, name});
}

}  // namespace augur::jinja
