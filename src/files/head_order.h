#pragma once
#include <cstdint>
#include <vector>

namespace augur {

/// Number i of the result is values[order[i]]; an empty order changes nothing.
template <class T>
std::vector<T> in_order(std::vector<T> values, const std::vector<std::int64_t>& order) {
  if (order.empty()) return values;
  std::vector<T> result;
  result.reserve(order.size());
  for (const std::int64_t at : order) result.push_back(values[static_cast<std::size_t>(at)]);
  return result;
}

/// The order that makes of heads that stand as [outer][inner] those as [inner][outer], each of `width`
/// numbers, behind `first` others that stay. Empty: it is the same.
std::vector<std::int64_t> transposed_heads(std::int64_t outer, std::int64_t inner, std::int64_t first,
                                           std::int64_t width);

}  // namespace augur
