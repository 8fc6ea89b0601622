#include "grammar/schema/constraint.h"

#include <algorithm>

namespace augur {
namespace {

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

template <typename T>
void append_new(std::vector<T>& to, const std::vector<T>& more) {
  for (const T& one : more) {
    if (std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
  }
}

}  // namespace

void add(Conjunction& all, const Literal& one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

Type type_of(const Json& value) {
  if (value.is_null()) return kNull;
  if (value.is_boolean()) return value.get<bool>() ? kTrue : kFalse;
  if (value.is_string()) return kString;
  if (value.is_array()) return kArray;
  if (value.is_object()) return kObject;
  return decimal_of(value).fraction.empty() ? kInteger : kFraction;
}

void Counts::meet(const Counts& other) {
  least = std::max(least, other.least);
  if (other.most != kWithoutEnd) most = most == kWithoutEnd ? other.most : std::min(most, other.most);
}

void Constraint::meet(const Constraint& other) {
  types &= other.types;
  if (other.values) {
    if (values) {
      std::erase_if(*values, [&](const Json& value) {
        return std::none_of(other.values->begin(), other.values->end(),
                            [&](const Json& one) { return same_value(value, one); });
      });
    } else {
      values = other.values;
    }
  }
  append(excluded, other.excluded);
  number.meet(other.number);
  string.length.meet(other.string.length);
  append_new(string.patterns, other.string.patterns);
  append_new(string.not_patterns, other.string.not_patterns);
  append_new(string.formats, other.string.formats);
  append(array.layers, other.array.layers);
  array.length.meet(other.array.length);
  append(array.contains, other.array.contains);
  if (array.unique == nullptr) array.unique = other.array.unique;
  append(object.layers, other.object.layers);
  append_new(object.required, other.object.required);
  append_new(object.names, other.object.names);
  append(object.others, other.object.others);
  object.count.meet(other.object.count);
}

bool same_value(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return compare(decimal_of(a), decimal_of(b)) == 0;
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), same_value);
  if (a.is_object()) {
    return std::all_of(a.items().begin(), a.items().end(), [&](const auto& member) {
      const auto found = b.find(member.key());
      return found != b.end() && same_value(member.value(), *found);
    });
  }
  return a == b;
}

std::int64_t Constraint::bytes() const {
  constexpr std::size_t kName = 64;  // a text, with what it takes from the heap
  std::size_t sum = sizeof(Constraint) + excluded.size() * sizeof(Json);
  if (values) sum += values->size() * sizeof(Json);
  sum += kName * (string.patterns.size() + string.not_patterns.size() + string.formats.size());
  for (const auto& layer : array.layers) sum += sizeof layer + layer.prefix.size() * sizeof(Literal);
  sum += array.contains.size() * sizeof(ArrayRules::Contains);
  for (const auto& layer : object.layers) {
    sum += sizeof layer + (kName + sizeof(Literal)) * (layer.named.size() + layer.patterns.size());
  }
  for (const auto& other : object.others) sum += sizeof other + kName * other.than.size();
  sum += kName * object.required.size() + object.names.size() * sizeof(Literal);
  return static_cast<std::int64_t>(sum);
}

}  // namespace augur
