#pragma once
#include <deque>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/regex.h"

namespace augur {

/// Words: the stretches of text inside which a tokenizer may merge.
struct PieceList {
  std::vector<std::string_view> pieces;  ///< views into the text, or into `storage` where a step changed it
  std::deque<std::string> storage;
  bool starts_text = true;  ///< the first piece begins the whole text
};

/// One step of cutting a text into words. Immutable, thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(PieceList& list) const = 0;

  /// tokenizer.json's `pre_tokenizer`; null where that is null. Error, prefixed with `where`, for a type that
  /// this project does not implement.
  static std::unique_ptr<PreTokenizer> from_json(const nlohmann::json& value, const std::string& where);
};

/// What to do with the matches of an expression.
enum class SplitBehavior { Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous };

std::unique_ptr<PreTokenizer> split_on(Regex pattern, SplitBehavior behavior, bool invert = false);
/// Cuts out the matches of a regular expression; those that group digits are known (see digit_groups.h).
/// Error, prefixed with `where`, for a malformed one.
std::unique_ptr<PreTokenizer> isolated(std::string_view pattern, const std::string& where);
std::unique_ptr<PreTokenizer> in_sequence(std::vector<std::unique_ptr<PreTokenizer>> steps);

/// GPT-2's expression, which `ByteLevel` uses.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace augur
