#include "cli/template_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/similar_word.h"
#include "cli/text_file.h"
#include "files/big_integers.h"
#include "text/known_templates.h"
#include "text/prompt_text.h"

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

namespace {

/// Variables beside those that other flags gave. Error for one that is given twice with different values.
void add_kwargs(std::string& kwargs, const nlohmann::ordered_json& more, std::string_view flag) {
  auto all = nlohmann::ordered_json::object();
  if (!kwargs.empty()) all = parse_template_kwargs(kwargs);
  for (const auto& [name, value] : more.items()) {
    if (all.contains(name) && all[name] != value) throw Error("{}: {} has two values", flag, name);
    all[name] = value;
  }
  kwargs = write_exact_json(all);
}

void add_reasoning_flag(CLI::App& command, EngineOptions& options) {
  command
      .add_option_function<std::string>(
          "--reasoning",
          [&options](const std::string& said) {
            // Without the variable some templates do not think: llama.cpp's auto is on where a template can.
            add_kwargs(options.template_kwargs, {{"enable_thinking", said != "off"}}, "--reasoning");
          },
          "What templates get as enable_thinking: on, off, or auto, which is on (not given: nothing)")
      ->check(CLI::IsMember({"on", "off", "auto"}))
      ->type_name("WORD");
}

}  // namespace

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
  command
      .add_option_function<std::string>(
          "--chat-template-kwargs",
          [&options](const std::string& given) {
            add_kwargs(options.template_kwargs, parse_template_kwargs(given), "--chat-template-kwargs");
          },
          "Variables for the chat template, over which a request's own go")
      ->type_name("JSON");
  command.add_flag("--template-date", options.template_date,
                   "The chat template gets today's date as llama.cpp gives it: date_string, datetime");
  add_reasoning_flag(command, options);
}

}  // namespace augur::cli
