#include "cli/grammar_flags.h"

#include <CLI/CLI.hpp>
#include <array>
#include <string>

#include "cli/text_file.h"

namespace augur::cli {

void add_grammar_flags(CLI::App& command, std::optional<Grammar>& grammar) {
  struct Flag {
    const char* name;
    const char* help;
    GrammarKind kind;
    bool file;
  };
  constexpr std::array kFlags = {
      Flag{"--grammar", "What the text has to be, in llama.cpp's GBNF", GrammarKind::Gbnf, false},
      Flag{"--grammar-file", "A file with such a grammar; -: standard input", GrammarKind::Gbnf, true},
      Flag{"--json-schema", "A JSON schema that the text has to fit; {}: any JSON", GrammarKind::JsonSchema,
           false},
      Flag{"--json-schema-file", "A file with such a schema; -: standard input", GrammarKind::JsonSchema,
           true},
      Flag{"--regex", "A regular expression that the whole text has to match", GrammarKind::Regex, false},
  };
  command.option_defaults()->group("Grammar");
  std::array<CLI::Option*, kFlags.size()> options{};
  for (std::size_t i = 0; i < kFlags.size(); ++i) {
    const Flag flag = kFlags[i];
    const auto read = [&grammar, flag](const std::string& value) {
      grammar = Grammar{flag.kind, flag.file ? read_text(value) : value};
    };
    options[i] = command.add_option_function<std::string>(flag.name, read, flag.help);
    options[i]->type_name(flag.file ? "FILE" : "TEXT");
    for (std::size_t other = 0; other < i; ++other) options[i]->excludes(options[other]);
  }
}

}  // namespace augur::cli
