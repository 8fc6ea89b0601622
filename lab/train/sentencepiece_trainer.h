#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace augur {

/// Learns a SentencePiece model of the BPE kind: over characters, spaces written as U+2581 in front of words,
/// digits apart, bytes for characters that are too rare to have a piece. The same texts give the same model.
/// Own code: the merging is BpeTrainer's, and SentencePiece's trainer keeps all texts in memory, not words.
class SentencePieceTrainer {
 public:
  /// Bytes that are no UTF-8 are left out.
  void add(std::string_view text);

  struct Options {
    std::size_t pieces = 8192;              ///< all of them
    double coverage = 0.9995;               ///< of the characters' occurrences, by the most frequent ones
    std::vector<std::string> control = {};  ///< further control pieces, behind <unk>, <s> and </s>
  };
  /// The bytes of a tokenizer.model. Error when `pieces` are too few for control pieces, bytes and
  /// characters.
  std::string train(const Options& options) const;

 private:
  std::unordered_map<std::string, std::int64_t> words_;  ///< with their leading U+2581
};

}  // namespace augur
