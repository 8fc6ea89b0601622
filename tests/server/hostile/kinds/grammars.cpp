#include "server/hostile/catalogue.h"

namespace augur::hostile {
namespace {

std::string regex(std::string_view pattern) {
  return completions(R"("max_tokens": 3, "guided_regex": )" + json_string(pattern));
}
std::string ebnf(std::string_view grammar) {
  return completions(R"("max_tokens": 3, "structured_outputs": {"grammar": )" + json_string(grammar) + "}");
}
std::string gbnf(std::string_view grammar) {
  return llamacpp(R"("n_predict": 3, "grammar": )" + json_string(grammar));
}
std::string rules(int count) {
  std::string text = "root ::= r0\n";
  for (int i = 0; i < count; ++i) {
    text += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + " r" + std::to_string(i + 1) + "\n";
  }
  return text + "r" + std::to_string(count) + " ::= \"a\"\n";
}

}  // namespace

/// Grammars that are none, that allow nothing, that never end, and that are dear.
std::vector<Case> grammars() {
  const std::vector<int> either = {200, 400};
  return {
      {"a repetition beyond counting", regex("a{99999999999}"), {400}, "guided_regex"},
      {"a repetition beyond 2^64", regex("a{99999999999999999999999}"), {400}, "guided_regex"},
      {"repetitions of repetitions", regex("((a{9999}){9999}){9999}"), either},
      {"a repetition the wrong way round", regex("a{5,2}"), {400}, "guided_regex"},
      {"a repetition in EBNF", ebnf("root ::= \"a\"{1,99999999999}"), {400}, "structured_outputs.grammar"},
      {"a repetition in GBNF", gbnf("root ::= \"a\"{0,1000000000}"), {400}, "grammar"},
      {"stars upon stars", regex("((a*)*)*b"), either},
      {"everything may be everything", regex("(a|aa|aaa|a*)*(a|b|ab)*c"), either},
      {"a back reference", regex("(a)\\1"), {400}, "guided_regex"},
      {"looking behind", regex("(?<=a)b"), {400}, "guided_regex"},
      {"recursion", regex("(?R)"), {400}, "guided_regex"},
      {"a class that is empty", regex("[]"), either},
      {"a class that is everything but everything", regex("[^\\x00-\\U0010FFFF]"), either},
      {"a range the wrong way round", regex("[z-a]"), {400}, "guided_regex"},
      {"no end of a class", regex("[a"), {400}, "guided_regex"},
      {"no end of a group", regex("(a"), {400}, "guided_regex"},
      {"an end of a group", regex("a)"), {400}, "guided_regex"},
      {"half an escape", regex("a\\"), {400}, "guided_regex"},
      {"an expression that is empty", regex(""), {400}, "guided_regex"},
      {"an expression of 100 KiB", regex(std::string(100'000, 'a')), {400}, "guided_regex"},
      {"alternatives of 60 KiB", regex(repeated("ab|", 20'000) + "c"), either},
      {"a language of nothing", gbnf("root ::= root"), {400}, "grammar"},
      {"a circle", gbnf("root ::= a\na ::= b\nb ::= a"), {400}, "grammar"},
      {"a text that never ends", gbnf("root ::= \"a\" root"), {200}},
      {"recursion on the left", gbnf("root ::= root \"a\" | \"b\""), {200}},
      {"nothing but the empty text", gbnf("root ::= \"\""), {200}},
      {"no root", gbnf("rut ::= \"a\""), {400}, "grammar"},
      {"a rule that is not there", gbnf("root ::= nowhere"), {400}, "grammar"},
      {"a rule that is there twice", ebnf("root ::= \"a\"\nroot ::= \"b\""), either},
      {"a token beyond the vocabulary", gbnf("root ::= <[99999999]>"), {400}, "grammar"},
      {"a token of 40 digits",
       gbnf("root ::= <[1111111111111111111111111111111111111111]>"),
       {400},
       "grammar"},
      {"a token that has no name", gbnf("root ::= <>"), {400}, "grammar"},
      {"no end of a text", gbnf("root ::= \"a"), {400}, "grammar"},
      {"an ambiguous grammar", gbnf("root ::= s\ns ::= s s | \"a\" | \"\""), either},
      {"2^30 letters in 30 rules", gbnf(rules(30)), either},
      {"five thousand rules", gbnf(rules(2'000)), either},
      {"what is no grammar",
       ebnf(std::string(2'000, '\n') + "::= ::= ::="),
       {400},
       "structured_outputs.grammar"},
      {"comments alone", gbnf("# root ::= \"a\"\n"), {400}, "grammar"},
      {"two grammars", completions(R"("guided_regex": "a", "guided_choice": ["b"])"), {400}},
      {"a grammar and no end", completions(R"("guided_regex": "a", "ignore_eos": true)"), {400}},
      {"no choices", completions(R"("guided_choice": [])"), {400}, "guided_choice"},
      {"a choice of nothing", completions(R"("guided_choice": ["a", ""])"), {400}, "guided_choice[1]"},
      {"five thousand choices",
       completions(R"("max_tokens": 3, "guided_choice": [)" + repeated("\"abc\",", 5'000) + "\"d\"]"),
       either},
      {"a tag of no sort",
       completions(
           R"("structured_outputs": {"structural_tag": {"type": "structural_tag", "format": {"type": "magic"}}})"),
       {400},
       "structured_outputs.structural_tag"},
      {"a tag that triggers on nothing",
       completions(R"("max_tokens": 3, "structured_outputs": {"structural_tag": {"type": "structural_tag",
           "format": {"type": "triggered_tags", "triggers": [""], "tags": [{"begin": "", "content": {"type": "any_text"}, "end": ""}]}}})"),
       {400},
       "structured_outputs.structural_tag"},
      {"a tag of a token that is none",
       completions(R"("max_tokens": 3, "structured_outputs": {"structural_tag": {"type": "structural_tag",
           "format": {"type": "token", "token": 99999999}}})"),
       {400},
       "structured_outputs.structural_tag"},
  };
}

}  // namespace augur::hostile
