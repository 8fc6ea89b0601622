#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "server/endpoint.h"

namespace augur {

namespace {

/// A client writes these texts: a header and a log hold a few short ones, of printable characters other than
/// those that stand between them.
std::string listed(std::span<const std::string> texts, std::string_view between, std::size_t longest,
                   std::string_view replaced) {
  constexpr std::size_t kMost = 16;
  std::string list;
  for (std::size_t i = 0; i < std::min(texts.size(), kMost); ++i) {
    std::string text = texts[i].substr(0, longest);
    for (char& c : text) {
      if (c < ' ' || c > '~' || replaced.find(c) != replaced.npos) c = '?';
    }
    (list += i == 0 ? "" : between) += text;
  }
  if (texts.size() > kMost) list += fmt::format("{}+{}", between, texts.size() - kMost);
  return list;
}

}  // namespace

FieldNotes field_notes(const Served& served) {
  return {
      .strict = served.options.strict_fields,
      .limits = served.options.limits,
      .defaults = served.options.defaults,
      .ignored = {},
      .vocab = served.engine.info().vocab,
      .tokenize = [&engine = served.engine](std::string_view text) { return engine.tokenize_part(text); }};
}

void tell_ignored(const FieldNotes& notes, const Served& served, Exchange& exchange) {
  if (notes.ignored.empty()) return;
  served.record->ignored_fields = listed(notes.ignored, ",", 64, " ,\"");
  exchange.add_header("X-Augur-Warning", "ignored fields: " + served.record->ignored_fields);
}

void tell_warnings(std::span<const std::string> warnings, const Served& served, Exchange& exchange) {
  if (warnings.empty()) return;
  served.record->warnings = listed(warnings, "; ", 200, ";");
  exchange.add_header("X-Augur-Warning", "schema: " + served.record->warnings);
}

}  // namespace augur
