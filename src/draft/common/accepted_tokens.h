#pragma once
#include <algorithm>
#include <cassert>
#include <cstdint>

#include "draft/drafter.h"

namespace augur {

/// The number of leading tokens of `rows` that a drafter already has when it has recorded the first `length`
/// tokens of its sequence; tokens[result] and later ones are new to it.
inline std::size_t known_rows(const AcceptedRows& rows, std::int64_t length) {
  const std::int64_t known = length - rows.first_position;
  assert(known >= 0 && "a gap in the accepted rows");
  return static_cast<std::size_t>(std::clamp<std::int64_t>(known, 0, std::ssize(rows.tokens)));
}

/// Calls append(token) for the new ones of the rows' tokens and of `next`; for drafters that use tokens only.
/// `length`: number of tokens appended so far, the last call's `next` included.
template <class Append>
void append_accepted(const AcceptedRows& rows, std::int64_t length, const Append& append) {
  for (const TokenId token : rows.tokens.subspan(known_rows(rows, length))) append(token);
  if (length <= rows.first_position + std::ssize(rows.tokens)) append(rows.next);
}

}  // namespace augur
