#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "server/endpoint.h"

namespace augur {

FieldNotes field_notes(const Served& served) {
  return {.strict = served.options.strict_fields,
          .limits = served.options.limits,
          .defaults = served.options.defaults,
          .ignored = {}};
}

void tell_ignored(const FieldNotes& notes, const Served& served, Exchange& exchange) {
  if (notes.ignored.empty()) return;
  // A client writes these names: a header and a log hold a few short ones, of printable characters.
  constexpr std::size_t kMostNames = 16;
  constexpr std::size_t kLongest = 64;
  std::string names;
  for (std::size_t i = 0; i < std::min(notes.ignored.size(), kMostNames); ++i) {
    std::string name = notes.ignored[i].substr(0, kLongest);
    for (char& c : name) {
      if (c <= ' ' || c > '~' || c == ',' || c == '"') c = '?';
    }
    names += (i == 0 ? "" : ",") + name;
  }
  if (notes.ignored.size() > kMostNames) names += fmt::format(",+{}", notes.ignored.size() - kMostNames);
  served.record->ignored_fields = names;
  exchange.add_header("X-Augur-Warning", "ignored fields: " + names);
}

}  // namespace augur
