#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace augur {

// clang-format off
/// A structural tag as xgrammar is to have it: {"type": "structural_tag", "format": FORMAT}. A format is
/// {"type": ...} of these, with these members:
///   any_text
///   const_string          value
///   json_schema           json_schema, max_whitespace_cnt (characters between tokens of JSON; by default
///                         `most_whitespace`), field (the request's that it came in: its errors are FieldErrors)
///   regex                 pattern
///   grammar               grammar (xgrammar's notation)
///   token                 token (an id)
///   sequence, or          elements
///   optional, plus, star  content
///   tag                   begin, content, end: a text or a token before and behind
///   triggered_tags        triggers, tags, at_least_one, stop_after_first: any text, but where it comes to one
///                         of the triggers, which tags begin with, it goes on as one of these tags
///   token_triggered_tags  the same with trigger_tokens
///   tags_with_separator   tags, separator, at_least_one, stop_after_first
/// Schemas in it become grammars (grammar_of_json), whose objects have no others than named members unless they
/// speak of them. Error naming the place of what is none of this.
// clang-format on
struct EnforceableTag {
  std::string text;
  std::vector<std::string> warnings;  ///< of its schemas
};
EnforceableTag enforceable_structural_tag(std::string_view text, int most_whitespace);

}  // namespace augur
