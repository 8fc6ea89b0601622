#pragma once
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "augur/enums.h"

namespace augur::cli {

/// Accepts numbers in [lowest, highest]; unlike CLI::Range it refuses NaN and what the type cannot hold.
template <class T>
CLI::Validator in_range(T lowest, T highest) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        T value{};
        const char* end = text.data() + text.size();
        const auto [parsed, problem] = std::from_chars(text.data(), end, value);
        if (problem == std::errc{} && parsed == end && value >= lowest && value <= highest) return {};
        return fmt::format("'{}' is not a number from {} to {}", text, lowest, highest);
      },
      "");
}

/// An option that takes one of a few words.
template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& flags, T& target,
                        const std::vector<std::pair<std::string, T>>& choices,
                        const std::string& description) {
  std::string words;
  for (const auto& choice : choices) words += (words.empty() ? "" : "|") + choice.first;
  return app
      .add_option_function<std::string>(
          flags,
          [&target, choices](const std::string& word) {
            for (const auto& choice : choices) {
              if (choice.first == word) target = choice.second;
            }
          },
          description)
      ->type_name(words)
      ->check(CLI::Validator(
          [choices, words](const std::string& word) {
            const bool known =
                std::any_of(choices.begin(), choices.end(), [&](const auto& c) { return c.first == word; });
            return known ? std::string() : fmt::format("'{}' is not one of {}", word, words);
          },
          ""));
}

/// An option that takes one of the words of an enumeration (augur/enums.h).
template <Worded Enum>
CLI::Option* add_words(CLI::App& app, const std::string& flags, Enum& target,
                       const std::string& description) {
  std::vector<std::pair<std::string, Enum>> choices;
  for (std::size_t i = 0; i < words(Enum{}).size(); ++i) {
    const auto value = static_cast<Enum>(i);
    choices.emplace_back(to_string(value), value);
  }
  return add_choice<Enum>(app, flags, target, choices, description);
}

}  // namespace augur::cli
