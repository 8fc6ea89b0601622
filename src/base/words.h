#pragma once
#include <string_view>

#include "augur/enums.h"
#include "base/error.h"

namespace augur {

/// The value that a word stands for. Error naming `what`, and the words.
template <Worded Enum>
Enum parse_word(std::string_view what, std::string_view word) {
  constexpr auto known = words(Enum{});
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i] == word) return static_cast<Enum>(i);
  }
  throw Error(refused(std::string(what)), "{}: expected one of {}, found '{}'", what, fmt::join(known, ", "),
              word);
}

}  // namespace augur
