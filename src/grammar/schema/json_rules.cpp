#include "grammar/schema/json_rules.h"

#include <fmt/format.h>

#include <utility>

namespace augur {

JsonRules::JsonRules(GrammarText& text, int most_whitespace) {
  const CodeSet kSpace = {{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}};
  const int space_rule = text.add_rule("space");
  text.define(space_rule, repeat(character(kSpace), 0, most_whitespace));
  space = reference(space_rule);
  comma = sequence({space, literal(","), space});
  colon = sequence({space, literal(":"), space});
  const auto set = [](CodeSet ranges) { return character(sorted_set(std::move(ranges))); };
  const PiecePtr hex = set({{'0', '9'}, {'A', 'F'}, {'a', 'f'}});
  const PiecePtr plain = set({{0x20, 0x21}, {0x23, 0x5b}, {0x5d, kLastCodePoint}});
  const PiecePtr letter =
      set({{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}});

  const int escape = text.add_rule("escape");
  text.define(escape, choice({letter, sequence({literal("u"), hex, hex, hex, hex})}));
  string_rest_rule = text.add_rule("string_rest");
  text.define(string_rest_rule,
              choice({literal("\""), sequence({plain, reference(string_rest_rule)}),
                      sequence({literal("\\"), reference(escape), reference(string_rest_rule)})}),
              fmt::format("[ \\n\\r\\t]{{0,{}}} [,}}\\]:]", most_whitespace));
  string_rule = text.add_rule("string");
  text.define(string_rule, sequence({literal("\""), reference(string_rest_rule)}));

  // One character: halves of surrogate pairs don't come alone, and a pair is one.
  character_rule = text.add_rule("character");
  const PiecePtr high =
      sequence({set({{'D', 'D'}, {'d', 'd'}}), set({{'8', '9'}, {'A', 'B'}, {'a', 'b'}}), hex, hex});
  const PiecePtr low = sequence({set({{'D', 'D'}, {'d', 'd'}}), set({{'C', 'F'}, {'c', 'f'}}), hex, hex});
  const PiecePtr whole =
      choice({sequence({set({{'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}}), hex, hex, hex}),
              sequence({set({{'D', 'D'}, {'d', 'd'}}), set({{'0', '7'}}), hex, hex})});
  text.define(character_rule,
              choice({plain, sequence({literal("\\"),
                                       choice({letter, sequence({literal("u"), whole}),
                                               sequence({literal("u"), high, literal("\\u"), low})})})}));

  const PiecePtr digit = set({{'0', '9'}});
  const PiecePtr positive = sequence({set({{'1', '9'}}), repeat(digit, 0, -1)});
  const PiecePtr minus = repeat(literal("-"), 0, 1);
  integer_rule = text.add_rule("integer");
  text.define(integer_rule, choice({literal("0"), sequence({minus, positive})}));
  number_rule = text.add_rule("number");
  text.define(number_rule,
              sequence({minus, choice({literal("0"), positive}),
                        repeat(sequence({literal("."), repeat(digit, 1, -1)}), 0, 1),
                        repeat(sequence({set({{'E', 'E'}, {'e', 'e'}}),
                                         repeat(set({{'+', '+'}, {'-', '-'}}), 0, 1), repeat(digit, 1, -1)}),
                               0, 1)}));
  any_rule = text.add_rule("any");
  array_rule = text.add_rule("array");
  object_rule = text.add_rule("object");
  const PiecePtr any = reference(any_rule);
  text.define(any_rule,
              choice({reference(number_rule), reference(string_rule), literal("true"), literal("false"),
                      literal("null"), reference(array_rule), reference(object_rule)}));
  text.define(array_rule, choice({braced("[", sequence({any, repeat(sequence({comma, any}), 0, -1)}), "]"),
                                  braced("[", nullptr, "]")}));
  const PiecePtr member = sequence({reference(string_rule), colon, any});
  text.define(object_rule,
              choice({braced("{", sequence({member, repeat(sequence({comma, member}), 0, -1)}), "}"),
                      braced("{", nullptr, "}")}));
}

PiecePtr JsonRules::braced(const char* open, PiecePtr inner, const char* close) const {
  if (inner == nullptr) return sequence({literal(open), space, literal(close)});
  return sequence({literal(open), space, std::move(inner), space, literal(close)});
}

}  // namespace augur
