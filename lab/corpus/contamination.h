#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace augur {

/// Finds texts that repeat prompts which a part is to be judged by: nobody shall learn from them, nor from
/// their near neighbours. Texts are compared by runs of six words (letters and digits, in lower case,
/// whatever is between them). One repeats a prompt when it has half of the prompt's runs, or 24 of them: as
/// many as some 30 words in a row make. A prompt of less than six words is one run.
class Contamination {
 public:
  /// Prompts in JSON lines, as read_training_prompts() takes them. Error naming file and line.
  void add_file(const std::filesystem::path& file);
  std::int64_t prompts() const { return std::ssize(prompts_); }

  struct Match {
    std::string prompt;       ///< where it stands: "gsm8k.jsonl:12"
    std::int64_t shared = 0;  ///< runs that the text has of it
    std::int64_t of = 0;      ///< runs that it has
  };
  /// The prompt that `text` repeats, the one of which it has most; nothing: none.
  std::optional<Match> find(std::string_view text) const;

 private:
  struct Prompt {
    std::string source;
    std::int64_t runs;
  };
  std::vector<Prompt> prompts_;
  std::vector<std::size_t> lengths_;                                      ///< of runs, in words
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> having_;  ///< prompts by their runs' hashes
};

}  // namespace augur
