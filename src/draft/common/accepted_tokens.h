#pragma once
#include <algorithm>
#include <cassert>
#include <cstdint>

#include "draft/drafter.h"

namespace augur {

/// How many of the rows' tokens are known to a drafter that has taken note of the first `length` tokens of
/// its sequence: the others, tokens[result] and on, are new to it.
inline std::size_t known_rows(const AcceptedRows& rows, std::int64_t length) {
  const std::int64_t known = length - rows.first_position;
  assert(known >= 0 && "a gap in the accepted rows");
  return static_cast<std::size_t>(std::clamp<std::int64_t>(known, 0, std::ssize(rows.tokens)));
}

/// Calls append(token) for what is new of the rows' tokens and of `next`, for drafters that read nothing but
/// tokens. `length`: tokens that they have appended, the last call's `next` included.
template <class Append>
void append_accepted(const AcceptedRows& rows, std::int64_t length, const Append& append) {
  for (const TokenId token : rows.tokens.subspan(known_rows(rows, length))) append(token);
  if (length <= rows.first_position + std::ssize(rows.tokens)) append(rows.next);
}

}  // namespace augur
