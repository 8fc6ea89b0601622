#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/tokenizer/regex.h"
#include "text/unicode.h"

namespace augur {

/// What a tokenizer does to a stretch of text before cutting it: a sequence of steps. Immutable, thread-safe.
class Normalizer {
 public:
  struct Prepend {
    std::string text;         ///< to every stretch that is not empty,
    bool only_first = false;  ///< or only to the one that begins the whole text
  };
  struct Replace {
    std::optional<Regex> pattern;  ///< or, where absent,
    std::string literal;           ///< this text
    std::string content;
  };
  using Step = std::variant<NormalForm, Prepend, Replace>;

  Normalizer() = default;
  explicit Normalizer(std::vector<Step> steps) : steps_(std::move(steps)) {}
  /// tokenizer.json's `normalizer` (null: nothing is done). Error, prefixed with `where`, for a type that
  /// this project does not implement.
  static Normalizer from_json(const nlohmann::json& value, const std::string& where);

  bool identity() const { return steps_.empty(); }
  std::string apply(std::string_view text, bool starts_text = true) const;
  /// The same; `marks` has as many characters as `text` has bytes, and is given the result's: '\1' where a
  /// marked byte has to do with what stands there, '\0' elsewhere.
  std::string apply(std::string_view text, bool starts_text, std::string& marks) const;

 private:
  static void append_steps(const nlohmann::json& value, const std::string& where, std::vector<Step>& steps);
  std::vector<Step> steps_;
};

/// Every occurrence of `from` (not empty) replaced, left to right.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace augur
