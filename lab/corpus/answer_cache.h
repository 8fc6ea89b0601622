#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"

namespace augur {

/// A target's own answer to a prompt, as data to train draft heads on.
struct Answer {
  std::string source;  ///< which prompt: file and line; the same for a prompt every time
  std::string domain;
  double temperature = 0;
  std::vector<TokenId> prompt;
  std::vector<TokenId> response;
};

/// Answers on disk, one JSON object a line ({source, domain, temperature, prompt_ids, response_ids}: what
/// Dataset reads), appended as they are made. Work stopped at any moment goes on where it was: an answer that
/// was being written is dropped, prompts that have their line are done. Not thread-safe.
class AnswerCache {
 public:
  /// `settings`: a line that says how answers are made, kept in a file beside. Error when the cache was made
  /// with other ones, cannot be read, or holds what is no answer; also when there is something in `file`, but
  /// no settings beside it: then it is somebody else's and stays as it is.
  AnswerCache(const std::filesystem::path& file, const std::string& settings);
  ~AnswerCache();
  AnswerCache(const AnswerCache&) = delete;
  AnswerCache& operator=(const AnswerCache&) = delete;

  /// Whether the prompt from `source` has its answer. Error when what was answered there is another prompt.
  bool has(const std::string& source, std::span<const TokenId> prompt) const;
  std::int64_t size() const { return static_cast<std::int64_t>(done_.size()); }
  std::int64_t response_tokens() const { return response_tokens_; }

  /// Error for a failed write.
  void add(const Answer& answer);
  /// Makes sure that what was added is on the disk.
  void flush();
  /// Puts the answers in the order of their prompts, by file and line: what is learnt from them does not
  /// depend on which was finished first, nor on where the work was stopped. The file is replaced when that is
  /// done.
  void sort();

 private:
  void read();
  void open_end();
  void check_settings(const std::string& settings) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::map<std::string, std::uint64_t> done_;  ///< by source, a hash of the prompt
  std::int64_t response_tokens_ = 0;
  std::int64_t valid_bytes_ = 0;  ///< of complete lines
};

}  // namespace augur
