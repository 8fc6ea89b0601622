#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace augur {

/// A tokenised training sequence. `learn[i]` says whether token i is one the model should produce (the
/// assistant's words in a chat record, the answer of a generated record, everything in plain text).
struct Example {
  std::span<const TokenId> tokens;
  std::span<const std::uint8_t> learn;
  /// Names this visit of the sequence: what a learner draws at random for it depends on nothing else, so that
  /// a resumed run draws the same.
  std::uint64_t key = 0;
};

/// Tokenised sequences in memory, in file order. Records, one JSON object a line (plain or .xz):
///   {"text": "..."}                                       cut into pieces of at most max_length, each with
///   BOS
///                                                         where the tokenizer asks for it
///   {"messages": [{"role", "content"}, ...]}              rendered by the chat template, as a target reads
///   it
///   {"prompt_ids": [...], "response_ids": [...]}          a target's own answer
/// Sequences are cut to max_length; those with nothing to learn are left out.
///
/// Of a conversation every assistant's turn is learnt that the template shows as the target saw it when it
/// was its turn: where a template changes earlier turns (drops their thoughts, moves the system's words), the
/// last.
class Dataset {
 public:
  struct Options {
    std::int64_t max_length = 512;  ///< 3 at least
    std::int64_t max_tokens = 0;    ///< stop after about so many; 0: read everything
    int eos = -1;                   ///< appended to plain text; -1: nothing
    /// Sequences that it is true of are left out. `where`: file and line.
    std::function<bool(std::span<const TokenId>, const std::string& where)> refuses = {};
  };

  Dataset(const Tokenizer& tokenizer, const ChatTemplate* chat_template, const Options& options)
      : tokenizer_(tokenizer), template_(chat_template), options_(options) {}

  /// Appends a file's records. Error naming file and line for one that is unreadable or that the template
  /// refuses, and naming the file when there is nothing to learn in all of it.
  void add_file(const std::filesystem::path& path, const std::function<void(std::int64_t)>& progress = {});

  std::int64_t size() const { return static_cast<std::int64_t>(begins_.size()) - 1; }
  std::int64_t tokens() const { return static_cast<std::int64_t>(tokens_.size()); }
  /// Records of all files that hold nothing to learn.
  std::int64_t left_out() const { return left_out_; }
  /// Sequences of all files that Options::refuses is true of.
  std::int64_t refused() const { return refused_; }
  Example operator[](std::int64_t index) const;

 private:
  void add_record(const std::string& line, const std::string& where);
  void add_chat(const std::vector<Message>& messages, const std::string& where);
  void add_text(const std::string& text, const std::string& where);
  void append(std::span<const TokenId> tokens, std::span<const std::uint8_t> learn, const std::string& where);

  const Tokenizer& tokenizer_;
  const ChatTemplate* template_;
  Options options_;
  std::vector<TokenId> tokens_;
  std::vector<std::uint8_t> learn_;
  std::vector<std::size_t> begins_ = {0};
  std::int64_t left_out_ = 0;
  std::int64_t refused_ = 0;
};

/// The order in which a run visits a dataset: a fresh permutation each epoch that depends on (seed, epoch)
/// only, so a position is all that a checkpoint must keep.
class ShuffledOrder {
 public:
  ShuffledOrder(std::int64_t size, std::uint64_t seed) : size_(size), seed_(seed) {}
  /// Index of the dataset's element at `position` (0, 1, 2, ... over all epochs).
  std::int64_t at(std::int64_t position);

 private:
  std::int64_t size_;
  std::uint64_t seed_;
  std::int64_t epoch_ = -1;
  std::vector<std::int32_t> permutation_;
};

}  // namespace augur
