#include "cli/template_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/similar_word.h"
#include "cli/text_file.h"
#include "io/known_templates.h"

namespace augur::cli {

std::string chat_template_of(const std::string& given) {
  if (const std::string_view known = known_template(given); !known.empty()) return std::string(known);
  std::error_code no_file;
  if (std::filesystem::is_regular_file(given, no_file)) return read_text(given);
  if (given.find_first_of(" \n{") != std::string::npos) return given;
  std::vector<std::string_view> names;
  for (const KnownTemplate& known : known_templates()) names.push_back(known.name);
  const std::string_view meant = similar_word(given, names);
  throw Error("--chat-template {}: expected a file, a template's text, or one of {}{}", given,
              fmt::join(names, ", "), meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant));
}

void add_template_flags(CLI::App& command, EngineOptions& options) {
  options.fallback_template = known_template("chatml");
  CLI::Option* const by_name =
      command
          .add_option_function<std::string>(
              "--chat-template",
              [&options](const std::string& given) { options.chat_template = chat_template_of(given); },
              "Chat template in the place of the model's: a name as llama.cpp has it, a file, or its text")
          ->type_name("NAME|FILE");
  command
      .add_option_function<std::string>(
          "--chat-template-file",
          [&options](const std::string& file) { options.chat_template = read_text(file); },
          "The same from a file")
      ->excludes(by_name)
      ->type_name("FILE");
}

}  // namespace augur::cli
