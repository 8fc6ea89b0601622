#include "files/head_order.h"

namespace augur {

std::vector<std::int64_t> transposed_heads(std::int64_t outer, std::int64_t inner, std::int64_t first,
                                           std::int64_t width) {
  if (outer == 1 || inner == 1) return {};
  std::vector<std::int64_t> order;
  order.reserve(static_cast<std::size_t>(first + outer * inner * width));
  for (std::int64_t i = 0; i < first; ++i) order.push_back(i);
  for (std::int64_t head = 0; head < outer * inner; ++head) {
    const std::int64_t from = head % outer * inner + head / outer;
    for (std::int64_t i = 0; i < width; ++i) order.push_back(first + from * width + i);
  }
  return order;
}

}  // namespace augur
