#include "cli/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/similar_word.h"
#include "cli/secret_flags.h"
#include "cli/tell.h"
#include "cli/toml_file.h"

namespace augur::cli {
namespace {

constexpr std::string_view kPrefix = "AUGUR_";

[[noreturn]] void refuse(const std::string& message) {
  throw CLI::ConfigError(message, CLI::ExitCodes::ConfigError);
}

bool is_flag(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}
bool is_repeatable(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}
bool is_secret(const CLI::Option& option) {
  return std::any_of(kSecretFlags.begin(), kSecretFlags.end(),
                     [&](std::string_view flag) { return option.check_name(std::string(flag)); });
}
/// A name that turns the flag off.
bool is_negation(const CLI::Option& option, const std::string& name) {
  const std::vector<std::string>& negations = option.get_fnames();
  return std::find(negations.begin(), negations.end(), name) != negations.end();
}

std::string variable_of(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return std::string(kPrefix) + name;
}

/// What Kubernetes puts into every pod's environment for a service of the name "augur…".
bool is_of_kubernetes(std::string_view value) {
  return value.starts_with("tcp://") || value.starts_with("udp://") || value.starts_with("sctp://");
}

std::optional<bool> truth_of(std::string_view text) {
  for (const char* yes : {"true", "1", "yes", "on"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"false", "0", "no", "off"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char c : list) c == ',' ? static_cast<void>(parts.emplace_back()) : parts.back().push_back(c);
  return parts;
}

/// Numbers stand for themselves, unless another text would come back.
std::string toml_value(const std::string& text) {
  const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
  const bool whole = !digits.empty() && digits.size() < 19 && digits != "-0" &&
                     digits.find_first_not_of("0123456789") == std::string_view::npos &&
                     (digits.front() != '0' || text == "0");
  return whole ? text : toml_text(text);
}

}  // namespace

std::shared_ptr<Settings> Settings::add_to(CLI::App& command) {
  std::shared_ptr<Settings> settings(new Settings(command));
  command.option_defaults()->group("Configuration");
  command
      .add_option_function<std::string>(
          "--config", [settings](const std::string& file) { settings->read(file); },
          "File of TOML with flags as keys (port = 8080). Flags go before variables of the environment "
          "(AUGUR_PORT), and these before the file")
      ->force_callback()
      ->configurable(false)
      ->type_name("FILE");
  command
      .add_flag("--print-config", settings->wants_text_,
                "Print what is set, and where that was said, and end")
      ->configurable(false);
  return settings;
}

void Settings::read(const std::string& config) {
  if (command_.get_help_ptr()->count() > 0) return;
  const char* const named = std::getenv("AUGUR_CONFIG");
  read_environment();
  if (!config.empty()) {
    read_file(config);
  } else if (named != nullptr) {
    read_file(named);
  }
  run_callbacks();
}

CLI::Option* Settings::option_of(const std::string& name) const {
  CLI::Option* const option = command_.get_option_no_throw("--" + name);
  return option != nullptr && option->get_configurable() ? option : nullptr;
}

void Settings::set(CLI::Option& option, const std::string& name, const std::vector<std::string>& values,
                   const std::string& origin) {
  for (const std::string& value : values) {
    option.add_result(is_flag(option) ? option.get_flag_value(name, value) : value);
  }
  origins_[&option] = origin;
}

void Settings::read_environment() {
  std::vector<std::string> names;  // without the prefix
  for (CLI::Option* option : command_.get_options()) {
    if (!option->get_configurable()) continue;
    for (const std::string& name : option->get_lnames()) {
      const std::string variable = variable_of(name);
      names.push_back(variable.substr(kPrefix.size()));
      const char* const found = std::getenv(variable.c_str());
      if (found == nullptr) continue;
      if (is_of_kubernetes(found)) {
        tell(
            "augur: warning: {} is left out: it is what Kubernetes sets for a service of that name "
            "(enableServiceLinks: false)\n",
            variable);
        continue;
      }
      if (const auto other = origins_.find(option); other != origins_.end()) {
        refuse(fmt::format("{} and {} say the same thing: expected one of them", other->second, variable));
      }
      if (option->count() > 0) continue;
      std::vector<std::string> values = {found};
      if (is_flag(*option)) {
        const std::optional<bool> truth = truth_of(found);
        if (!truth) refuse(fmt::format("{}: expected true or false, found '{}'", variable, found));
        values = {*truth ? "true" : "false"};
      } else if (is_repeatable(*option)) {
        values = split(found);
      }
      set(*option, name, values, variable);
    }
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t end = std::min(text.find('='), text.size());
    if (!text.starts_with(kPrefix) || is_of_kubernetes(text.substr(std::min(end + 1, text.size())))) continue;
    const std::string_view word = text.substr(kPrefix.size(), end - kPrefix.size());
    if (word == "CONFIG" || std::find(known.begin(), known.end(), word) != known.end()) continue;
    // Others may have variables of that beginning, too: only what is nearly one of ours is an error.
    if (const std::string_view meant = similar_word(word, known); !meant.empty()) {
      refuse(fmt::format("{0}{1} is not known: did you mean {0}{2}?", kPrefix, word, meant));
    }
  }
}

void Settings::read_file(const std::string& path) {
  std::vector<TomlKey> keys;
  try {
    keys = read_toml(path);
  } catch (const Error& error) {
    refuse(error.what());
  }
  std::map<const CLI::Option*, const TomlKey*> seen;
  for (const TomlKey& key : keys) {
    const std::string origin = fmt::format("{}: line {}: {}", path, key.line, key.name);
    CLI::Option* const option = option_of(key.name);
    if (option == nullptr) {
      std::vector<std::string> names;
      for (const CLI::Option* one : command_.get_options()) {
        if (one->get_configurable()) {
          names.insert(names.end(), one->get_lnames().begin(), one->get_lnames().end());
        }
      }
      const std::string_view meant =
          similar_word(key.name, std::vector<std::string_view>(names.begin(), names.end()));
      refuse(origin + " is not known: " +
             (meant.empty() ? "expected a flag's name without its dashes"
                            : fmt::format("did you mean {}?", meant)));
    }
    if (const auto [first, fresh] = seen.emplace(option, &key); !fresh) {
      refuse(fmt::format("{} says the same thing as {} in line {}: expected one of them", origin,
                         first->second->name, first->second->line));
    }
    if (is_flag(*option) && (key.is_list || !key.is_flag)) refuse(origin + ": expected true or false");
    if (!is_flag(*option) && key.is_flag) refuse(origin + ": expected a text or a number");
    if (key.is_list && !is_repeatable(*option)) refuse(origin + ": expected one value, found a list");
    if (option->count() == 0 && !key.values.empty()) set(*option, key.name, key.values, origin);
  }
}

/// As CLI11 would, in the order of the options, with where a value is from in front of what is wrong with it.
void Settings::run_callbacks() {
  for (CLI::Option* option : command_.get_options()) {
    if (!option->get_configurable() || option->empty() || option->get_callback_run()) continue;
    const auto origin = origins_.find(option);
    if (origin == origins_.end()) {
      option->run_callback();
      continue;
    }
    try {
      option->run_callback();
    } catch (const std::exception& error) {
      refuse(fmt::format("{}: {}", origin->second, error.what()));
    }
  }
}

std::string Settings::text() const {
  std::string text;
  std::string group;
  for (const CLI::Option* option : command_.get_options()) {
    if (!option->get_configurable() || option->get_lnames().empty()) continue;
    if (option->get_group() != group) text += fmt::format("\n# {}\n", group = option->get_group());
    const std::string& name = option->get_lnames().front();
    const auto origin = origins_.find(option);
    const std::string from = origin == origins_.end() ? "command line" : origin->second;
    if (option->count() == 0) {
      std::string value = option->get_default_str();
      if (!value.empty()) value = toml_value(value);
      // A flag with a name that turns it off, and one that does not, is on.
      const bool on = !option->get_fnames().empty() && !is_negation(*option, name);
      if (is_flag(*option)) value = on ? "true" : "false";
      text += value.empty() ? fmt::format("# {}\n", name) : fmt::format("# {} = {}\n", name, value);
    } else if (is_secret(*option)) {
      text += fmt::format("# {}: {} said, hidden  # {}\n", name, option->count(), from);
    } else if (is_flag(*option)) {
      const bool on = (option->results().back() != "false") != is_negation(*option, name);
      text += fmt::format("{} = {}  # {}\n", name, on, from);
    } else {
      std::vector<std::string> values;
      for (const std::string& value : option->results()) values.push_back(toml_value(value));
      const std::string list = fmt::format("{}", fmt::join(values, ", "));
      const bool one = values.size() == 1;
      text += fmt::format("{} = {}  # {}\n", name, is_repeatable(*option) || !one ? "[" + list + "]" : list,
                          from);
    }
  }
  return text;
}

}  // namespace augur::cli
